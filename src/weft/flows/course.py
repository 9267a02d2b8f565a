"""What follows in a run: steps that end, begin, open blocks and close them. Decides, writes nothing. Pure.

Everything is an entry of the agenda, done one after another until there is none. An entry first asks for the steps it
needs; if one was not read, the entry is put off, and `wanted` says what to read. Only then does it change anything: so
an entry that was put off has done nothing, and can be done again.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from weft.base import errors
from weft.flows import work as works
from weft.flows.compiled import Compiled
from weft.flows.model import Fact, Held, NewTask, Place, Step
from weft.flows.seen import Missing, Seen
from weft.plan import evaluate, frontier, types
from weft.plan.evaluate import Known, Scope
from weft.plan.graph import Edges
from weft.plan.model import MAX_CALLS, Block, Call, Compute, Node, Task
from weft.plan.rules import Ending

SLICE = 500
"""Elements of a foreach that are made at a time."""
MOST_MADE = 5000
"""Steps made in one advance after which no more elements are begun: the rest is for the next one."""

_FAILED = ("failed", "timed_out", "cancelled")
_NOTHING = frontier.Advance(ready=(), ended={}, tallies={})


class Course(Seen):
    """A run that is being advanced by whoever holds its lock."""

    def __init__(self, run: Held, compiled: Compiled, *, mint: Callable[[], str]) -> None:
        super().__init__(run, compiled)
        self.tasks: list[NewTask] = []
        self.changed: dict[str, Step] = {}
        self.made: dict[str, Step] = {}
        self.reported: dict[str, Step] = {}
        """Steps whose task has ended; if they are not among the changed, nothing but that is new of them."""
        self.ended = False
        self.later: set[str] = set()
        """Steps with more elements to begin, but not in this advance."""
        self._mint = mint
        self._agenda: deque[Callable[[], None]] = deque()
        self._put_off: list[Callable[[], None]] = []

    def go_on(self) -> bool:
        """Does what is on the agenda; answers whether it is all done, or something must be read first."""
        self._agenda.extend(self._put_off)
        self._put_off.clear()
        self.wanted.clear()
        self.wanted_ids.clear()
        self.wanted_lists.clear()
        while self._agenda:
            entry = self._agenda.popleft()
            try:
                entry()
            except Missing:
                self._put_off.append(entry)
        return not self._put_off

    def break_off(self, error: Exception) -> None:
        """Nothing of this course is to be written but that the run failed, and why."""
        for some in (self.tasks, self.changed, self.reported, self.made, self.later):
            some.clear()
        self.ended, self.run.state = True, "failed"
        self.run.error = _error(type(error).__name__, f"the run cannot go on: {error}")

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

    def say(self, step: Step, known: Known) -> None:
        """Somebody says how a step ended."""
        self._agenda.append(lambda: self._end(step, known, caught=True))

    def close_if_over(self, holder: Step | None = None) -> None:
        """The entry, or the block of a step, ends if all its nodes have."""
        frame = self.run.id if holder is None else holder.id
        whole = holder or self.run
        if whole.parts_ended == whole.parts:
            self._agenda.append(lambda: self._close(frame))

    def redo(self, step: Step) -> None:
        """An element of a foreach, once more."""
        self._agenda.append(lambda: self._instance(step, self._node(step)))

    def set_going(self, step: Step) -> None:
        """Something inside of it is done again, so it is not over."""
        step.state, step.output, step.error, step.whole = "running", None, None, True
        self._change(step)

    def begin(self, step: Step) -> None:
        self._agenda.append(partial(self._begin, step))

    # endings

    def _task_ended(self, step: Step, fact: Fact) -> None:
        step.attempt, step.started_at = fact.attempt, fact.started_at
        node = self._node(step)
        known = Known(fact.state, fact.result, fact.error or _error(fact.state, f"the task {fact.state}"))
        if fact.state == "completed":
            known = Known("completed", fact.result)
            if isinstance(node.work, Task) and node.work.returns is not None:
                try:
                    known = Known("completed", types.returned(node.work.returns, fact.result, records=self.compiled.records))
                except errors.WeftError as error:
                    known = _failed(error)
        self.reported[step.id] = step
        # at once: if something must be read first, all of this is done again and comes to the same
        self._end(step, known)

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

    # beginnings

    def _begin(self, step: Step) -> None:
        block, node = self._block(step), self._node(step)
        if step.state != "pending":
            return
        named = self.compiled.named[block.name, node.name]
        try:
            scope = self._scope(step.frame, named.before)
            if node.when is not None and not evaluate.condition(node.when, scope):
                self._node_ended(step, Known("skipped"))
                return
            if node.foreach is None:
                self._instance(step, node)
                return
            elements = evaluate.elements(node.foreach, scope)
        except errors.WeftError as error:
            self._fails(step, error)
            return
        step.state, step.parts = "running", len(elements)
        self._change(step)
        if not elements:
            self._agenda.append(lambda: self._end(step, Known("completed", [])))
            return
        self._make_elements(step, elements)
        self._agenda.append(lambda: self._more_elements(step, node))

    def _more_elements(self, whole: Step, node: Node) -> None:
        """Starts as many elements as may run, and makes the next ones when few of those made are left."""
        if whole.state != "running":
            return
        if len(self.made) >= MOST_MADE and whole.parts_started < whole.parts:
            self.later.add(whole.id)
            return
        if whole.parts_made < whole.parts and whole.parts_made - whole.parts_ended < SLICE:
            assert node.foreach is not None
            named = self.compiled.named[self._block(whole).name, node.name]
            self._make_elements(whole, evaluate.elements(node.foreach, self._scope(whole.frame, named.before)))
        running = whole.parts_started - whole.parts_ended
        room = min((node.at_once or whole.parts) - running, whole.parts_made - whole.parts_started)
        if room <= 0:
            return
        first = whole.parts_started
        started = self._all([Place(whole.frame, whole.node, number) for number in range(first, first + room)])
        whole.parts_started += room
        self._change(whole)
        for step in started:
            self._agenda.append(lambda step=step: self._instance(step, node))  # type: ignore[misc]

    def _make_elements(self, whole: Step, elements: list[Any]) -> None:
        until = min(whole.parts_made + SLICE, whole.parts)
        for number in range(whole.parts_made, until):
            self._make(Step(self._mint(), whole.frame, whole.node, number, depth=whole.depth, decided=True,
                            item=elements[number]))  # fmt: skip
        whole.parts_made = until
        self._change(whole)

    def _instance(self, step: Step, node: Node) -> None:
        """Does the work of a node, or of one of its elements."""
        block = self._block(step)
        try:
            scope = self._instance_scope(step, self.compiled.named[block.name, node.name].work)
            match node.work:
                case Task() as work:
                    place = block.name, node.name
                    task = works.task(
                        work, scope, run=self.run, id=self._mint(), step=step.id, records=self.compiled.records,
                        secrets=self.compiled.secrets.get(place, {}), known=self.compiled.options.get(place),
                    )  # fmt: skip
                    step.state, step.task_id = "running", task.id
                    self.tasks.append(task)
                    if step.element < 0:
                        self.compiled.note(task.id, frame=step.frame, block=block.name, node=node.name)
                    self._change(step)
                case Compute(value=value):
                    found = evaluate.evaluate(value, scope)
                    step.state = "running"
                    self._change(step)
                    self._agenda.append(lambda: self._end(step, Known("completed", found)))
                case Call(block=name, args=args):
                    called = self.compiled.blocks[name]
                    given = {key: evaluate.evaluate(value, scope) for key, value in args.items()}
                    scope = self._instance_scope(step, self._defaults(called))
                    self._open(step, called, given, scope)
        except errors.WeftError as error:
            self._fails(step, error)

    def _fails(self, step: Step, error: errors.WeftError) -> None:
        step.state = "running"
        self._change(step)
        self._agenda.append(lambda: self._end(step, _failed(error)))

    # blocks

    def _open_entry(self) -> None:
        block = self.compiled.blocks[self.compiled.plan.entry]
        self.run.state = "running"
        self._fill(self.run, self.run.id, block, depth=0)

    def _open(self, step: Step, block: Block, given: Mapping[str, Any], scope: Scope) -> None:
        """A step becomes a block with these arguments."""
        if step.depth >= MAX_CALLS:
            raise errors.ExpressionFailed(f"blocks call each other more than {MAX_CALLS} deep; end the recursion sooner")
        outer = scope if block.within is not None else Scope(run=scope.run)
        step.params = types.bind(block.params, given, records=self.compiled.records, outer=outer)
        step.block, step.state = block.name, "running"
        self._bare.pop(step.id, None)
        self._change(step)
        self._fill(step, step.id, block, depth=step.depth + 1)

    def _fill(self, holder: Step | Held, frame: str, block: Block, *, depth: int) -> None:
        first = frontier.start(self.compiled.edges[block.name])
        holder.parts = len(block.nodes)
        for name, tally in first.tallies.items():
            self._make(Step(self._mint(), frame, name, depth=depth, waits=tally.total, decided=tally.decided))
        for name in first.ready:
            self.begin(self._steps[Place(frame, name)])
        if not block.nodes:
            self._agenda.append(lambda: self._close(frame))

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
                known = _failed(error)
        if isinstance(holder, Step):
            self._end(holder, known)
        else:
            self.ended = True
            holder.state = "completed" if known.state == "completed" else "failed"
            holder.output, holder.error = known.output, known.error

    # steps

    def _make(self, step: Step) -> None:
        self._steps[step.place] = self._by_id[step.id] = self.made[step.id] = step

    def _change(self, step: Step) -> None:
        if step.id not in self.made:
            self.changed[step.id] = step

    def _over(self, step: Step, known: Known) -> None:
        step.state = known.state  # type: ignore[assignment]
        step.decided = True
        step.output, step.error, step.whole = known.output, known.error, True
        if step.id not in self.reported:
            self._change(step)


def _catches(node: Node, step: Step) -> bool:
    """Whether its failure is caught: where a node has foreach, each element's is, and not their list's once more."""
    return node.catch is not None and (step.element >= 0) == (node.foreach is not None)


def _ending(known: Known) -> Ending:
    return known.state  # type: ignore[return-value]


def _failed(error: errors.WeftError) -> Known:
    return Known("failed", error=_error(type(error).__name__, error.message))


def _placed(error: dict[str, Any], node: str) -> dict[str, Any]:
    """An error with the node of this block that had it, and the step it came from if that is deeper inside."""
    inner = error.get("step", error.get("node"))
    return {**error, "node": node, **({} if inner is None else {"step": inner})}


def _error(type_: str, message: str) -> dict[str, Any]:
    return {"type": type_, "message": message}
