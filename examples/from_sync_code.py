"""Code that is not async enqueues and awaits through `app.sync`; sync handlers run in threads."""

import asyncio
import threading

from weft import App

app = App()


@app.task
def add(a: int, b: int) -> int:
    return a + b


def work(stop: threading.Event) -> None:
    """A worker in a thread of its own, only so that this example is one file; use `weft worker` instead."""

    async def serve() -> None:
        worker_app = App()
        worker_app.registry.add(add.function, name=add.kind, version=None)
        async with worker_app, worker_app.worker():
            await asyncio.to_thread(stop.wait)

    asyncio.run(serve())


def main() -> None:
    stop = threading.Event()
    worker = threading.Thread(target=work, args=(stop,))
    worker.start()
    try:
        enqueued = app.sync.enqueue(add, {"a": 2, "b": 3}, dedupe_key="sum", dedupe="1h")
        again = app.sync.enqueue(add, {"a": 2, "b": 3}, dedupe_key="sum", dedupe="1h")
        print("the same task:", enqueued.id == again.id, "created:", again.created)
        print(app.sync.result(enqueued.id, timeout=30))
    finally:
        app.sync.close()
        stop.set()
        worker.join()


if __name__ == "__main__":
    main()
