"""AFL runs that go wrong end as the language says, with clear words, and harm nothing else."""

import asyncio
import http.server
import json
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from weft import App, Context
from weft.access import keyring, secrets
from weft.base import config, ids
from weft.flows import operate, why
from weft.flows.look import RunView
from weft.sdk.prompting import Prompt
from weft.testing import inline
from weft.worker import script

FACETS = """
    event facet Ask(q: String) => (n: Int, text: String = "none")
    event facet Tell(text: String)
"""


def flow(body: str, *, params: str = "", returns: str = "out: Json", more: str = "") -> str:
    return f"namespace n {{ {FACETS} {more} workflow W({params}) => ({returns}) {body} }}"


async def ran(app: App, text: str, params: dict[str, Any] | None = None) -> RunView:
    await app.flows.save(source=text)
    run = await app.flows.start("n", "W", params)
    await inline.run_pending(app)
    return await app.runs.get(run.id)


def answers(app: App, answer: Any, kind: str = "n.Ask") -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = []

    @app.task(name=kind, fail_on=(Exception,))
    async def work(ctx: Context, **args: Any) -> Any:
        asked.append(args)
        return answer(args) if callable(answer) else answer

    return asked


WRONG: list[tuple[Any, str]] = [
    ({"n": "seven"}, "return 'n': must be of type integer, not the text 'seven'"),
    ({"text": "x"}, "return 'n' is missing"),
    ([1], "the result must be a map of n, text, not a list"),
    (None, "the result must be a map of n, text, not null"),
    ({"n": 1, "text": "x" * 300_000}, "the result is 300,"),
    ({"n": float("nan")}, "NaN"),
]


@pytest.mark.parametrize(("answer", "words"), WRONG, ids=range(len(WRONG)))
async def test_an_agent_that_answers_something_else_fails_its_step(database_url: str, answer: Any, words: str) -> None:
    async with App(database_url=database_url) as app:
        answers(app, answer)
        found = await ran(app, flow('andThen { a = Ask(q = "?") yield W(out = a.n) }'))
        assert found.state == "failed" and words in (found.error or {})["message"]
        caught = await ran(app, flow('andThen { a = Ask(q = "?") catch { yield W(out = error_type) } yield W(out = a.n) }'))
        assert caught.state == "completed" and caught.output["out"] in ("InvalidInput", "InvalidPayload")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('["\\u0000"]', "return 'xs' contains a NUL character, which PostgreSQL cannot store; remove it"),
        ('[{"a": "\\u0000"}]', "return 'xs' contains a NUL character"),
        ("[" * 65 + "]" * 65, "return 'xs' is nested deeper than 64 levels; flatten it"),
        ("[" * 5000 + "]" * 5000, "return 'xs' is nested deeper than 64 levels"),
        ("[1, 2", "return 'xs': must be a list"),
    ],
    ids=lambda one: one[:12],
)
async def test_a_list_told_as_text_that_cannot_be_stored_fails_its_step_and_nothing_else(
    database_url: str, said: str, words: str
) -> None:
    more = "event facet List(q: String) => (xs: [Json])"
    async with App(database_url=database_url) as app:
        answers(app, lambda args: {"xs": said if args["q"] == "?" else "[1]"}, kind="n.List")
        await app.flows.save(source=flow("andThen { a = List(q = $.q) yield W(out = a.xs) }", params="q: String", more=more))
        runs = [(await app.flows.start("n", "W", {"q": q})).id for q in ("?", "!")]
        await inline.run_pending(app)
        wrong, right = [await app.runs.get(run) for run in runs]
        assert wrong.state == "failed" and words in (wrong.error or {})["message"]
        assert (right.state, right.output) == ("completed", {"out": [1]})


async def test_more_than_was_asked_for_is_kept_and_does_no_harm(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        answers(app, {"n": 2, "more": [1, 2]})
        found = await ran(app, flow('andThen { a = Ask(q = "?") yield W(out = [a.n, a.text]) }'))
        assert (found.state, found.output) == ("completed", {"out": [2, "none"]})


RUNTIME: list[tuple[str, Any, str]] = [
    ("andThen { yield W(out = 1 / $.x) }", 0, "1 / 0: the divisor is zero"),
    ("andThen { yield W(out = 5 % $.x) }", 0, "the divisor is zero"),
    ("andThen foreach v in $.x { yield W(out = v) }", 5, "foreach needs a list, a map or a text, not the number 5"),
    ("andThen { yield W(out = $.x.deep) }", 5, "deep"),
    ("andThen { yield W(out = $.x + 1) }", "a", "+"),
    ("andThen { yield W(out = !$.x) }", 5, "5"),
    ("andThen when { case $.x => { yield W(out = 1) } case _ => { yield W(out = 2) } }", "yes", "yes"),
    ("andThen { a = Ask(q = $.x) yield W(out = a.n) }", 7, "7"),
]


async def test_what_has_no_value_fails_its_step_and_can_be_caught(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        answers(app, {"n": 1})
        for body, value, words in RUNTIME:
            plain = await ran(app, flow(body, params="x: Json"), {"x": value})
            assert plain.state == "failed" and words in (plain.error or {})["message"], (body, plain)
            caught = await ran(app, flow(f"{body} catch {{ yield W(out = error) }}", params="x: Json"), {"x": value})
            assert caught.state == "completed" and words in str(caught.output), (body, caught)


async def test_timeout_and_retry_are_the_tasks_own(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        await app.flows.save(source=flow(
            'andThen { a = Ask(q = "?") with Timeout(minutes = 2) with Retry(maxAttempts = 7, backoffSeconds = 3) }'))
        run = await app.flows.start("n", "W")
        async with app.tx() as tx:
            row = await tx.row(
                "select t.max_attempts, extract(epoch from t.timeout)::int, t.retry, t.queue from weft.tasks as t "
                "where t.run_id = %(run)s", {"run": run.id})  # fmt: skip
        assert row is not None and (row[0], row[1], row[3]) == (7, 120, "default")
        assert (row[2]["base"], row[2]["backoff"]) == (3, "exponential")


async def test_credentials_reach_the_agent_and_nothing_else(database_url: str) -> None:
    async with App(settings=config.Settings(database_url=database_url, secret_key=keyring.generate())) as app:
        async with app.tx() as tx:
            ring = keyring.load(app.settings)
            await secrets.put(tx, ring, org=ids.DEFAULT_ORG, name="TOKEN", value="hidden words", actor="test")
        asked = answers(app, lambda args: {"n": 1, "text": f"I was given {args['credentials']}"})
        text = 'andThen { a = Ask(q = "${secrets.TOKEN}") with Credentials(secret = "TOKEN") yield W(out = a.text) }'
        found = await ran(app, flow(text))
        # what only looks like a secret's place stands for itself
        assert asked == [{"q": "${secrets.TOKEN}", "credentials": "hidden words"}]
        async with app.tx() as tx:
            kept = str(await tx.rows("select row_to_json(s)::text from weft.steps as s")) + str(
                await tx.rows("select row_to_json(h)::text from weft.task_history as h"))  # fmt: skip
        assert found.state == "completed" and "hidden words" not in str(found.output) + kept


async def test_a_missing_handler_is_explained(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        found = await ran(app, flow('andThen { a = Ask(q = "?") yield W(out = a.n) }'))
        assert found.state == "running"
        assert (await app.runs.explain(found.id)).code == "no_worker"
        async with app.worker(), asyncio.timeout(60):
            while (why := await app.runs.explain(found.id)).code != "no_handler":
                await asyncio.sleep(0.1)
        assert why.summary.startswith("a: ") and "n.Ask" in why.summary, why


async def test_a_run_that_is_stuck_is_said_to_be(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        found = await ran(app, flow('andThen { a = Ask(q = "?") yield W(out = a.n) }'))
        async with app.tx() as tx:  # as no code of ours does
            await tx.run("delete from weft.tasks where run_id = %(run)s", {"run": found.id})
        assert (await app.runs.explain(found.id)).code == "stuck"
        assert await app.runs.cancel(found.id)


async def test_pause_pauses_and_cancel_cancels(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        asked = answers(app, {"n": 1})
        text = flow('andThen { a = Ask(q = "1") b = Ask(q = a.text) yield W(out = b.n) }')
        await app.flows.save(source=text)
        run, other = await app.flows.start("n", "W"), await app.flows.start("n", "W")
        await app.runs.pause(run.id)
        assert await app.runs.cancel(other.id)
        await inline.run_pending(app)
        assert asked == []
        assert (await app.runs.get(run.id)).state == "paused"
        assert (await app.runs.get(other.id)).state == "cancelled"
        await app.runs.resume(run.id)
        await inline.run_pending(app)
        assert (await app.runs.get(run.id)).output == {"out": 1}
        assert [one["q"] for one in asked] == ["1", "none"]


HARM = [
    ('result["x"] = "a" * 10_000_000_000', "MemoryError"), ("import os", "Forbidden"), ("raise KeyError('k')", "KeyError"),
    ("while True: pass", "ScriptTimedOut"),
]  # fmt: skip


async def test_a_script_that_harms_fails_its_step_and_can_be_caught(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "SECONDS", 3)  # what is endless need not be waited for so long
    async with App(database_url=database_url) as app:
        for code, type_ in HARM:
            more = f"event facet Run() => (x: String) script {{\n{code}\n}}"
            body = "andThen { r = Run() catch { yield W(out = error_type) } yield W(out = r.x) }"
            found = await ran(app, flow(body, more=more))
            assert (found.state, found.output) == ("completed", {"out": type_}), found.error


async def test_an_error_of_a_script_names_its_file_and_line(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        text = "namespace n {\n workflow W() => (out: Json) script {\n\n  x = 1\n  result['out'] = x / 0\n }\n}"
        found = await ran(app, text)
        assert found.state == "failed" and (found.error or {})["message"] == "source:5: division by zero"


async def test_a_paused_flow_is_resumed_by_its_own_command(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        await app.flows.save(source=flow('andThen { a = Ask(q = "?") }'))
        run = await app.flows.start("n", "W")
        async with app.tx() as tx:
            await operate.pause(tx, run.id, org=ids.DEFAULT_ORG, actor="test")
            assert (await why.why(tx, run.id, org=ids.DEFAULT_ORG)).summary.endswith("weft runner resume")


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[Any]]]:
    """An OpenAI-compatible endpoint of our own. It says what the prompt's last word is, as JSON if that is wanted."""
    asked: list[Any] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append((self.path, self.headers.get("authorization"), body))
            word = body["messages"][-1]["content"].split()[-1]
            said = word if "response_format" not in body else json.dumps({"n": len(word), "words": [word]})
            status = 400 if word == "refuse" else 200
            answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    server.server_close()


PROMPTS = """
    event facet Say(name: String, about: Json) => (text: String)
        prompt { system "For {name}." template "About {about.x}: {name}" }
    event facet Count(name: String) => (n: Int, words: [String]) prompt { template "Count {name}" model "big" }
"""


async def test_prompts_are_answered_by_the_endpoint_of_the_settings(
    database_url: str, endpoint: tuple[str, list[Any]]
) -> None:
    url, asked = endpoint
    settings = config.Settings(database_url=database_url, prompt_url=url, prompt_key="k1", prompt_model="small")
    async with App(settings=settings) as app:
        text = flow('andThen { s = Say(name = "Ada", about = #{x: [1, true]}) c = Count(name = s.text) '
                    "yield W(out = [s.text, c.n, c.words]) }", more=PROMPTS)  # fmt: skip
        found = await ran(app, text)
        assert (found.state, found.output) == ("completed", {"out": ["Ada", 3, ["Ada"]]}), found.error
        assert [one[:2] for one in asked] == [("/v1/chat/completions", "Bearer k1")] * 2
        said = [one[2]["messages"] for one in asked]
        assert said[0] == [{"role": "system", "content": "For Ada."}, {"role": "user", "content": "About [1,true]: Ada"}]
        assert [one[2]["model"] for one in asked] == ["small", "big"]
        refused = await ran(app, flow('andThen { s = Say(name = "refuse", about = #{}) }', more=PROMPTS))
        assert refused.state == "failed" and "answered 400" in (refused.error or {})["message"]


async def test_without_an_endpoint_it_is_said_what_to_do_and_an_app_may_answer_itself(database_url: str) -> None:
    text = flow('andThen { c = Count(name = "Ada") yield W(out = c.n) }', more=PROMPTS)
    async with App(database_url=database_url) as app:
        found = await ran(app, text)
        assert found.state == "failed" and "set WEFT_PROMPT_URL" in (found.error or {})["message"]
    async with App(database_url=database_url) as app:

        @app.provider
        async def answer(prompt: Prompt) -> str:
            return f'```json\n{{"n": {len(prompt.text)}, "words": []}}\n```'

        assert (await ran(app, text)).output == {"out": len("Count Ada")}


async def test_runs_beside_a_broken_one_go_on(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        answers(app, lambda args: {"n": 1 // int(args["q"])})
        await app.flows.save(source=flow("andThen { a = Ask(q = $.q) yield W(out = a.n) }", params="q: String"))
        runs: list[uuid.UUID] = [(await app.flows.start("n", "W", {"q": str(number % 2)})).id for number in range(6)]
        await inline.run_pending(app)
        states = await asyncio.gather(*(app.runs.get(one) for one in runs))
        assert [one.state for one in states] == ["failed", "completed"] * 3
