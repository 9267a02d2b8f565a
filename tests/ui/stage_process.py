"""The server of the browser's tests, as `weft dev` is one: the API here, its worker in a process that may be killed."""

import asyncio
import sys

from weft.cli import reloading, running, serving
from weft.cli.stopping import Stopping

APP = "stage_app:app"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


async def main() -> None:
    stopping = Stopping()
    stopping.install()
    app = running.load_app(APP)
    worker = reloading.Reloading([APP, "--grace", "0", "--log-level", "info"], folder=None, say=say)
    async with app, serving.served(app, port=0, demo=worker) as url:
        working = [asyncio.create_task(worker.run())] if "worker" in sys.argv else []
        say(f"weft server is ready at {url}")
        try:
            await stopping.asked.wait()
        finally:
            for one in working:
                one.cancel()
            await asyncio.gather(*working, return_exceptions=True)


if __name__ == "__main__":
    serving.set_up_logging("warning")
    running.run(main())
