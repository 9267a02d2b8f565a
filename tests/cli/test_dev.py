"""`weft dev`: everything in one process, with nothing set up before."""

import signal
from pathlib import Path

import cli_process

HERE = Path(__file__).parent


async def test_the_demo_runs_shows_and_stops(folder: Path) -> None:
    here = {"WEFT_FOLDER": str(folder / ".weft"), "DATABASE_URL": "postgresql://not.to.be.used"}
    async with cli_process.weft("dev", env=here) as program:
        await program.says("the embedded PostgreSQL in")
        await program.says("Hello, ")
        await program.says("retry at")
        code, said = await cli_process.run(
            "enqueue", "hello", '{"name": "test"}', "--wait", "20s", env={"WEFT_FOLDER": here["WEFT_FOLDER"]}
        )
        assert (code, said) == (0, '"Hello, test!"\n')
        await program.says("worked on attempt 3")
        program.send(signal.SIGINT)
        assert await program.ends() == 0
        assert "Traceback" not in program.said


async def test_it_runs_an_app_of_yours(database_url: str) -> None:
    env = {"DATABASE_URL": database_url}
    async with cli_process.weft("dev", "cli_app:app", "--plain", env=env, cwd=HERE) as program:
        await program.says("the PostgreSQL of DATABASE_URL")
        code, said = await cli_process.run("enqueue", "double", '{"n": 4}', "--wait", "20s", env=env)
        assert (code, said) == (0, "8\n")
        await program.says("completed on attempt 1: 8")
        program.send(signal.SIGTERM)
        assert await program.ends() == 0
