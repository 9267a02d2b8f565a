"""The house keeps its shape: who may import whom, how long a file may be, what a name may not be called."""

import ast
import functools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import order
import syntax

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "weft"

CEILING = 400
PURE = {"base", "cron", "plan", "afl", "dagfile", "sdk"}
NOT_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}
DRIVERS = {"psycopg", "psycopg_pool", "sqlalchemy", "asyncpg", "psycopg2"}

BROAD = {
    "api/server.py": "around a request: one that breaks is logged and answered with 500",
    "upkeep/chore.py": "around a chore: one that fails must not stop the others",
    "upkeep/sight.py": "around the look for all chores: without it none is told of anything",
    "cluster/pulse.py": "around the listeners of a beat, which are other people's code",
    "contrib/aiopslab/child.py": "around the code of a problem, in its own process",
    "flows/advance.py": "around the course of one run: one that breaks must not take the others of its batch down",
    "live/asking.py": "around user code: a live query that breaks is told to whoever watches it",
    "worker/logs.py": "around what user code logs: formatting it must not fail the task",
    "worker/child_main.py": "around user code in a child process",
    "worker/ending.py": "around the text of user code's own errors",
    "worker/script_main.py": "around a script of an AFL program, in its own process",
    "worker/stepping.py": "around steps, which are user code",
    "worker/keeper.py": "around what many asked for at once: whoever asked for what failed is told",
    "sdk/replayer.py": "around workflows, which are user code: what they raise fails their run",
    "worker/runner.py": "around user code: whatever it raises is an outcome",
}


def _files(*folders: str, endings: tuple[str, ...]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            parts = path.relative_to(ROOT).parts
            hidden = any(part.startswith(".") or part in ("node_modules", "dist", "__pycache__") for part in parts)
            if path.suffix in endings and path.is_file() and not hidden:
                yield path


def _modules() -> list[Path]:
    return list(_files("src/weft", endings=(".py",)))


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    """Every module a file imports, anywhere in it, type-checking blocks included."""
    found = set()
    for node in ast.walk(syntax.tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found.add(str(node.module))
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def _folder(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def test_no_file_is_longer_than_the_ceiling() -> None:
    endings = (".py", ".sql", ".ts", ".tsx")
    found = {str(path.relative_to(ROOT)): len(path.read_text().splitlines())
             for path in _files("src", "tests", "bench", "ui", "examples", endings=endings)}  # fmt: skip
    assert len(found) > 100
    assert {name: lines for name, lines in found.items() if lines > CEILING} == {}


def test_a_folders_init_holds_only_its_docstring() -> None:
    for path in SOURCE.rglob("__init__.py"):
        if path.parent != SOURCE:
            body = syntax.tree(path).body
            assert len(body) == 1 and isinstance(body[0], ast.Expr), f"{path} holds more than a docstring"
            assert ast.get_docstring(syntax.tree(path)), f"{path} does not say what the folder is for"


def test_every_module_says_what_it_is_for() -> None:
    assert [path for path in _modules() if not ast.get_docstring(syntax.tree(path))] == []


def test_only_db_knows_the_driver() -> None:
    offenders = {
        str(path.relative_to(SOURCE)): sorted(known)
        for path in _modules()
        if _folder(path) != "db" and (known := {name.partition(".")[0] for name in _imports(path)} & DRIVERS)
    }
    assert offenders == {}


def test_only_net_knows_the_http_client() -> None:
    users = [path for path in _modules() if "httpx2" in {name.partition(".")[0] for name in _imports(path)}]
    assert {_folder(path) for path in users} == {"net"}


def test_pure_folders_import_only_pure_folders() -> None:
    for path in _modules():
        if _folder(path) in PURE:
            ours = {name.split(".")[1] for name in _imports(path) if name.startswith("weft.")}
            assert ours <= PURE, f"{path} is pure and imports {ours - PURE}"


def test_nothing_is_named_after_nothing() -> None:
    assert [path for path in _files("src", "tests", "bench", endings=(".py",)) if path.stem in NOT_NAMES] == []


@functools.cache
def _broad_handlers(path: Path) -> list[ast.ExceptHandler]:
    """`except Exception`, `except BaseException` and bare `except` that do not raise again."""
    found = []
    for node in ast.walk(syntax.tree(path)):
        if isinstance(node, ast.ExceptHandler):
            names = {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)} if node.type else {"Exception"}
            raises = any(isinstance(part, ast.Raise) and part.exc is None for part in ast.walk(node))
            if names & {"Exception", "BaseException"} and not raises:
                found.append(node)
    return found


def test_everything_is_caught_only_around_other_peoples_code() -> None:
    found = {str(path.relative_to(SOURCE)) for path in _modules() if _broad_handlers(path)}
    assert found <= set(BROAD), f"{found - set(BROAD)} catch everything: name the errors, or give a reason here"


def test_every_exemption_from_catching_by_name_is_used() -> None:
    for name in BROAD:
        path = SOURCE / name
        assert path.exists() and _broad_handlers(path), f"{name} needs no exemption"


def test_no_folder_imports_what_is_above_it() -> None:
    command = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.fail("import-linter is not installed: pip install --group dev")
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_folder_is_a_package_so_that_its_sql_is_found() -> None:
    folders = {path.parent for path in _files("src/weft", endings=(".py",))}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_long_files_that_come_first_are_there() -> None:
    assert [name for name in order.LONG if not (ROOT / "tests" / name).is_file()] == []
