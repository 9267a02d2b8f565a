"""What is known of a run while it is advanced: the steps that were read, and the scopes expressions see. Pure.

Whoever needs a step that was not read gets `Missing`, and `wanted` says what to read.
"""

from typing import Any

from weft.flows.compiled import Compiled, Prepared
from weft.flows.model import ENDED, Held, Place, Step
from weft.plan import graph
from weft.plan.evaluate import Known, Scope
from weft.plan.graph import Edges
from weft.plan.model import Block, Node


class Missing(Exception):
    """Something that was not read is needed first."""


class Seen:
    """A run and those of its steps that were read or made."""

    def __init__(self, run: Held, compiled: Compiled) -> None:
        self.run = run
        self.compiled = compiled
        self.wanted: dict[Place, bool] = {}
        """Steps to read, and whether with their output."""
        self.wanted_ids: set[str] = set()
        self.wanted_lists: set[Place] = set()
        """Nodes with foreach whose elements' outputs are to be read, all of them."""
        self._steps: dict[Place, Step] = {}
        self._by_id: dict[str, Step] = {}
        self._none: set[Place] = set()
        self._lists: dict[Place, dict[int, Any]] = {}
        self._blocks: dict[str, Block] = {}
        self._bare: dict[str, Scope] = {}
        """Frame → what is seen in it where no node is named."""
        self._about = {"id": run.id, "name": run.name, "scheduled_time": run.logical_date.isoformat()}

    def know(self, step: Step) -> None:
        """A step was read. What we have changed is not forgotten: only its output may be new."""
        known = self._steps.get(step.place)
        if known is None:
            self._steps[step.place] = self._by_id[step.id] = step
        elif step.whole and not known.whole:
            known.output, known.whole = step.output, True

    def known(self, step: Step) -> Step:
        """The same step as it is known here."""
        self.know(step)
        return self._steps[step.place]

    def by_id(self, id: str) -> Step:
        return self._by_id[id]

    def at(self, place: Place) -> Step:
        return self._steps[place]

    def edges(self, frame: str) -> Edges:
        """Those of the block that was opened there."""
        return self.compiled.edges[self._block_of(frame).name]

    def not_there(self, place: Place) -> None:
        """It was looked for and is not there."""
        if place not in self._steps:
            self._none.add(place)

    def know_elements(self, place: Place, outputs: dict[int, Any]) -> None:
        """The outputs of a foreach's elements were read."""
        self._lists[place] = outputs

    def _gathered(self, whole: Step) -> list[Any]:
        """The outputs of all elements, in their order: what ended just now, and the rest as it was read. Not as steps:
        of a hundred thousand, these would take ten times the room.
        """
        here = {}
        for number in range(whole.parts):
            step = self._steps.get(Place(whole.frame, whole.node, number))
            if step is not None and step.whole and step.state in ENDED:
                here[number] = step.output
        if len(here) == whole.parts:
            return list(here.values())
        if whole.place not in self._lists:
            self.wanted_lists.add(whole.place)
            raise Missing
        read = self._lists.pop(whole.place)
        return [here[number] if number in here else read.get(number) for number in range(whole.parts)]

    def _scope(self, frame: str, names: frozenset[str]) -> Scope:
        """What is seen in a block, as far as it is named."""
        if not names and frame in self._bare:
            return self._bare[frame]
        block = self._block_of(frame)
        own = self.compiled.nodes[block.name]
        mine = [Place(frame, name) for name in names if name in own]
        nodes = {one.node: Known(one.state, one.output, one.error) for one in self._all(mine) if one.state in ENDED}
        holder = self._holder(frame)
        if isinstance(holder, Held):
            scope = Scope(params=holder.params, nodes=nodes, run=self._about)
        else:
            rest = frozenset(name for name in names if name not in own)
            outer = self._instance_scope(holder, rest) if block.within is not None else Scope(run=self._about)
            scope = Scope(params=holder.params or {}, nodes=nodes, run=self._about, outer=outer)
        if not names:
            self._bare[frame] = scope
        return scope

    def _instance_scope(self, step: Step, names: frozenset[str]) -> Scope:
        scope = self._scope(step.frame, names)
        if step.element < 0:
            return scope
        return scope.inside({self._node(step).item: step.item})

    def _defaults(self, block: Block) -> frozenset[str]:
        if block.within is None:
            return frozenset()
        return frozenset(name for one in block.params if one.default is not None for name in graph.outputs(one.default))

    # steps

    def _block_of(self, frame: str) -> Block:
        found = self._blocks.get(frame)
        if found is None:
            holder = self._holder(frame)
            name = holder.block if isinstance(holder, Step) else self.compiled.plan.entry
            assert name is not None
            found = self._blocks[frame] = self.compiled.blocks[name]
            if frame != self.run.id:
                self.compiled.note_frame(frame, found)
        return found

    def _block(self, step: Step) -> Block:
        return self._block_of(step.frame)

    def _prepared(self, step: Step) -> Prepared:
        return self.compiled.prepared[self._block_of(step.frame).name][step.node]

    def _node(self, step: Step) -> Node:
        return self.compiled.nodes[self._block(step).name][step.node]

    def _holder(self, frame: str) -> Step | Held:
        if frame == self.run.id:
            return self.run
        found = self._by_id.get(frame)
        if found is None:
            self.wanted_ids.add(frame)
            raise Missing
        return found

    def _get(self, place: Place) -> Step:
        return self._all([place], outputs=False)[0]

    def _all(self, places: list[Place], *, outputs: bool = True) -> list[Step]:
        """These steps; what was not read is asked for, all of it at once."""
        found, missing = [], False
        for place in places:
            step = self._steps.get(place)
            if step is not None and (step.whole or not outputs):
                found.append(step)
            elif place not in self._none:
                self.wanted[place] = self.wanted.get(place, False) or outputs
                missing = True
        if missing:
            raise Missing
        return found
