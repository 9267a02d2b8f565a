"""All files of a program together: what is declared where, and what a name means from a place."""

import msgspec

from weft.afl.lexer import TYPES
from weft.afl.syntax import Declaration, File, Implicit, Name, Namespace, Schema, Use

Declared = Declaration | Schema

ANY = "?"
"""The type of what is not known."""


class Space(msgspec.Struct):
    """A namespace, all its openings together."""

    name: str
    openings: list[tuple[File, Namespace]] = []
    declared: dict[str, Declared] = {}
    implicits: list[Implicit] = []
    uses: list[tuple[File, Use]] = []


class Program:
    def __init__(self, files: list[File]) -> None:
        self.files = files
        self.spaces: dict[str, Space] = {}
        self._short: dict[str, list[Declared]] = {}
        self._found: dict[tuple[str, str], list[Declared]] = {}
        for file in files:
            for opening in file.namespaces:
                self._enter(file, opening)

    def _enter(self, file: File, opening: Namespace) -> None:
        space = self.spaces.setdefault(opening.name.text, Space(opening.name.text))
        space.openings.append((file, opening))
        space.implicits += opening.implicits
        space.uses += [(file, use) for use in opening.uses]
        members: list[Declared] = [*opening.schemas, *opening.declarations]
        for one in members:
            if space.declared.setdefault(one.name.text, one) is one:
                self._short.setdefault(one.name.text, []).append(one)

    def declarations(self) -> list[Declaration]:
        """Every facet and workflow, once, in the order they are written."""
        return [one for space in self.spaces.values() for one in space.declared.values() if isinstance(one, Declaration)]

    def schemas(self) -> list[Schema]:
        return [one for space in self.spaces.values() for one in space.declared.values() if isinstance(one, Schema)]

    def find(self, name: str, namespace: str) -> list[Declared]:
        """What a name means: nothing, one thing, or several if it is ambiguous.

        The own namespace, then what is used, then the only one of that name anywhere.
        """
        key = (namespace, name)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(name, namespace)
        return found

    def _find(self, name: str, namespace: str) -> list[Declared]:
        if "." in name:
            for full in (name, f"{namespace}.{name}"):
                prefix, _, short = full.rpartition(".")
                if prefix in self.spaces and short in self.spaces[prefix].declared:
                    return [self.spaces[prefix].declared[short]]
            return []
        own = self.spaces.get(namespace)
        if own is not None:
            if name in own.declared:
                return [own.declared[name]]
            used: dict[str, Declared] = {}
            for space in self.used(namespace):
                if name in space.declared:
                    used[space.name] = space.declared[name]
            for _, use in own.uses:
                if use.name.text.rpartition(".")[2] == name and (exact := self._exact(use.name.text)):
                    used[use.name.text] = exact
            if used:
                return list(used.values())
        return self._short.get(name, [])

    def _exact(self, full: str) -> Declared | None:
        prefix, _, short = full.rpartition(".")
        return self.spaces[prefix].declared.get(short) if prefix in self.spaces else None

    def usable(self, full: str) -> bool:
        """Whether `use` may name this: a namespace, or something in one."""
        return full in self.spaces or self._exact(full) is not None

    def used(self, namespace: str) -> list[Space]:
        """The namespaces that one uses."""
        own = self.spaces.get(namespace)
        names = dict.fromkeys(use.name.text for _, use in own.uses) if own else {}
        return [self.spaces[name] for name in names if name in self.spaces]

    def implicits(self, callee: Declaration, namespace: str) -> list[Implicit]:
        """Default arguments for calls of a facet from a namespace: its own, those it uses, then the facet's own."""
        spaces = [self.spaces.get(namespace), *self.used(namespace), self.spaces.get(callee.namespace)]
        found: dict[int, Implicit] = {}
        for space in spaces:
            for one in space.implicits if space else ():
                if self.find(one.call.target.text, one.namespace) == [callee]:
                    found[id(one)] = one
        return list(found.values())

    def has_implicits(self) -> bool:
        return any(space.implicits for space in self.spaces.values())

    def names(self, namespace: str) -> list[str]:
        """Names that can be said from a namespace: for hints and completion."""
        own = self.spaces.get(namespace)
        near = [*(own.declared if own else ()), *(name for space in self.used(namespace) for name in space.declared)]
        return list(dict.fromkeys([*near, *self._short]))

    def type(self, name: str, lists: int, namespace: str) -> tuple[str, list[Declared]]:
        """A type as it is kept: `String`, `[Int]`, a schema's qualified name; and what the name stands for."""
        if name in TYPES:
            inner, found = name, list[Declared]()
        else:
            found = [one for one in self.find(name, namespace) if isinstance(one, Schema)]
            inner = found[0].qualified if len(found) == 1 else ANY
        return "[" * lists + inner + "]" * lists, found


def at(name: Name) -> tuple[int, int]:
    return name.start, name.end
