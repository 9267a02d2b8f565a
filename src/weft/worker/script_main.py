"""The child process of a script: reads {code, params} from stdin, runs the code in a corner, answers on stdout.

It stands alone (only the standard library, started with `-I -S`) and lives for one script. Two walls are around the code.
The outer one is the system's: no environment, no network where the system allows to take it away, another account if
there is one to change to, limits on memory, time, files and processes. The inner one is the language's: few builtins, the
modules below and of those only what they are for, no way to the inside of objects.
"""

import ast
import builtins
import contextlib
import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import traceback
import types
from typing import Any

SECONDS = 30
MEMORY = 512 * 2**20
SAID = 64 * 1024
"""Characters of what it prints that are kept."""

MODULES = frozenset({
    "base64", "bisect", "calendar", "cmath", "collections", "collections.abc", "copy", "csv", "dataclasses", "datetime",
    "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "hmac", "html", "itertools", "json", "math",
    "numbers", "operator", "random", "re", "statistics", "string", "textwrap", "time", "typing", "unicodedata",
    "urllib.parse", "uuid",
})  # fmt: skip
_NOT = {
    "dataclasses": ("make_dataclass",), "functools": ("singledispatch", "singledispatchmethod"),
    "operator": ("attrgetter", "methodcaller"), "string": ("Formatter",), "typing": ("get_type_hints", "ForwardRef"),
}  # fmt: skip
"""What runs text or looks inside of objects."""
_LAZY = {"datetime": ("_strptime",), "time": ("_strptime",)}
"""What modules import while they are used, when it may be too late."""
_INSIDE = frozenset(name for names in _LAZY.values() for name in names)

_BUILTINS = (
    "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "classmethod", "complex",
    "dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "hash", "hex", "int", "isinstance",
    "issubclass", "iter", "len", "list", "map", "max", "memoryview", "min", "next", "object", "oct", "ord", "pow",
    "property", "range", "repr", "reversed", "round", "set", "slice", "sorted", "staticmethod", "str", "sum", "super",
    "tuple", "type", "zip", "None", "True", "False", "Ellipsis", "NotImplemented", "__build_class__",
)  # fmt: skip
_OPEN = frozenset({"__init__", "__name__", "__doc__", "__post_init__"})
_SHUT = frozenset({
    "tb_frame", "tb_next", "f_back", "f_builtins", "f_code", "f_globals", "f_locals", "gi_frame", "gi_code", "gi_yieldfrom",
    "cr_frame", "cr_code", "cr_await", "ag_frame", "ag_code", "ag_await", "mro",
})  # fmt: skip


class Forbidden(Exception):
    """What a script may not do."""


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    said = Said()
    try:
        code, wanted = prepare(asked["code"])
        modules = {name: shown(name) for name in wanted}
        shut()
        told: dict[str, Any] = {"result": run(code, asked["params"], modules, said)}
        told["said"] = said.text
        text = json.dumps(told, allow_nan=False).encode()
    except BaseException as error:  # noqa: BLE001 - user code; this process ends with it
        text = json.dumps({"error": problem(error), "said": said.text}).encode()
    view = memoryview(text)
    while view:
        view = view[os.write(answer, view) :]
    os._exit(0)


def prepare(code: str) -> tuple[types.CodeType, set[str]]:
    """The code, and the modules it imports; Forbidden if it reaches for what is not its own."""
    tree = ast.parse(code, "script")
    wanted: set[str] = set()
    for one in ast.walk(tree):
        names: list[str] = []
        match one:
            case ast.Attribute(attr=name):
                names = [name]
            case ast.Name(id=name):
                names = [name]
            case ast.MatchClass(kwd_attrs=attributes):
                names = attributes
            case ast.Import(names=imported):
                wanted |= {allowed(alias.name) for alias in imported}
            case ast.ImportFrom(module=module, level=level, names=imported):
                if level or any(alias.name == "*" for alias in imported):
                    raise Forbidden("a script imports modules and names of theirs, nothing relative and no *")
                wanted.add(allowed(module or ""))
                names = [alias.name for alias in imported]
        for name in names:
            check(name)
    return compile(tree, "script", "exec"), wanted


def allowed(name: str) -> str:
    if name not in MODULES:
        raise Forbidden(f"a script cannot import {name!r}; it can import {', '.join(sorted(MODULES))}")
    return name


def check(name: str) -> str:
    if name in _SHUT or (name.startswith("__") and name not in _OPEN) or name.startswith("_weft"):
        raise Forbidden(f"a script cannot use {name!r}")
    return name


def shown(name: str) -> types.ModuleType:
    """A module as scripts see it: what it offers, without the modules it uses itself."""
    module = importlib.import_module(name)
    for lazy in _LAZY.get(name, ()):
        importlib.import_module(lazy)
    made = types.ModuleType(name)
    for key in getattr(module, "__all__", None) or dir(module):
        value = getattr(module, key, None)
        if not key.startswith("_") and not isinstance(value, types.ModuleType) and key not in _NOT.get(name, ()):
            setattr(made, key, value)
    return made


def shut() -> None:
    """The outer wall. What the system does not offer is left out."""
    signal.alarm(SECONDS + 1)
    limits = {
        resource.RLIMIT_CPU: SECONDS, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: 16,
        resource.RLIMIT_AS: MEMORY,
    }  # fmt: skip
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.prctl(38, 1, 0, 0, 0)  # no new privileges
        # a network of its own, with nothing in it: as root, or as root of a user namespace of its own
        if library.unshare(0x40000000) != 0:
            library.unshare(0x10000000 | 0x40000000)
    if os.getuid() == 0:
        with contextlib.suppress(OSError):
            os.chdir("/")
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            limits[resource.RLIMIT_NPROC] = 0
    for what, most in limits.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))
    with contextlib.suppress(OSError):
        os.nice(10)


def run(code: types.CodeType, params: Any, modules: dict[str, types.ModuleType], said: "Said") -> Any:
    names: dict[str, Any] = {"__builtins__": corner(modules, said), "__name__": "script", "params": params, "result": {}}
    exec(code, names)  # nosec B102 - that is what this process is for
    result = names.get("result")
    if not isinstance(result, dict):
        raise Forbidden(f"`result` must be a dict of what the script gives back, not {type(result).__name__}")
    return result


def corner(modules: dict[str, types.ModuleType], said: "Said") -> dict[str, Any]:
    found = {name: getattr(builtins, name) for name in _BUILTINS}
    found |= {name: one for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)}

    def bring(name: str, _globals: Any = None, _locals: Any = None, fromlist: Any = (), level: int = 0) -> types.ModuleType:
        if name in _INSIDE:
            return sys.modules[name]
        if fromlist or "." not in name:
            return modules[name]
        top, _, rest = name.partition(".")
        made = modules.get(top) or types.ModuleType(top)
        setattr(made, rest, modules[name])
        return made

    def gets(thing: Any, name: str, *default: Any) -> Any:
        return getattr(thing, check(name), *default)

    def has(thing: Any, name: str) -> bool:
        return hasattr(thing, check(name))

    def sets(thing: Any, name: str, value: Any) -> None:
        setattr(thing, check(name), value)

    def prints(*values: Any, sep: str | None = " ", end: str | None = "\n", **_: Any) -> None:
        said.add((" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end))

    return {**found, "__import__": bring, "getattr": gets, "hasattr": has, "setattr": sets, "print": prints}


class Said:
    """What the script printed, as far as it is kept."""

    def __init__(self) -> None:
        self.text = ""

    def add(self, text: str) -> None:
        self.text += text[: max(0, SAID - len(self.text))]


def problem(error: BaseException) -> dict[str, Any]:
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == "script"]
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else lines[-1] if lines else None
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:  # noqa: BLE001 - user code, too
        message = "(its message cannot be shown)"
    if isinstance(error, MemoryError):
        message = message or f"the script needs more than {MEMORY // 2**20} MiB of memory"
    return {"type": type(error).__name__, "message": message, "line": line}


if __name__ == "__main__":
    main()
