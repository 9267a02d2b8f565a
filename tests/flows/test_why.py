"""Why a run does not go on, where it goes on while it is asked about."""

import uuid

from weft import App
from weft.base import ids
from weft.flows import why


async def test_a_workflow_whose_task_ends_between_two_looks_is_about_to_end(database_url: str) -> None:
    app = App(database_url=database_url)

    @app.workflow
    async def short() -> int:
        return 1

    async with app:
        run = await app.start(short)
        async with app.tx() as tx:
            assert (await why.why(tx, run.id, org=ids.DEFAULT_ORG)).code == "no_worker"
            # of another org its task is as little there as one that has just ended: no 404 for a run that exists
            assert (await why._workflow(tx, run.id, org=uuid.uuid4(), undoing=False)).code == "advancing"
