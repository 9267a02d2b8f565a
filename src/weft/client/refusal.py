"""An answer that is not a success, as the error it names."""

from typing import Any

import msgspec

from weft.base import errors
from weft.net.session import Answer


def error(answer: Answer, *, method: str, url: str) -> errors.WeftError:
    """The error of the envelope, as the class with its code; `details` keep the request id and the status."""
    try:
        given = msgspec.json.decode(answer.body, type=dict[str, Any])
        # applications on top may have an envelope of their own, with the words beside the code
        told = given["error"] if isinstance(given["error"], dict) else {**given, "message": given["error"]}
        code, message = str(told["code"]), str(told["message"])
    except (ValueError, RecursionError, KeyError):
        # not ours: a proxy, or another program
        return _other(answer, method=method, url=url)
    facts = told.get("details")
    details: dict[str, Any] = dict(facts) if isinstance(facts, dict) else {}
    details |= {"request_id": told.get("request_id"), "status": answer.status}
    return named(code, message, **details)


def named(code: str, message: str, **details: Any) -> errors.WeftError:
    """The error of this code."""
    made = classes().get(code, errors.WeftError)(message, **details)
    made.code = code
    return made


def classes() -> dict[str, type[errors.WeftError]]:
    """Every error of the tree by its code."""
    found: dict[str, type[errors.WeftError]] = {}
    waiting: list[type[errors.WeftError]] = [errors.WeftError]
    while waiting:
        one = waiting.pop()
        found.setdefault(one.code, one)
        waiting += one.__subclasses__()
    return found


def _other(answer: Answer, *, method: str, url: str) -> errors.WeftError:
    said = " ".join(answer.body[:200].decode(errors="replace").split())
    return errors.WeftError(
        f"{method} {url} answered {answer.status}{f': {said}' if said else ''}; is it a Weft server?",
        status=answer.status,
    )
