"""Prompts of AFL programs: what is asked, in words, and the answer as what the facet returns. Pure.

`@app.provider` says who answers; unless somebody does, it is the endpoint of the settings (`worker/prompts.py`).
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from weft.base import errors, json
from weft.sdk.retry import Retry

KIND = "afl.prompt"
SOON = Retry(base=1)
"""Models are busy, or say something that is no JSON: asking again soon often helps."""
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}")
_FENCE = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.S)
_CREDENTIALS = "credentials"


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model."""

    facet: str
    text: str
    system: str = ""
    model: str = ""
    """Empty: the provider's own choice."""
    returns: dict[str, str] = {}
    """What the answer must have, with types. One text: the answer is that; else it must be JSON."""
    credentials: str | None = None
    """From `with Credentials(secret = …)`."""

    @property
    def plain(self) -> bool:
        """Whether any text will do."""
        return not self.returns or list(self.returns.values()) == ["string"]

    def messages(self) -> list[dict[str, str]]:
        """As chat endpoints take them."""
        system = self.system
        if not self.plain:
            wanted = ", ".join(f'"{name}" ({type_})' for name, type_ in self.returns.items())
            system = f"{system}\n\nAnswer with one JSON object and nothing else. Its keys: {wanted}.".strip()
        first = [{"role": "system", "content": system}] if system else []
        return [*first, {"role": "user", "content": self.text}]


Provider = Callable[[Prompt], Awaitable[str]]
"""Answers prompts: `async def answer(prompt: Prompt) -> str`."""


def read(
    facet: str, template: str, params: dict[str, Any], *, system: str = "", model: str = "",
    returns: dict[str, str] | None = None,
) -> Prompt:  # fmt: skip
    """A task's payload as a prompt, its placeholders filled."""
    credentials = params.get(_CREDENTIALS)
    shown = {name: value for name, value in params.items() if name != _CREDENTIALS}
    return Prompt(
        facet=facet, text=_filled(template, shown), system=_filled(system, shown), model=_filled(model, shown),
        returns=returns or {}, credentials=credentials if isinstance(credentials, str) else None,
    )  # fmt: skip


def answered(prompt: Prompt, said: str) -> dict[str, Any]:
    """What a model said as the facet's returns; InvalidInput if it cannot be that (asking again may help)."""
    if prompt.plain:
        return {next(iter(prompt.returns), "text"): said}
    found = _FENCE.match(said)
    try:
        value = json.parsed(found[1] if found else said, what="what the model said")
    except ValueError:
        raise errors.InvalidInput(f"the model was to answer with JSON, but said: {said[:200]}") from None
    if not isinstance(value, dict):
        if len(prompt.returns) == 1:
            return {next(iter(prompt.returns)): value}
        raise errors.InvalidInput(f"the model was to answer with a JSON object, but said: {said[:200]}")
    return value


def handler(provider: Provider) -> Callable[..., Awaitable[dict[str, Any]]]:
    """The handler of prompts whose questions `provider` answers."""

    async def prompt(
        facet: str, template: str, params: dict[str, Any], system: str = "", model: str = "",
        returns: dict[str, str] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        asked = read(facet, template, params, system=system, model=model, returns=returns)
        said = await provider(asked)
        if not isinstance(said, str):
            raise errors.InvalidInput(f"a provider answers with text, not {type(said).__name__}")
        return answered(asked, said)

    return prompt


def _filled(text: str, params: dict[str, Any]) -> str:
    def fill(found: re.Match[str]) -> str:
        value: Any = params
        for name in f"{found[1]}{found[2]}".split("."):
            if not isinstance(value, dict) or name not in value:
                return found[0]
            value = value[name]
        return value if isinstance(value, str) else json.dumps(value).decode()

    return _PLACEHOLDER.sub(fill, text)
