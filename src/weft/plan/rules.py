"""Trigger rules: whether a node may start, from how those it waits for have ended. Pure arithmetic.

A verdict is given as soon as no ending still to come could change it, and never before. So it depends on how the
others ended, not on the order in which they did.
"""

from typing import Literal, assert_never

import msgspec

Rule = Literal[
    "all_success", "all_failed", "all_done", "all_skipped", "one_success", "one_failed", "one_done", "none_failed",
    "none_failed_min_one_success", "none_skipped",
]  # fmt: skip

OF_OTHERS: frozenset[Rule] = frozenset({"one_success", "one_failed", "one_done", "none_failed_min_one_success"})
"""Rules that say nothing about a node that waits for no other."""

Ending = Literal["completed", "failed", "timed_out", "cancelled", "upstream_failed", "skipped"]
"""How a node ends. `upstream_failed`: it never ran, because of a failure before it."""

Verdict = Literal["ready", "skipped", "upstream_failed"]


class Tally(msgspec.Struct, frozen=True):
    """What a node waits for, counted. One row each in the database."""

    total: int
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    decided: bool = False

    @property
    def remaining(self) -> int:
        return self.total - self.succeeded - self.failed - self.skipped

    def plus(self, ending: Ending) -> "Tally":
        match ending:
            case "completed":
                return msgspec.structs.replace(self, succeeded=self.succeeded + 1)
            case "skipped":
                return msgspec.structs.replace(self, skipped=self.skipped + 1)
            case "failed" | "timed_out" | "cancelled" | "upstream_failed":
                return msgspec.structs.replace(self, failed=self.failed + 1)
            case _:
                assert_never(ending)


def verdict(rule: Rule, tally: Tally) -> Verdict | None:
    """What becomes of the node; None while it is open."""
    succeeded, failed, skipped, over = tally.succeeded, tally.failed, tally.skipped, tally.remaining == 0
    match rule:
        case "all_success":
            return "upstream_failed" if failed else ("skipped" if skipped else "ready") if over else None
        case "all_failed":
            return "skipped" if succeeded or skipped else "ready" if over else None
        case "all_done":
            return "ready" if over else None
        case "all_skipped":
            return "skipped" if succeeded or failed else "ready" if over else None
        case "one_success":
            return "ready" if succeeded else ("upstream_failed" if failed else "skipped") if over else None
        case "one_failed":
            return "ready" if failed else "skipped" if over else None
        case "one_done":
            return "ready" if succeeded or failed else "skipped" if over else None
        case "none_failed":
            return "upstream_failed" if failed else "ready" if over else None
        case "none_failed_min_one_success":
            return "upstream_failed" if failed else ("ready" if succeeded else "skipped") if over else None
        case "none_skipped":
            return "skipped" if skipped else "ready" if over else None
        case _:
            assert_never(rule)
