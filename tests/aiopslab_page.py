"""docs/reference/aiopslab.md, made from the operations: `python tests/aiopslab_page.py` writes it, a test compares."""

from pathlib import Path

import rest_page
from weft.api import openapi
from weft.contrib.aiopslab.application import OPERATIONS
from weft.contrib.aiopslab.speech import AIOPSLAB

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "aiopslab.md"

INTRO = """# AIOpsLab's REST API

<!-- Made by `python tests/aiopslab_page.py` from the operations themselves. Change those, not this. -->

`weft server`, `weft up` and `weft dev` serve this below `/aiopslab`; `weft aiopslab serve` serves it alone, at the root
(and below `/aiopslab` too). `GET /openapi.json` is the same as an OpenAPI 3.1 document. What it is:
[concepts](../concepts/aiopslab.md).

    curl -sS http://127.0.0.1:8713/tasks -H 'Content-Type: application/json' -d '{"problem_id": "pod-crash-detection-1"}'

**Credentials.** As long as no key exists and no issuer of tokens is configured, everybody on this machine may come in.
From the first key on (`weft key create NAME --role writer`) every operation but `/health` needs
`Authorization: Bearer …`; workers need a worker key (`--role worker`). The key says the org.

**Errors.** Every refusal is `{"error": "text", "code": "CODE", "details": {}}`. Whatever is wrong with a request (unknown
keys, a value out of range, malformed JSON, another media type) is **400**, and nothing was stored; 401 and 403 are
about who asks, 404 about what is not there, 409 about the state it is in, 413 about a body above 1 MiB; 429 and 503 mean
later.

**Values.** Times are ISO 8601 with a zone. A key that has nothing to say is left out, or is an empty object or list; it
is never null.
"""


def page() -> str:
    document = openapi.document(OPERATIONS, AIOPSLAB)
    lines = [line for one in OPERATIONS for line in rest_page._section(one, document)]
    return "\n".join([INTRO, *lines]).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
