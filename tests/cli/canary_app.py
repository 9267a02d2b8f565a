"""An app whose handlers do with a secret whatever careless code does: `canary_app:app`."""

import base64
import codecs
import hashlib
import json
import logging
import os
import time
import urllib.parse
from collections.abc import Callable
from pathlib import Path

from weft import App, Context

app = App()
log = logging.getLogger("careless")

ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "URL-encoded": lambda text: urllib.parse.quote(text, safe=""),
    "JSON-escaped": lambda text: json.dumps(text)[1:-1],
    "reversed": lambda text: text[::-1],
    "rot13": lambda text: codecs.encode(text, "rot13"),
}
"""The eight in which canaries are looked for."""


def seen(ctx: Context, token: str) -> None:
    """Proves that the secret was here, without saying it."""
    with Path(os.environ["CANARY_SEEN"]).open("a") as out:
        out.write(f"{ctx.kind} {hashlib.sha256(token.encode()).hexdigest()}\n")


def tell(ctx: Context, token: str) -> None:
    for name, encode in ENCODINGS.items():
        said = encode(token)
        ctx.log(f"{name}: {said}", header=f"Bearer {said}", nested={"deep": [said]})
        log.warning("%s: %s", name, said)
        ctx.progress(50, f"{name} {said}")


@app.task(max_attempts=1)
async def careless(ctx: Context, token: str) -> dict[str, object]:
    seen(ctx, token)
    tell(ctx, token)
    told = {name: encode(token) for name, encode in ENCODINGS.items()}
    return {**told, "all": list(told.values())}


@app.task(max_attempts=2, retry={"backoff": "fixed", "base": 0})
def raises(ctx: Context, token: str) -> None:
    seen(ctx, token)
    tell(ctx, token)
    time.sleep(1.2)  # long enough for its progress to be written
    try:
        raise KeyError(*(encode(token) for encode in ENCODINGS.values()))
    except KeyError:
        log.exception("it went wrong with %s", token)
        raise


@app.task(max_attempts=1, isolate="process")
def in_a_child(ctx: Context, token: str) -> str:
    seen(ctx, token)
    tell(ctx, token)
    return token


@app.task(max_attempts=1, isolate="process")
def dies_in_a_child(ctx: Context, token: str) -> None:
    seen(ctx, token)
    tell(ctx, token)
    raise ValueError(" ".join(encode(token) for encode in ENCODINGS.values()))
