"""How steps begin: blocks are filled, elements of a foreach are made, tasks are asked for. Decides, writes nothing. Pure.

Everything is an entry of the agenda, done one after another until there is none. An entry first asks for the steps it
needs; if one was not read, the entry is put off, and `wanted` says what to read. Only then does it change anything: so
an entry that was put off has done nothing, and can be done again.
"""

import abc
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from weft.base import errors
from weft.flows import work as works
from weft.flows.compiled import Compiled
from weft.flows.model import Held, NewTask, Place, Step
from weft.flows.seen import Missing, Seen
from weft.plan import evaluate, types
from weft.plan.evaluate import Known, Scope
from weft.plan.model import MAX_CALLS, Block, Call, Compute, Node, Task

SLICE = 500
"""Elements of a foreach that are made at a time."""
MOST_MADE = 5000
"""Steps made in one advance after which no more elements are begun: the rest is for the next one."""
PORTION = SLICE
"""Tasks that are written together: while the database writes these, the next are decided."""
FIRST = 100
"""The same for the first of them, for which the database waits; each has twice as many as the one before."""


class Beginning(Seen, abc.ABC):
    """A run whose steps begin, and what is new of it."""

    def __init__(self, run: Held, compiled: Compiled, *, mint: Callable[[], str]) -> None:
        super().__init__(run, compiled)
        self.tasks: list[NewTask] = []
        self.changed: dict[str, Step] = {}
        self.made: dict[str, Step] = {}
        self.reported: dict[str, Step] = {}
        """Steps whose task has ended; if they are not among the changed, nothing but that is new of them."""
        self.later: set[str] = set()
        """Steps with more elements to begin, but not in this advance."""
        self.in_portions = False
        """Something of it is written already, and more may come."""
        self._room = FIRST
        """Tasks until the portion is full."""
        self._many = 0
        """Steps made in all."""
        self._mint = mint
        self._agenda: deque[Callable[[], None]] = deque()
        self._put_off: list[Callable[[], None]] = []

    def go_on(self) -> bool:
        """Does what is on the agenda, as long as no portion is full; answers whether something must be read first."""
        self._agenda.extend(self._put_off)
        self._put_off.clear()
        self.wanted.clear()
        self.wanted_ids.clear()
        self.wanted_lists.clear()
        while self._agenda and len(self.tasks) < self._room:
            entry = self._agenda.popleft()
            try:
                entry()
            except Missing:
                self._put_off.append(entry)
        return bool(self._put_off) and len(self.tasks) < self._room

    @property
    def done(self) -> bool:
        """Nothing is left on the agenda."""
        return not self._agenda and not self._put_off

    def wrote(self) -> None:
        """What was new is about to be written; what comes now is of the next portion."""
        self.in_portions = True
        self._room = min(2 * self._room, PORTION)
        self.tasks = []
        self.changed, self.made, self.reported = {}, {}, {}

    def begin(self, step: Step) -> None:
        self._agenda.append(partial(self._begin, step))

    @abc.abstractmethod
    def _end(self, step: Step, known: Known, *, caught: bool = False) -> None: ...

    @abc.abstractmethod
    def _node_ended(self, step: Step, known: Known) -> None: ...

    @abc.abstractmethod
    def _close(self, frame: str) -> None: ...

    def _enter_all(self, nodes: Iterator[tuple[str, str]], frame: str, depth: int) -> None:
        """Makes nodes that wait for nothing, and begins them, until the portion is full: what is written before it begins
        would have to be written again."""
        for id, name in nodes:
            step = Step(id, frame, name, depth=depth, decided=True)
            self._make(step)
            try:
                self._begin(step)
            except Missing:
                self._put_off.append(partial(self._begin, step))
            if len(self.tasks) >= self._room:
                self._agenda.appendleft(partial(self._enter_all, nodes, frame, depth))
                return

    def _begin(self, step: Step) -> None:
        if step.state != "pending":
            return
        prepared = self._prepared(step)
        node = prepared.node
        if node.when is None and node.foreach is None:
            self._instance(step, node)
            return
        try:
            scope = self._scope(step.frame, prepared.before)
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
        if self._many >= MOST_MADE and whole.parts_started < whole.parts:
            self.later.add(whole.id)
            return
        if whole.parts_made < whole.parts and whole.parts_made - whole.parts_ended < SLICE:
            assert node.foreach is not None
            scope = self._scope(whole.frame, self._prepared(whole).before)
            self._make_elements(whole, evaluate.elements(node.foreach, scope))
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
        # what is made at once is begun at once, if it can be, and written with its task
        self._room = PORTION
        for number in range(whole.parts_made, until):
            self._make(Step(self._mint(), whole.frame, whole.node, number, depth=whole.depth, decided=True,
                            item=elements[number]))  # fmt: skip
        whole.parts_made = until
        self._change(whole)

    def _instance(self, step: Step, node: Node) -> None:
        """Does the work of a node, or of one of its elements."""
        prepared = self._prepared(step)
        try:
            scope = self._instance_scope(step, prepared.work)
            match node.work:
                case Task() as work:
                    task = works.task(
                        work, scope, run=self.run, id=self._mint(), step=step.id, records=self.compiled.records,
                        secrets=prepared.secrets, known=prepared.options,
                    )  # fmt: skip
                    step.state, step.task_id = "running", task.id
                    self.tasks.append(task)
                    if step.element < 0 and prepared.followed:
                        self.compiled.note(task.id, frame=step.frame, block=self._block(step).name, node=node.name)
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
        self._agenda.append(lambda: self._end(step, failed(error)))

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
        holder.parts = len(block.nodes)
        ready = []
        for name, tally in self.compiled.first[block.name].tallies.items():
            # ids in the order of the nodes, which is how they are listed
            if tally.decided:
                ready.append((self._mint(), name))
            else:
                self._make(Step(self._mint(), frame, name, depth=depth, waits=tally.total))
        if ready:
            self._agenda.append(partial(self._enter_all, iter(ready), frame, depth))
        if not block.nodes:
            self._agenda.append(lambda: self._close(frame))

    def _make(self, step: Step) -> None:
        self._many += 1
        self._steps[step.place] = self._by_id[step.id] = self.made[step.id] = step

    def _change(self, step: Step) -> None:
        if step.id not in self.made:
            self.changed[step.id] = step


def failed(error: errors.WeftError) -> Known:
    return Known("failed", error=problem(type(error).__name__, error.message))


def problem(type_: str, message: str) -> dict[str, Any]:
    return {"type": type_, "message": message}
