"""Who answers prompts unless the app says otherwise: an endpoint that speaks OpenAI's chat protocol."""

import urllib.parse
from typing import Any

from weft.base import errors, json
from weft.base.config import Settings
from weft.net import http as net
from weft.sdk.prompting import Prompt, Provider
from weft.worker import builtin

_SECONDS = 300.0
_MOST = 2**20


def endpoint(settings: Settings) -> Provider:
    """Asks the endpoint of the settings. What it refuses fails for good; what it cannot do now is tried again."""

    async def ask(prompt: Prompt) -> str:
        if settings.prompt_url is None:
            raise errors.Refused(
                "no model answers prompts here; set WEFT_PROMPT_URL to an OpenAI-compatible address such as "
                "https://api.openai.com/v1, or declare @app.provider"
            )
        key = prompt.credentials or settings.prompt_key
        body: dict[str, Any] = {"model": prompt.model or settings.prompt_model, "messages": prompt.messages()}
        if not prompt.plain:
            body["response_format"] = {"type": "json_object"}
        request = net.Request(
            url=f"{settings.prompt_url.rstrip('/')}/chat/completions", method="POST", body=json.dumps(body),
            headers={"content-type": "application/json", **({} if key is None else {"authorization": f"Bearer {key}"})},
        )  # fmt: skip
        # the operator named this address, so it may be one of the operator's own network
        host = urllib.parse.urlsplit(settings.prompt_url).hostname or ""
        allow = (*settings.allow_hosts, host)
        response = await net.call(request, allow=allow, timeout=_SECONDS, max_bytes=_MOST, redirects=0)
        builtin.judge(response, expect=None, said=response.body[:500].decode("utf-8", "replace"))
        return _content(response.body)

    return ask


def _content(body: bytes) -> str:
    try:
        said = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, RecursionError, LookupError, TypeError):
        said = None
    if not isinstance(said, str):
        shown = body[:200].decode("utf-8", "replace")
        raise builtin.HttpUnavailable(f"the endpoint did not answer as OpenAI's chat protocol says: {shown}")
    return said
