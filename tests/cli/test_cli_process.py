"""What the tests hear of a command is what it said, however it arrives."""

import asyncio

import cli_process


async def test_a_character_that_arrives_in_two_pieces_is_one() -> None:
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    program = cli_process.Program(process)
    assert process.stdin is not None
    process.stdin.write(b"a" + "…".encode()[:1])
    await program.says("a")
    process.stdin.write("…".encode()[1:])
    process.stdin.close()
    assert await program.ends() == 0
    assert program.said == "a…"
