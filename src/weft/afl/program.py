"""All files of a program together: what is declared where, and what a name means from a place."""

import functools

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
        self._used: dict[str, dict[str, Space]] = {}
        self._named: dict[str, dict[str, list[str]]] = {}
        """Of each namespace, what it uses by the last part of the name."""
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
            if found := self._imported(name, own):
                return found
        return self._short.get(name, [])

    def _imported(self, name: str, own: Space) -> list[Declared]:
        """What a namespace uses of that name; looked up from whichever side has less."""
        spaces, anywhere = self._spaces_used(own.name), self._short.get(name, [])
        if len(anywhere) < len(spaces):
            declaring = {one.namespace for one in anywhere}
            used = {space: self.spaces[space].declared[name] for space in declaring if space in spaces}
            if len(used) > 1:
                used = {space: used[space] for space in spaces if space in used}
        else:
            used = {space.name: space.declared[name] for space in spaces.values() if name in space.declared}
        if own.name not in self._named:
            named = self._named[own.name] = {}
            for _, use in own.uses:
                named.setdefault(use.name.text.rpartition(".")[2], []).append(use.name.text)
        for full in self._named[own.name].get(name, ()):
            if exact := self._exact(full):
                used[full] = exact
        return list(used.values())

    def _exact(self, full: str) -> Declared | None:
        prefix, _, short = full.rpartition(".")
        return self.spaces[prefix].declared.get(short) if prefix in self.spaces else None

    def usable(self, full: str) -> bool:
        """Whether `use` may name this: a namespace, or something in one."""
        return full in self.spaces or self._exact(full) is not None

    def used(self, namespace: str) -> list[Space]:
        """The namespaces that one uses."""
        return list(self._spaces_used(namespace).values())

    def _spaces_used(self, namespace: str) -> dict[str, Space]:
        if namespace not in self._used:
            own = self.spaces.get(namespace)
            names = [use.name.text for _, use in own.uses] if own else []
            self._used[namespace] = {name: self.spaces[name] for name in names if name in self.spaces}
        return self._used[namespace]

    def implicits(self, callee: Declaration, namespace: str) -> list[Implicit]:
        """Default arguments for calls of a facet from a namespace: its own, those it uses, then the facet's own."""
        spaces = self._implicits.get(id(callee))
        if not spaces:
            return []
        used = self._spaces_used(namespace)
        order = used if len(used) < len(spaces) else [name for name in spaces if name in used]
        names = dict.fromkeys([namespace, *order, callee.namespace])
        return [one for name in names for one in spaces.get(name, ())]

    @functools.cached_property
    def _implicits(self) -> dict[int, dict[str, list[Implicit]]]:
        """Of each facet, by the namespaces they stand in."""
        found: dict[int, dict[str, list[Implicit]]] = {}
        for space in self.spaces.values():
            for one in space.implicits:
                targets = self.find(one.call.target.text, one.namespace)
                if len(targets) == 1:
                    found.setdefault(id(targets[0]), {}).setdefault(space.name, []).append(one)
        return found

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
