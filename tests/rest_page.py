"""docs/reference/rest.md, made from the table of operations: `python tests/rest_page.py` writes it, a test compares."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.api import errors, openapi, policy, routes
from weft.api.credentials import REMEMBERED
from weft.api.operation import MAX_BODY, Operation
from weft.api.task_output import LONGEST_WAIT
from weft.base import json as limits

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "rest.md"

INTRO = f"""# REST

<!-- Made by `python tests/rest_page.py` from the operations themselves. Change those, not this. -->

`weft server` (or `weft up`, `weft dev`) serves this; `GET /v1/openapi.json` is the same as an OpenAPI 3.1 document.

    weft key create me --role admin                  # prints weft_…, once
    curl -H "Authorization: Bearer $WEFT_KEY" -H "Content-Type: application/json" \\
         -d '{{"kind": "send_email", "payload": {{"to": "ada@example.com"}}}}' http://127.0.0.1:8712/v1/tasks

**Credentials.** Every operation but `/health` and `/ready` needs `Authorization: Bearer …`, with a key or with a token of
your issuer ([access](../concepts/access.md)). It says the org: nothing in a request can name another, and another org's ids
are not found (404). What was revoked is refused everywhere within {REMEMBERED:g} second. Roles: a *reader* looks, a *writer*
enqueues and steers, an *admin* also sets queues and lets others in, an *operator* also runs orgs, a *worker* claims and runs
tasks and does nothing else; scopes hold a key to some of that. What is refused (403) is written into the journal.

**Bodies** are JSON (`Content-Type: application/json`), at most {MAX_BODY // 1024 // 1024} MiB; a payload at most
{limits.MAX_BYTES // 1024} KiB and {limits.MAX_DEPTH} levels deep. An unknown field, an unknown parameter or a NUL character
is refused. Times are ISO 8601 with a zone, durations are seconds. Answers of some size are compressed for whoever sends
`Accept-Encoding: gzip`.

**Errors.** Every refusal is `{{"error": {{"code": "…", "message": "…", "request_id": "…"}}}}`, with `details` where there
are some. The message says what to change, and nothing was stored. `X-Request-Id` is in every answer and in every
line of the server's log; send your own (letters, digits, `.`, `_`, `-`) and it is kept.

**Lists** are `{{"items": […], "next_cursor": "…"}}`; pass `next_cursor` back as `cursor` until it is null. `limit` is 1 to
500. A cursor is for the list it came from and means nothing else.

**Once.** Operations that say *Idempotency-Key* take that header: a repeat within 24 hours with the same key and the same
request gets the first answer again (with `Idempotent-Replayed: true`) and does nothing; with another request it is
refused. The key, the effect and the answer commit together, so a repeat after a broken connection is safe.

**Limits.** How large requests may be, and how many may come: [limits of requests](limits.md). Every answer has
`X-RateLimit-Limit`, `-Remaining` and `-Reset`; too many are refused with 429 and `Retry-After`. Whatever changes something,
and whatever is refused, is in the [audit trail](../concepts/audit.md) with the request's id.

**Browsers.** A Host that is not the server's own is refused (`WEFT_HOSTS`), and so is a change that another site's page
asks for.

**Waiting.** `GET /v1/tasks/{{id}}/result?wait=30` answers when the task ends, at most {LONGEST_WAIT} seconds later, and
holds no database connection meanwhile.
"""


def page() -> str:
    """The whole page."""
    operations = routes.operations()
    document = openapi.document(operations)
    return "\n".join([INTRO, *_codes(), *(line for one in operations for line in _section(one, document))]).rstrip() + "\n"


def _codes() -> Iterator[str]:
    yield "## Codes\n"
    yield "| code | status |\n|---|---|"
    for code, status in sorted(errors.STATUS.items(), key=lambda item: (item[1], item[0])):
        if status != 500 or code == "INTERNAL":
            yield f"| `{code}` | {status} |"
    yield ""


def _section(one: Operation, document: dict[str, Any]) -> Iterator[str]:
    written = document["paths"][one.template][one.method.lower()]
    yield f"## {one.name}\n"
    yield " ".join(f"{text.rstrip('.')}." for text in (one.summary, one.description) if text) + "\n"
    keyed, tagged = " Takes an *Idempotency-Key*." if one.idempotent else "", " Has an ETag." if one.etag else ""
    yield f"{_who(one)}{keyed}{tagged}\n"
    parameters = [given for given in written.get("parameters", ()) if given["in"] == "query"]
    if parameters:
        yield "| parameter | type | meaning |\n|---|---|---|"
        for given in parameters:
            yield f"| `{given['name']}` | {_type(given['schema'])} | {_meaning(given['schema'], given['required'])} |"
        yield ""
    if one.body is not None:
        schema = _resolved(written["requestBody"]["content"]["application/json"]["schema"], document)
        yield "| field | type | meaning |\n|---|---|---|"
        for name, field in schema["properties"].items():
            yield f"| `{name}` | {_type(field)} | {_meaning(field, name in schema.get('required', ()))} |"
        yield ""
        yield f"    {json.dumps(one.example)}\n"
    yield from _answers(one)


def _who(one: Operation) -> str:
    if one.action == policy.PUBLIC:
        return "Open to everybody."
    roles = sorted(policy.ACTIONS[one.action])
    return f"For: {', '.join(role if role != 'attempt' else 'a task’s token' for role in roles)}."


def _answers(one: Operation) -> Iterator[str]:
    good = [f"{one.status}", *(f"{status} ({meaning.rstrip('.')})" for status, meaning in one.also.items())]
    bad = [f"`{code}`" for code in openapi.codes(one)]
    yield f"Answers {', '.join(good)}; refuses with {', '.join(bad)}.\n"
    if one.answer_example is not None:
        yield f"    {json.dumps(one.answer_example, ensure_ascii=False)}\n"


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        found: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    return schema


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one != {"type": "null"})
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any")


def _meaning(schema: dict[str, Any], required: bool) -> str:
    inner = next((one for one in schema.get("anyOf", ()) if one != {"type": "null"}), schema)
    said = [schema.get("description") or inner.get("description") or ""]
    if "minimum" in inner or "maximum" in inner:
        said.append(f"{inner.get('minimum', '')} to {inner.get('maximum', '')}.")
    if required:
        said.append("Required.")
    elif schema.get("default") not in (None, [], {}):
        said.append(f"Default: {schema['default']}.")
    return " ".join(text for text in said if text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
