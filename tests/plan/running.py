"""A run of a plan in memory, tasks ended in any order: what the words of a plan mean, told by the pure rooms alone."""

import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from weft.base import errors
from weft.plan import check, evaluate, frontier, types
from weft.plan.evaluate import Known, Scope
from weft.plan.expression import Expression
from weft.plan.graph import Edges
from weft.plan.model import Block, Call, Compute, Node, Plan, Task
from weft.plan.rules import Ending

Done = Callable[[Known], None]
Path = tuple[tuple[str, int, bool], ...]
"""Where a step is: the (node, element, catching) of each step around it, then its own."""
Handler = Callable[[str, Any], Any]


class Failure(Exception):
    """What a handler raises: its words are the error."""

    def __init__(self, message: str, state: str = "failed") -> None:
        super().__init__(message)
        self.state = state


def run(plan: Plan, params: Mapping[str, Any], do: Handler, *, seed: int = 0) -> "Run":
    """Runs a plan to its end. `do(kind, args)` is what workers do; `seed` says who is faster."""
    return Run(plan, do, seed).to_the_end(params)


class Run:
    def __init__(self, plan: Plan, do: Handler, seed: int) -> None:
        self.edges = check.check(plan)
        self.blocks = {block.name: block for block in plan.blocks}
        self.records = {record.name: record for record in plan.records}
        self.plan, self.do, self.dice = plan, do, random.Random(seed)
        self.agenda: deque[Callable[[], None]] = deque()
        self.tasks: list[Callable[[], None]] = []
        self.log: list[str] = []
        self.result: Known | None = None
        self.scopes: list[Running] = []
        self.steps: dict[Path, Known] = {}
        """How each ended: nodes, elements, and the blocks that caught them."""

    def to_the_end(self, params: Mapping[str, Any]) -> "Run":
        def ended(known: Known) -> None:
            self.result = known

        self.call(self.plan.entry, dict(params), Scope(run={"id": "r1"}), ended, ())
        while self.agenda or self.tasks:
            if self.agenda:
                self.agenda.popleft()()
            else:
                self.tasks.pop(self.dice.randrange(len(self.tasks)))()
        assert self.result is not None, "nothing is left to do and the run has not ended"
        return self

    def call(self, name: str, args: dict[str, Any], scope: Scope, done: Done, path: Path) -> None:
        block = self.blocks[name]
        outer = scope if block.within is not None else Scope(run=scope.run)
        try:
            params = types.bind(block.params, args, records=self.records, outer=outer)
        except errors.WeftError as error:
            done(failed(error))
            return
        self.scopes.append(Running(self, block, self.edges[name], outer, params, done, path))

    def task(self, node: Node, work: Task, scope: Scope, done: Done) -> None:
        args = evaluate.evaluate(work.args, scope)
        assert isinstance(args, dict)
        args = types.typed(work.takes, args, records=self.records, what="argument")
        for option in work.options.values():
            evaluate.evaluate(option, scope)

        def perform() -> None:
            self.log.append(work.kind)
            try:
                result = self.do(work.kind, args)
                if work.returns is not None:
                    result = types.returned(work.returns, result, records=self.records)
                done(Known("completed", result))
            except (Failure, errors.WeftError) as error:
                done(failed(error))

        self.tasks.append(perform)


class Running:
    """A block that runs."""

    def __init__(
        self, run: Run, block: Block, edges: Edges, outer: Scope, params: dict[str, Any], done: Done, path: Path
    ) -> None:  # fmt: skip
        self.run, self.block, self.edges, self.done, self.path = run, block, edges, done, path
        self.nodes = {node.name: node for node in block.nodes}
        self.known: dict[str, Known] = {}
        self.scope = Scope(params=params, nodes=self.known, run=outer.run, outer=outer)
        first = frontier.start(edges)
        self.tallies = dict(first.tallies)
        self.count = frontier.Count(total=len(block.nodes))
        self.run.agenda.append(self.close)
        self.begin(first.ready)

    def begin(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.run.agenda.append(lambda node=self.nodes[name]: self.start(node))

    def start(self, node: Node) -> None:
        try:
            if node.when is not None and not evaluate.condition(node.when, self.scope):
                self.end(node, Known("skipped"))
            elif node.foreach is None:
                self.instance(node, -1, self.scope, lambda known: self.end(node, known))
            else:
                self.each(node, evaluate.elements(node.foreach, self.scope))
        except errors.ExpressionFailed as error:
            self.unfit(node, failed(error))

    def unfit(self, node: Node, known: Known) -> None:
        """Whether a node runs, or on what, cannot be said. The catch of a node with foreach is for its elements."""
        if node.foreach is None:
            self.caught(node, -1, self.scope, lambda ended: self.end(node, ended))(known)
        else:
            self.end(node, known)

    def each(self, node: Node, elements: list[Any]) -> None:
        found: dict[int, Known] = {}
        count = frontier.Count(total=len(elements))
        waiting = deque(enumerate(elements))

        def ended(number: int, known: Known) -> None:
            nonlocal count
            found[number] = self.run.steps[*self.path, (node.name, number, False)] = known
            count = count.plus(ending(known))
            if count.ending == "completed":
                self.end(node, Known("completed", [found[one].output for one in range(len(elements))]))
            elif count.ending is not None:
                self.end(node, Known("failed", error=next(one.error for one in found.values() if one.error)))
            elif waiting:
                following()

        def following() -> None:
            number, element = waiting.popleft()
            self.instance(node, number, self.scope.inside({node.item: element}), lambda known: ended(number, known))

        if not elements:
            self.end(node, Known("completed", []))
        for _ in range(node.at_once or len(elements)):
            if waiting:
                following()

    def instance(self, node: Node, number: int, scope: Scope, done: Done) -> None:
        caught = self.caught(node, number, scope, done)
        try:
            match node.work:
                case Task() as work:
                    self.run.task(node, work, scope, caught)
                case Compute(value=value):
                    caught(Known("completed", evaluate.evaluate(value, scope)))
                case Call(block=name, args=args):
                    path: Path = (*self.path, (node.name, number, False))
                    self.run.call(name, evaluated(args, scope), scope, caught, path)
        except errors.WeftError as error:
            caught(failed(error))

    def caught(self, node: Node, number: int, scope: Scope, done: Done) -> Done:
        """How an instance ends, if what it does ends like this."""
        path: Path = (*self.path, (node.name, number, True))

        def over(known: Known) -> None:
            self.run.steps[path] = known
            done(known)

        def ended(known: Known) -> None:
            if known.state == "completed" or node.catch is None:
                done(known)
            else:
                given = {"error": known.error["message"], "error_type": known.error["type"], **scope.params}
                wanted = {field.name for field in self.run.blocks[node.catch].params}
                self.run.call(node.catch, {name: given[name] for name in wanted if name in given}, scope, over, path)

        return ended

    def end(self, node: Node, known: Known) -> None:
        assert node.name not in self.known, f"{node.name} ended twice"
        self.known[node.name] = self.run.steps[*self.path, (node.name, -1, False)] = known
        self.count = self.count.plus(ending(known), tolerated=node.allow_failure)
        following = frontier.advance(self.edges, {node.name: ending(known)}, self.tallies)
        assert not following.missing
        self.tallies |= following.tallies
        for name, decided in following.ended.items():
            self.known[name] = self.run.steps[*self.path, (name, -1, False)] = Known(decided)
            self.count = self.count.plus(decided)
        self.begin(following.ready)
        self.run.agenda.append(self.close)

    def close(self) -> None:
        if self.count.ending is None or self.done is None:
            return
        done, self.done = self.done, None  # type: ignore[assignment]
        if self.count.ending == "failed":
            error = next(one.error for name, one in self.known.items()
                         if one.error and name not in self.edges.tolerated)  # fmt: skip
            done(Known("failed", error=error))
            return
        try:
            done(Known("completed", types.given_back(self.block, self.scope, records=self.run.records)))
        except errors.WeftError as error:
            done(failed(error))


def evaluated(args: Mapping[str, Expression], scope: Scope) -> dict[str, Any]:
    return {name: evaluate.evaluate(value, scope) for name, value in args.items()}


def failed(error: Exception) -> Known:
    state = error.state if isinstance(error, Failure) else "failed"
    return Known(state, error={"type": type(error).__name__, "message": str(error)})


def ending(known: Known) -> Ending:
    return known.state  # type: ignore[return-value]
