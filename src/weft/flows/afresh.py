"""A run that stands still, looked at afresh: what should have followed from its steps, follows. Decides only. Pure.

    its task has ended, and the step was not told      it is told, as the history has it
    what caught its failure has ended                  so has the step
    it waits for nodes that have all ended             it begins, or is decided without running
    all nodes of a block, or elements, have ended      they are counted again, and it closes
    a foreach has elements to begin                    they begin
    it has a task that is nowhere                      it is lost: begun again only if somebody wants that

Nothing of this is a guess but the last: what became of such a task nobody knows, and it may have done something.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from weft.flows.compiled import Compiled
from weft.flows.course import Course
from weft.flows.model import ENDED, Fact, Held, Place, Step
from weft.plan import frontier
from weft.plan.evaluate import Known
from weft.plan.model import Task
from weft.plan.rules import Ending


class Open(NamedTuple):
    """A step that has not ended, and what is known besides: in the order `open_ends` selects it."""

    step: Step
    queued: bool
    """Its task is in the queue."""
    caught: str | None
    """The state of what caught its failure, and what that came to."""
    caught_output: Any
    caught_error: dict[str, Any] | None
    ended: Any
    """How its task ended, if it did."""
    attempt: int | None
    started_at: dt.datetime | None
    result: Any
    error: dict[str, Any] | None


class Afresh(Course):
    """Told in this order: every open step (`found`), the nodes of open blocks, the elements of open foreachs, and last the
    open steps one by one."""

    def __init__(self, run: Held, compiled: Compiled, *, mint: Callable[[], str]) -> None:
        super().__init__(run, compiled, mint=mint)
        self.open: list[Open] = []

    def found(self, steps: Iterable[Open]) -> None:
        """What stands in something that has ended is nobody's any more."""
        known = [one._replace(step=self.known(one.step)) for one in steps]
        frames = {self.run.id, *(one.step.id for one in known)}
        self.open = [one for one in known if one.step.frame in frames]

    def blocks(self) -> list[str]:
        """The blocks that are open: not those whose failure was caught, for that is what goes on instead."""
        opened = [one.step.id for one in self.open if one.step.block is not None and one.caught is None]
        return [self.run.id, *opened]

    def foreachs(self) -> list[Step]:
        return [one.step for one in self.open if one.step.state == "running" and self._is_foreach(one.step)]

    def block(self, frame: str, steps: Mapping[str, Step]) -> None:
        """All nodes of an open block."""
        if frame == self.run.id and not steps and self.compiled.blocks[self.compiled.plan.entry].nodes:
            self.start()
            return
        endings: dict[str, Ending] = {name: one.state for name, one in steps.items() if one.state in ENDED}  # type: ignore[misc]
        started = frozenset(name for name, one in steps.items() if one.state == "running")
        following = frontier.overdue(self.edges(frame), endings, started=started)
        for name, tally in following.tallies.items():
            steps[name].tally = tally
            if name in following.ended:
                self._over(steps[name], Known(following.ended[name]))
            self._change(steps[name])
        for name in following.ready:
            self.begin(steps[name])
        self.recount(frame, steps)
        holder = None if frame == self.run.id else self.by_id(frame)
        if holder is not None:
            self._change(holder)
        self.close_if_over(holder)

    def elements(self, whole: Step, ended: int, failed: int) -> None:
        """How many elements of a foreach have ended, and how many of those not well."""
        whole.parts_ended, whole.parts_failed = ended, failed
        self._change(whole)
        if ended == whole.parts:
            self._agenda.append(lambda: self._gather(whole))
        else:
            self._agenda.append(lambda: self._more_elements(whole, self._node(whole)))

    def step(self, one: Open) -> bool:
        """A step that had not ended; answers whether it is lost."""
        step = one.step
        if step.state != "running":
            if step.state == "pending" and step.element >= 0:
                whole = self._steps[Place(step.frame, step.node)]
                if whole.state == "running" and step.element < whole.parts_started:
                    self.redo(step)
            return False
        if one.caught is not None:
            if one.caught in ENDED:
                self.say(step, Known(one.caught, one.caught_output, one.caught_error))
            return False
        if one.queued or step.block is not None or step.catching or self._is_foreach(step):
            return False
        if not isinstance(self._node(step).work, Task):
            self.redo(step)
            return False
        if one.ended is None or step.task_id is None:
            return True
        self.told(Fact(
            self.run.id, step.id, step.task_id, one.ended, one.attempt or 0, one.started_at, one.result, one.error
        ))  # fmt: skip
        return False

    def _is_foreach(self, step: Step) -> bool:
        return step.element < 0 and not step.catching and self._node(step).foreach is not None
