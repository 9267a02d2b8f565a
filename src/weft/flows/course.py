"""What follows in a run when steps end: others begin (`beginning`), blocks close. Decides, writes nothing. Pure."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from weft.base import errors
from weft.flows.beginning import Beginning, failed, problem
from weft.flows.compiled import Compiled
from weft.flows.model import ENDED, Fact, Held, Over, Place, Step
from weft.plan import frontier, types
from weft.plan.evaluate import Known
from weft.plan.graph import Edges
from weft.plan.model import Node, Task
from weft.plan.rules import Ending

_FAILED = ("failed", "timed_out", "cancelled")
_NOTHING = frontier.Advance(ready=(), ended={}, tallies={})


class Course(Beginning):
    """A run that is being advanced by whoever holds its lock."""

    def __init__(self, run: Held, compiled: Compiled, *, mint: Callable[[], str]) -> None:
        super().__init__(run, compiled, mint=mint)
        self.ended = False
        self.broken = False
        self._written: set[str] = set()
        """Steps whose end was written when their task ended."""
        self._quiet: dict[str, int] = {}
        """Frame → how many of its steps ended and are only to be counted."""

    def break_off(self, error: Exception) -> None:
        """Nothing of this course is to be written but that the run failed, and why."""
        for some in (self.tasks, self.changed, self.reported, self.made, self.later):
            some.clear()
        self._agenda.clear()
        self._put_off.clear()
        self.broken = True
        self.ended, self.run.state = True, "failed"
        self.run.error = problem(type(error).__name__, f"the run cannot go on: {error}")

    # what may come in

    def start(self) -> None:
        """The run begins: its entry is opened."""
        self._agenda.append(self._open_entry)

    def told(self, fact: Fact) -> None:
        """A task has ended. What is not of the step's present task is old news."""
        step = self._by_id.get(fact.step)
        if step is not None and fact.task == fact.step:
            # not a task's: an advance before this one left elements to begin
            self._agenda.append(lambda: self._more_elements(step, self._node(step)))
        elif step is not None and step.task_id == fact.task and step.state == "running":
            self._agenda.append(partial(self._task_ended, step, fact))

    def over(self, one: Over) -> None:
        """A task has ended, and its step with it. If nothing can follow but the end of its block, it is only counted."""
        alone = one.element < 0 and not one.catching
        if alone and self.compiled.is_quiet(self._block_of(one.frame).name, one.node, one.output):
            if not self._quiet:
                self._agenda.append(self._count)
            self._quiet[one.frame] = self._quiet.get(one.frame, 0) + 1
            return
        fact, step = one.known()
        # as it was before, although it may have been read since: an old fact, of a task it had earlier, is about it too
        self._steps[step.place] = self._by_id[step.id] = step
        self.told(fact)

    def say(self, step: Step, known: Known) -> None:
        """Somebody says how a step ended."""
        self._agenda.append(lambda: self._end(step, known, caught=True))

    def close_if_over(self, holder: Step | None = None) -> None:
        """The entry, or the block of a step, ends if all its nodes have."""
        frame = self.run.id if holder is None else holder.id
        whole = holder or self.run
        if whole.parts_ended == whole.parts:
            self._agenda.append(lambda: self._close(frame))

    def recount(self, frame: str, steps: Mapping[str, Step]) -> None:
        """The counters of a block as its nodes, which are all of these, say they must be."""
        holder = self._holder(frame)
        tolerated = self.edges(frame).tolerated
        count = frontier.Count(total=len(steps))
        for name, step in steps.items():
            if step.state in ENDED:
                count = count.plus(step.state, tolerated=name in tolerated)  # type: ignore[arg-type]
                if count.failed and holder.error is None:
                    holder.error = {**(step.error or {}), "node": name}
        holder.parts, holder.parts_ended, holder.parts_failed = count.total, count.ended, count.failed

    def redo(self, step: Step) -> None:
        """An element of a foreach, or whatever else begins with its work, once more."""
        self._agenda.append(lambda: self._instance(step, self._node(step)))

    def set_going(self, step: Step) -> None:
        """Something inside of it is done again, so it is not over."""
        step.state, step.output, step.error, step.whole = "running", None, None, True
        self._change(step)

    # endings

    def _task_ended(self, step: Step, fact: Fact) -> None:
        step.attempt, step.started_at = fact.attempt, fact.started_at
        node = self._node(step)
        if fact.state != "completed":
            known = Known(fact.state, fact.result, fact.error or problem(fact.state, f"the task {fact.state}"))
        else:
            known = Known("completed", fact.result)
            if isinstance(node.work, Task) and node.work.returns is not None:
                try:
                    known = Known("completed", types.returned(node.work.returns, fact.result, records=self.compiled.records))
                except errors.WeftError as error:
                    known = failed(error)
        if not fact.written:
            self.reported[step.id] = step
        elif known.output is fact.result and known.state == "completed":
            self._written.add(step.id)
        # at once: if something must be read first, all of this is done again and comes to the same
        self._end(step, known)

    def _count(self) -> None:
        """Of blocks in which steps ended from which nothing follows: whether that was all of them."""
        for frame, count in self._quiet.items():
            holder = self._holder(frame)
            holder.parts_ended += count
            if isinstance(holder, Step):
                self._change(holder)
            if holder.parts_ended == holder.parts:
                self._agenda.append(partial(self._close, frame))
        self._quiet.clear()

    def _end(self, step: Step, known: Known, *, caught: bool = False) -> None:
        node = self._node(step)
        if step.catching:
            # how the catch ended is how the step did
            whole = self._get(Place(step.frame, step.node, step.element))
            self._over(step, known)
            self._agenda.append(lambda: self._end(whole, known, caught=True))
        elif known.state in _FAILED and not caught and _catches(node, step):
            self._catch(step, node, known)
        elif step.element >= 0:
            self._element_ended(step, node, known)
        else:
            self._node_ended(step, known)

    def _catch(self, step: Step, node: Node, known: Known) -> None:
        assert node.catch is not None
        block = self.compiled.blocks[node.catch]
        scope = self._instance_scope(step, self._defaults(block))
        error = known.error or {}
        given = {"error": error.get("message"), "error_type": error.get("type")}
        if step.element >= 0:
            given[node.item] = step.item
        wanted = {field.name for field in block.params}
        catching = Step(self._mint(), step.frame, step.node, step.element, True, step.depth, decided=True, item=step.item)
        self._make(catching)
        step.error = known.error
        self._change(step)
        try:
            self._open(catching, block, {name: value for name, value in given.items() if name in wanted}, scope)
        except errors.WeftError as error:
            self._fails(catching, error)

    def _element_ended(self, step: Step, node: Node, known: Known) -> None:
        whole = self._get(Place(step.frame, step.node))
        self._over(step, known)
        whole.parts_ended += 1
        if known.state != "completed":
            whole.parts_failed += 1
            whole.error = whole.error or known.error
        self._change(whole)
        if whole.parts_ended == whole.parts:
            self._agenda.append(lambda: self._gather(whole))
        else:
            self._agenda.append(lambda: self._more_elements(whole, node))

    def _gather(self, whole: Step) -> None:
        """All elements have ended: their outputs, in their order."""
        if whole.parts_failed:
            self._end(whole, Known("failed", error=whole.error))
            return
        output = None
        if self.compiled.gathers(self._block(whole).name, whole.node, elements=whole.parts):
            output = self._gathered(whole)
        self._end(whole, Known("completed", output))

    def _node_ended(self, step: Step, known: Known) -> None:
        block = self._block(step)
        edges = self.compiled.edges[block.name]
        holder = self._holder(step.frame)
        following = self._following(step, known, edges)
        self._over(step, known)
        tolerated = step.node in edges.tolerated
        # what is decided without running has not failed: its cause has
        holder.parts_ended += 1 + len(following.ended)
        holder.parts_failed += known.state in _FAILED and not tolerated
        if holder.parts_failed and holder.error is None:
            holder.error = _placed(known.error or {}, step.node)
        for name, tally in following.tallies.items():
            other = self._steps[Place(step.frame, name)]
            other.tally = tally
            if name in following.ended:
                self._over(other, Known(following.ended[name]))
            self._change(other)
        for name in following.ready:
            self.begin(self._steps[Place(step.frame, name)])
        if isinstance(holder, Step):
            self._change(holder)
        if holder.parts_ended == holder.parts:
            self._agenda.append(lambda: self._close(step.frame))

    def _following(self, step: Step, known: Known, edges: Edges) -> frontier.Advance:
        if not edges.downstream[step.node]:
            return _NOTHING
        tallies = {}
        for name in edges.downstream[step.node]:
            found = self._steps.get(Place(step.frame, name))
            if found is not None:
                tallies[name] = found.tally
        while True:
            following = frontier.advance(edges, {step.node: _ending(known)}, tallies)
            if not following.missing:
                return following
            for one in self._all([Place(step.frame, name) for name in following.missing], outputs=False):
                tallies[one.node] = one.tally

    def _close(self, frame: str) -> None:
        """All nodes of a block have ended."""
        holder = self._holder(frame)
        block = self._block_of(frame)
        if holder.parts_failed:
            known = Known("failed", error=holder.error)
        else:
            try:
                scope = self._scope(frame, self.compiled.outputs[block.name])
                known = Known("completed", types.given_back(block, scope, records=self.compiled.records))
            except errors.WeftError as error:
                known = failed(error)
        if isinstance(holder, Step):
            self._end(holder, known)
        else:
            self.ended = True
            holder.state = "completed" if known.state == "completed" else "failed"
            holder.output, holder.error = known.output, known.error

    # steps

    def _over(self, step: Step, known: Known) -> None:
        step.state = known.state  # type: ignore[assignment]
        step.decided = True
        step.output, step.error, step.whole = known.output, known.error, True
        if step.id not in self.reported and step.id not in self._written:
            self._change(step)


def _catches(node: Node, step: Step) -> bool:
    """Whether its failure is caught: where a node has foreach, each element's is, and not their list's once more."""
    return node.catch is not None and (step.element >= 0) == (node.foreach is not None)


def _ending(known: Known) -> Ending:
    return known.state  # type: ignore[return-value]


def _placed(error: dict[str, Any], node: str) -> dict[str, Any]:
    """An error with the node of this block that had it, and the step it came from if that is deeper inside."""
    inner = error.get("step", error.get("node"))
    return {**error, "node": node, **({} if inner is None else {"step": inner})}
