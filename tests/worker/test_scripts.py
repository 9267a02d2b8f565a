"""Scripts of AFL programs: they compute, and can do nothing else, whatever they try."""

# ruff: noqa: E501

import asyncio
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from weft.base import json
from weft.sdk.context import About, Context
from weft.worker import script_main
from weft.worker.script import ScriptFailed, Scripts, ended


class Sink:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, _context: Context, *, level: str, message: str, fields: Any) -> None:
        self.lines.append(message)

    def progress(self, _context: Context, *, percent: int | None, message: str | None) -> None: ...


def context(sink: Sink) -> Context:
    about = json.dumps({"id": "t", "org": "o", "kind": "afl.script", "attempt": 1, "queue": "default", "token": ""})
    return Context(sink, _About(**json.loads(about)))


class _About(About):
    def __init__(self, **facts: Any) -> None:
        self.__dict__.update({"correlation_id": None, "trace_parent": None, "tags": None, **facts})


async def script(code: str, params: Any = None) -> Any:
    return await Scripts().run(context(Sink()), "n.F", code, params or {})


async def fails(code: str, params: Any = None) -> str:
    with pytest.raises(ScriptFailed) as caught:
        await script(code, params)
    return f"{caught.value.problem['type']}: {caught.value.problem['message']}"


COMPUTES: list[tuple[str, Any]] = [
    ("result = {'n': params['a'] + 1}", {"n": 3}),
    ("result['x'] = [p for p in range(3)]", {"x": [0, 1, 2]}),
    ("import math, re\nfrom collections import Counter\nresult['c'] = dict(Counter('aab'))\nresult['p'] = math.floor(math.pi)",
     {"c": {"a": 2, "b": 1}, "p": 3}),
    ("import urllib.parse\nimport collections.abc\nresult['q'] = urllib.parse.quote('a b')", {"q": "a%20b"}),
    ("import datetime\nresult['d'] = datetime.datetime.strptime('2026-01-15', '%Y-%m-%d').isoformat()", {"d": "2026-01-15T00:00:00"}),
    ("class A:\n    def __init__(self, n):\n        self.n = n\n    def twice(self):\n        return self.n * 2\nresult['n'] = A(4).twice()", {"n": 8}),
    ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nresult['x'] = P(3).x", {"x": 3}),
    ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    result['e'] = str(e)", {"e": "division by zero"}),
    ("import json\nresult = json.loads('{\"deep\": {\"a\": null}}')", {"deep": {"a": None}}),
    ("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nresult['f'] = f(10)", {"f": 55}),
    ("pass", {}),
]  # fmt: skip


async def test_a_script_computes_from_its_params_what_is_in_result() -> None:
    found = await asyncio.gather(*(script(code, {"a": 2}) for code, _ in COMPUTES))
    assert found == [expected for _, expected in COMPUTES]


FORBIDDEN: list[tuple[str, str]] = [
    ("import os", "a script cannot import 'os'"),
    ("import subprocess", "a script cannot import 'subprocess'"),
    ("from . import x", "nothing relative"),
    ("from math import *", "no *"),
    ("open('/etc/passwd')", "NameError: line 1 of the script: name 'open' is not defined"),
    ("eval('1')", "name 'eval' is not defined"),
    ("exec('1')", "name 'exec' is not defined"),
    ("globals()", "name 'globals' is not defined"),
    ("().__class__.__base__.__subclasses__()", "a script cannot use '__"),
    ("getattr((), '__class__')", "a script cannot use '__class__'"),
    ("__builtins__['open']", "a script cannot use '__builtins__'"),
    ("import json\njson.codecs", "has no attribute 'codecs'"),
    ("import random\nrandom._os", "has no attribute '_os'"),
    ("import operator\noperator.attrgetter('__class__')", "has no attribute 'attrgetter'"),
    ("import string\nstring.Formatter()", "has no attribute 'Formatter'"),
    ("(x for x in ()).gi_frame", "a script cannot use 'gi_frame'"),
    ("match 1:\n    case object(__class__=c):\n        pass", "a script cannot use '__class__'"),
    ("class C:\n    __match_args__ = ('__class__',)", "a script cannot use '__match_args__'"),
    ("try:\n    1/0\nexcept Exception as e:\n    e.__traceback__", "a script cannot use '__traceback__'"),
    ("result = 5", "`result` must be a dict"),
    ("result['x'] = {1, 2}", "not JSON serializable"),
    ("result['x'] = float('nan')", "Out of range float"),
    ("x = = 1", "SyntaxError: line 1 of the script: invalid syntax"),
    ("a = 1\nraise ValueError('no\\nway')", "ValueError: line 2 of the script: no\nway"),
    ("raise SystemExit(3)", "SystemExit: line 1 of the script: 3"),
    ("def f(): return f()\nf()", "RecursionError"),
    ("x = 'a' * 10_000_000_000", "MemoryError: line 1 of the script: the script needs more than 512 MiB of memory"),
    ("x = []\nwhile True:\n    x.append('a' * 1_000_000 + str(len(x)))", "MemoryError"),
]


async def test_what_a_script_may_not_do_is_told_with_its_line() -> None:
    said = await asyncio.gather(*(fails(code) for code, _ in FORBIDDEN))
    wrong = [(code, words, one) for (code, words), one in zip(FORBIDDEN, said, strict=True) if words not in one]
    assert not wrong


async def test_what_it_prints_is_logged() -> None:
    sink = Sink()
    await Scripts().run(context(sink), "n.F", "print('one', 2)\nprint('three')", {})
    assert sink.lines == ["one 2", "three"]


async def test_a_script_that_is_given_up_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a cancelled task, or one whose time is over."""
    monkeypatch.setattr("weft.worker.script.SECONDS", 1.0)
    before = time.process_time()
    said = await fails("while True: pass")
    assert "ScriptTimedOut: the script ran longer than 1.0 s" in said
    assert time.process_time() - before < 30  # the loop was not ours


async def test_a_flood_of_output_is_bounded() -> None:
    assert "ScriptTooLarge" in await fails("result['x'] = 'a' * 5_000_000")
    sink = Sink()
    await Scripts().run(context(sink), "n.F", "for i in range(100000): print('x' * 100)", {})
    assert sum(map(len, sink.lines)) <= 64 * 1024


async def test_a_process_whose_words_nobody_reads_ends_all_the_same() -> None:
    says = "import time; print('x' * 60_000, flush=True); time.sleep(600)"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", says, stdout=asyncio.subprocess.PIPE, limit=1024)
    # more has come than is read without being asked for
    while not child.stdout._paused:  # type: ignore[union-attr]
        await asyncio.sleep(0.01)
    child.kill()
    assert await asyncio.wait_for(ended(child), 30) == -signal.SIGKILL


async def test_the_process_has_nothing_even_for_code_that_gets_around_the_inner_wall() -> None:
    code = (
        "import json, os, socket, sys\n"
        f"sys.path.insert(0, {str(Path(script_main.__file__).parent)!r})\n"
        "import script_main\n"
        "script_main.shut()\n"
        "def tries(act):\n"
        "    try:\n        act()\n        return 'done'\n"
        "    except (OSError, MemoryError) as error:\n        return 'refused'\n"
        "said = [tries(lambda: os.write(os.open('/tmp/weft-script-wrote', os.O_WRONLY | os.O_CREAT), b'x')),\n"
        "        tries(lambda: bytearray(2**30)), tries(lambda: open('/proc/1/environ').read())]\n"
        "print(json.dumps([said, dict(os.environ).keys() <= {'LC_CTYPE', 'LANG'}]))\n"
    )
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", code, env={"LANG": "C.UTF-8"}, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await done.communicate()
    (wrote, allocated, _), bare = json.loads(said)
    assert (wrote, allocated, bare) == ("refused", "refused", True)
