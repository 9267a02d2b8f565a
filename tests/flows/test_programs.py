"""AFL programs are kept in versions and run: what their agents answer comes out as their yields."""

import uuid
from typing import Any

import psycopg
import pytest

from weft import App
from weft.base import errors, ids
from weft.flows import look, programs
from weft.testing import inline

HELLO = """
namespace hello {
    event facet Greet(name: String) => (greeting: String)
    event facet Shout(text: String) => (loud: String)
    /** Says hello. */
    workflow SayHello(name: String = "world") => (message: String, length: Int) andThen {
        g = Greet(name = $.name)
        s = Shout(text = g.greeting)
        yield SayHello(message = s.loud, length = 3 + 4)
    }
}
"""
TWO = HELLO.replace("}\n}", "}\n    workflow Other() => (n: Int) andThen { yield Other(n = 1) }\n}")


def agents(app: App) -> list[str]:
    asked: list[str] = []

    @app.task(name="hello.Greet")
    async def greet(name: str) -> dict[str, Any]:
        asked.append(f"greet {name}")
        return {"greeting": f"Hello, {name}"}

    @app.task(name="hello.Shout")
    def shout(text: str) -> dict[str, Any]:
        asked.append(f"shout {text}")
        return {"loud": text.upper()}

    return asked


async def test_a_program_of_two_steps_runs_and_ends_with_its_yields(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        asked = agents(app)
        saved = await app.flows.save(source=HELLO)
        assert (saved.new, saved.definition.name) == (True, "hello")
        assert [one.name for one in saved.workflows] == ["hello.SayHello"]
        run = await app.flows.start("hello", "SayHello", {"name": "Ada"})
        await inline.run_pending(app)
        assert await app.runs.result(run.id, timeout=30) == {"message": "HELLO, ADA", "length": 7}
        assert asked == ["greet Ada", "shout Hello, Ada"]
        found = await app.runs.get(run.id)
        assert (found.kind, found.name, found.definition_id) == ("flow", "hello.SayHello", saved.definition.id)
        assert found.version == saved.definition.version


async def test_the_same_program_is_the_same_version_and_another_is_the_next(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        first = await app.flows.save(source=HELLO)
        again = await app.flows.save(source=HELLO)
        other = await app.flows.save(source=TWO)
        back = await app.flows.save(source=HELLO)
        assert (first.new, again.new, other.new) == (True, False, True)
        numbers = [one.definition.number for one in (first, again, other, back)]
        assert numbers == [1, 1, 2, 1]
        assert {one.definition.id for one in (first, again, other, back)} == {first.definition.id}
        assert other.workflows[0].id == first.workflows[0].id


async def test_what_was_saved_can_be_read_again(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        saved = await app.flows.save(source=TWO, name="mine")
        async with app.tx() as tx:
            made = await programs.described(tx, saved.definition)
            files = await programs.sources(tx, saved.definition)
            with pytest.raises(errors.NotFound, match="has no version nope"):
                await programs.described(tx, saved.definition, version="nope")
    assert (made.name.name, made.uuid) == ("mine", str(saved.definition.id))
    assert [one.name for one in made.workflows] == ["SayHello", "Other"] and made.workflows[0].date > 0
    assert [one.uuid for one in made.workflows] == [str(one.id) for one in saved.workflows]
    assert [one.name for one in made.facets] == ["Greet", "Shout", "SayHello", "Other"]
    assert made.text_sources[0].text == files[0]["text"] == TWO
    assert [one.name for one in made.compiled_sources] == ["hello.SayHello", "hello.Other"]
    assert made.statements and made.blocks and made.references and made.arguments and made.namespaces


async def test_a_wrong_program_changes_nothing_and_says_where(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        with pytest.raises(errors.InvalidFlow, match=r"source:7:13: error: there is no .*Groet") as caught:
            await app.flows.save(source=HELLO.replace("g = Greet", "g = Groet"))
        problems = caught.value.details["problems"]
        assert problems[0]["rule"] == "unknown-facet" and problems[0]["line"] == 7
        with pytest.raises(errors.InvalidFlow, match="there is no workflow in this program"):
            await app.flows.save(source="namespace n { facet F(x: Int) }")
        with pytest.raises(errors.NotFound):
            await app.flows.get("hello")


async def test_starting_names_what_is_not_there_or_does_not_fit(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        await app.flows.save(source=TWO)
        with pytest.raises(errors.InvalidInput, match="say which one: hello"):
            await app.flows.start("hello")
        with pytest.raises(errors.NotFound, match="has no workflow 'Sayhello'"):
            await app.flows.start("hello", "Sayhello")
        with pytest.raises(errors.NotFound, match="there is no flow 'nope'"):
            await app.flows.start("nope")
        with pytest.raises(errors.InvalidInput, match="param 'name': must be of type string"):
            await app.flows.start("hello", "SayHello", {"name": 3})
        run = await app.flows.start("hello.Other", key="k")
        again = await app.flows.start("hello", "Other", key="k")
        assert (again.id, again.created) == (run.id, False)
        assert await app.runs.result(run.id, timeout=30) == {"n": 1}


async def test_a_run_can_be_started_in_a_transaction_of_plain_sql(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        agents(app)
        await app.flows.save(source=HELLO)
        with psycopg.connect(database_url) as connection:
            org = str(ids.DEFAULT_ORG)
            row = connection.execute(
                "select weft.start('hello.SayHello', '{}', what => 'flow', key => 'a', org => %s), "
                "weft.start('hello', '{}', what => 'flow', key => 'a', org => %s)", (org, org),
            ).fetchone()  # fmt: skip
            assert row is not None and row[0] == row[1]
            connection.commit()
            with pytest.raises(psycopg.DataError, match="there is no flow or workflow named 'nope'"):
                connection.execute("select weft.start('nope', what => 'flow', org => %s)", (org,))
        await inline.run_pending(app)
        assert await app.runs.result(uuid.UUID(str(row[0])), timeout=30) == {"message": "HELLO, WORLD", "length": 7}


async def test_a_task_list_is_the_queue_of_the_run(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        await app.flows.save(source=HELLO)
        run = await app.flows.start("hello", None, {}, task_list="gpu")
        [step] = [one for one in await all_steps(app, run.id) if one.task_id]
        assert (await app.get(step.task_id)).queue == "gpu"


async def all_steps(app: App, run: uuid.UUID) -> list[Any]:
    async with app.tx() as tx:
        return list(await look.steps(tx, run, org=ids.DEFAULT_ORG, take=100))
