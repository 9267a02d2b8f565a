"""What fills each output of a block: later bodies before earlier ones, a block's own yields before its steps'."""

from weft.afl.scope import Key
from weft.plan.expression import Apply, Expression, Get, Output, Pluck


class Sources:
    """Expressions for each key, in the order they were found. The last one counts, if it comes to something."""

    def __init__(self) -> None:
        self._found: dict[Key, list[Expression]] = {}
        self._gathered: dict[Key, bool] = {}
        self._fallbacks: dict[str, list[Expression]] = {}

    def own(self, key: Key, expression: Expression, gathered: bool) -> None:
        """A yield."""
        key = self._same(key)
        self._found.setdefault(key, []).append(expression)
        self._gathered[key] = self._gathered.get(key, False) or gathered

    def take(self, node: str, keys: dict[Key, bool], path: str) -> None:
        """What a node's block yields."""
        for key, gathered in keys.items():
            self.own(key, Get(Output(node), key.said(path)), gathered)

    def take_each(self, node: str, keys: dict[Key, bool], path: str) -> None:
        """What the instances of a node with foreach yield: a list collects, of anything else the last counts."""
        for key, gathered in keys.items():
            plucked: Expression = Pluck(Output(node), key.said(path))
            if key.many:
                self.own(key, Apply("flatten", (plucked,)) if gathered else plucked, True)
            else:
                self.own(key, Apply("last", (plucked,)), gathered)

    def fallback(self, name: str, expression: Expression) -> None:
        """What fills an output of the owner if nothing is yielded; the first that is there counts."""
        self._fallbacks.setdefault(name, []).append(expression)

    def keys(self) -> dict[Key, bool]:
        """With each key, whether it is a list already."""
        return {key: self._gathered.get(key, False) for key in self._found}

    def outputs(self, path: str) -> dict[str, Expression]:
        """The outputs of a block of the owner `path`."""
        found: dict[str, Expression] = {}
        for key, expressions in self._found.items():
            fallbacks = self._fallbacks.get(key.field, []) if key.owner == path else []
            found[key.said(path)] = _first([*reversed(expressions), *fallbacks])
        for name, expressions in self._fallbacks.items():
            found.setdefault(name, _first(expressions))
        return found

    def _same(self, key: Key) -> Key:
        """The key under which this field is known already: whether it is a list is said by whoever declares it."""
        other = Key(key.owner, key.field, not key.many)
        return other if other in self._found else key


def _first(expressions: list[Expression]) -> Expression:
    return expressions[0] if len(expressions) == 1 else Apply("present", tuple(expressions))
