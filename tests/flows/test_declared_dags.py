"""`@app.dag`: DAGs written as functions that call tasks."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from dag_tasks import declare, states

from weft import App
from weft.base import errors
from weft.sdk.dag import item, node
from weft.testing import inline as testing


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        declare(made)
        yield made


async def test_a_dag_declared_in_python(app: App) -> None:
    @app.task(name="rows")
    async def rows(day: str) -> dict[str, list[int]]:
        return {"good": [1, 2, 3]}

    double = app.registry.get("add")
    add_up = app.registry.get("total")
    assert double is not None and add_up is not None

    @app.dag(params={"day": "monday"})
    def etl(day: Any) -> Any:
        """Three tasks."""
        found = rows(day=day)
        each = node(double, foreach=found["good"], name="each")(a=item, b=10)
        return add_up(values=each)

    run = await app.dags.trigger(etl)
    await testing.run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == {"result": 36}
    assert list(await states(app, run.id)) == ["rows", "each", "total"]


async def test_a_worker_saves_the_dags_its_app_declares(app: App) -> None:
    add = app.registry.get("add")
    assert add is not None

    @app.dag(schedule="0 2 * * *")
    def nightly(x: Any = 1) -> Any:
        return add(a=x, b=1)

    async with app.worker():
        saved = await app.dags.get("nightly")
        assert saved.cron_expression == "0 2 * * *" and (await app.jobs.get("dag:nightly")).status == "ACTIVE"


async def test_a_node_may_come_after_others_without_their_outputs(app: App) -> None:
    add, numbers = app.registry.get("add"), app.registry.get("numbers")
    assert add is not None and numbers is not None

    @app.dag
    def later(n: Any = 2) -> Any:
        many = numbers(n=n)
        each = node(add, foreach=many)(a=item, b=1)
        return node(add, after=[many, each], name="last")(a=1, b=1)

    async with app.worker():
        run = await app.dags.trigger(later)
        await app.runs.result(run.id, timeout=60)
        assert await states(app, run.id) == {"numbers": "completed", "add": "completed", "last": "completed"}


async def test_references_in_texts_and_conditions_are_what_they_stand_for(app: App) -> None:
    add = app.registry.get("add")
    assert add is not None

    @app.task
    async def echo(text: str) -> str:
        return text

    @app.dag(params={"day": "monday"})
    def etl(day: Any, limit: Any = 3) -> Any:
        two = node(add, name="two", retry_config={"max_attempts": 2, "backoff_seconds": 0})(a=1, b=1)
        said = node(echo, name="said")(text=f"s3://{day}/{two} costs ${{5}} %s" % day)
        small = node(echo, name="small", condition=f"{two} < {limit}", dependencies=["said"], after=two)(text="small")
        node(echo, name="large", condition=f"{two} > params.limit", after=[small, "said"], trigger_rule="all_done")(text="")
        node(echo, name="never", condition=day["not"], allow_failure=True)(text="")
        return {"said": said, "what": f"{small}!"}

    [_, _, small, large, _] = etl.definition["tasks"]
    assert (small["dependencies"], large["dependencies"]) == (["two", "said"], ["small", "said"])
    run = await app.dags.trigger(etl)
    await testing.run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == {"said": "s3://monday/2 costs ${5} monday", "what": "small!"}
    found = await states(app, run.id)
    assert (found["small"], found["large"]) == ("completed", "skipped")


def test_what_a_reference_cannot_do_is_said(app: App) -> None:
    add = app.registry.get("add")
    assert add is not None
    wrong: list[tuple[Any, str]] = [
        (lambda x: f"{x:>10}", "cannot be formatted as '>10'"),
        (lambda x: x == 3, "compare it in condition="),
        (lambda x: [*x], "use foreach="),
        (lambda x: x or 1, "use condition="),
        (lambda x: node(add, after=x)(a=1, b=2), "a node comes after other nodes"),
        (lambda x: node(add, colour=x)(a=1, b=2), "unknown word 'colour'"),
    ]
    for does, said in wrong:
        with pytest.raises(errors.InvalidDag, match=said):
            app.dag(name="wrong")(does)
