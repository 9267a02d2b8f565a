"""What a run of the long tier did, how long recovery took, and what was found; and the one line that says it."""

import dataclasses
import statistics
from collections import Counter

from checker import Finding

KNOWN = ("lost", "double", "stale", "orphans")


@dataclasses.dataclass
class Times:
    """How long something took, over and over, and how long it may take."""

    name: str
    most: float
    p50: float | None = None
    seen: list[float] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        if not self.seen:
            return f"{self.name} not measured"
        return f"{self.name} p50 {statistics.median(self.seen):.2f} s, max {max(self.seen):.2f} s ({len(self.seen)})"

    @property
    def slow(self) -> str | None:
        """What is asked for and was not reached."""
        if not self.seen:
            return None
        if self.p50 is not None and statistics.median(self.seen) > self.p50:
            return f"{self}: p50 {self.p50} s is asked for"
        return f"{self}: at most {self.most} s is asked for" if max(self.seen) > self.most else None


@dataclasses.dataclass
class Tally:
    """Counts, times, findings."""

    kills: int = 0
    restarts: int = 0
    freezes: int = 0
    cuts: int = 0
    others: int = 0
    """Faults of other kinds: partitions, a full disk, deaf and throttled connections."""
    tasks: int = 0
    stale_refused: int = 0
    """Writes of workers that had lost their leases, each refused."""
    exits: int = 0
    """Processes that ended by themselves."""
    findings: list[Finding] = dataclasses.field(default_factory=list)
    recovery: Times = dataclasses.field(default_factory=lambda: Times("recovery", most=5.0, p50=1.5))
    """Light load: kill -9 of a worker → its tasks start elsewhere."""
    loaded: Times = dataclasses.field(default_factory=lambda: Times("under load", most=12.0))
    """The same beside a flood; 12 s is the hard bound."""
    leader: Times = dataclasses.field(default_factory=lambda: Times("leader", most=3.0))
    """kill -9 of the leader → another has the next term."""
    back: Times = dataclasses.field(default_factory=lambda: Times("first claim", most=2.0))
    """PostgreSQL accepts again → the first claim."""
    deaf: Times = dataclasses.field(default_factory=lambda: Times("deaf", most=1.0))
    """Enqueue → start with LISTEN dead, less the median with it alive."""

    @property
    def times(self) -> tuple[Times, ...]:
        return (self.recovery, self.loaded, self.leader, self.back, self.deaf)

    @property
    def slow(self) -> list[str]:
        return [text for one in self.times if (text := one.slow) is not None]

    def line(self) -> str:
        rules = Counter(one.rule for one in self.findings)
        others = ", ".join(f"{count} {rule}" for rule, count in rules.items() if rule not in KNOWN) or "0 other findings"
        return (
            f"chaos: {self.kills} kills, {self.restarts} restarts, {self.freezes} freezes, {self.cuts} cuts, "
            f"{self.others} other faults, {self.tasks} tasks: {rules['lost']} lost, {rules['double']} double, "
            f"{rules['stale']} stale accepted ({self.stale_refused} refused), {rules['orphans']} orphans, {others}, "
            f"{self.exits} exits; " + "; ".join(map(str, self.times))
        )
