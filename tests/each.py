"""`@each(…)`: as `pytest.mark.parametrize`, but all cases in one test, on one database.

For cases that leave nothing behind, refusals above all: a database and a server of its own for each of them is nearly all of
their time. Every case is tried, and all that fail are told, each with what it was given.
"""

import functools
import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

Test = Callable[..., Awaitable[None]]
_MOST = 500
"""Characters of a case that are told."""


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """One name and its values, or several and their tuples."""
    named = (names,) if isinstance(names, str) else names
    given = [dict(zip(named, (case,) if isinstance(names, str) else case, strict=True)) for case in cases]
    assert given

    def over_all(test: Test) -> Test:
        @functools.wraps(test)
        async def tried(**fixtures: Any) -> None:
            wrong = []
            for case in given:
                try:
                    await test(**fixtures, **case)
                except Exception:  # noqa: BLE001 (all that fail are told)
                    wrong.append(f"{str(case)[:_MOST]}\n{traceback.format_exc()}")
            assert not wrong, f"{len(wrong)} of {len(given)} cases\n\n" + "\n".join(wrong)

        asked = inspect.signature(test)
        rest = [one for name, one in asked.parameters.items() if name not in named]
        tried.__signature__ = asked.replace(parameters=rest)  # type: ignore[attr-defined]
        return tried

    return over_all
