"""What is not in the code at all: code from data, SQL put together from texts, and ways out past the guard."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import syntax

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "weft"

MODULES = {
    "pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle", "code", "codeop", "xmlrpc", "telnetlib",
    "ftplib", "imp",
}  # fmt: skip
"""Which turn data into code, or speak to others without a guard."""

CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
ATTRIBUTES = {
    "yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system", "os.popen", "subprocess.getoutput",
    "subprocess.getstatusoutput", "builtins.eval", "builtins.exec",
}  # fmt: skip

SCRIPTS = {"worker/script_main.py"}
"""The one file that runs scripts inside a restricted child process will stand here."""

OUTGOING_MODULES = {
    "httpx2", "httpx", "requests", "aiohttp", "urllib3", "http.client", "urllib.request", "smtplib", "poplib", "imaplib",
    "nntplib", "websockets", "websocket", "paramiko", "boto3", "botocore",
}  # fmt: skip
OUTGOING_CALLS = {
    "open_connection", "create_connection", "create_datagram_endpoint", "urlopen", "sock_connect", "connect_ex",
}  # fmt: skip
GUARDED = {"net/http.py"}
"""Where URLs that others wrote are called, through the guard."""
CHOSEN = {"net/session.py": "a server that whoever runs the program named", "net/mounted.py": "this very process",
          "client/live.py": "a server that whoever runs the program named"}  # fmt: skip

RUNS = {"execute", "executemany", "copy", "rows", "row", "value", "run", "lean"}
"""Methods whose first argument is SQL."""


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def place(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, _name(node.func)


def _name(given: ast.expr) -> str:
    """As `ast.unparse` has it, which takes twenty times as long for most of what is called."""
    match given:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name() | ast.Attribute() as value, attr=name):
            return f"{_name(value)}.{name}"
    return ast.unparse(given)


def hazards(tree: ast.AST) -> Iterator[str]:
    """Ways from data to code."""
    for name in imports(tree):
        if name.partition(".")[0] in MODULES or name in ATTRIBUTES:
            yield f"imports {name}"
    for call, name in calls(tree):
        if name in CALLS or name in ATTRIBUTES:
            yield f"calls {name}"
        if any(one.arg == "shell" and not (isinstance(one.value, ast.Constant) and one.value.value is False)
               for one in call.keywords):  # fmt: skip
            yield f"{name} with a shell"


def built_sql(tree: ast.AST) -> Iterator[str]:
    """SQL that is not a text as it stands, a named statement, or composed by psycopg.sql."""
    built = {
        target.id for node in ast.walk(tree) if isinstance(node, ast.Assign) and _is_built(node.value)
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    for call, name in calls(tree):
        if isinstance(call.func, ast.Attribute) and call.func.attr in RUNS and call.args:
            given = call.args[0]
            if _is_built(given) or (isinstance(given, ast.Name) and given.id in built):
                yield f"line {call.lineno}: {name}({ast.unparse(given)[:60]}…)"


def _is_built(given: ast.expr) -> bool:
    match given:
        case ast.JoinedStr(values=values):
            return any(isinstance(part, ast.FormattedValue) for part in values)
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            return not (_is_text(left) and _is_text(right))
        case ast.Call(func=ast.Attribute(attr="format" | "replace" | "join", value=value)):
            return not _is_composed(value)
        case ast.Call(func=ast.Attribute(attr="encode", value=value)):
            return _is_built(value)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_built(body) or _is_built(orelse)
    return False


def _is_text(given: ast.expr) -> bool:
    return isinstance(given, ast.Constant) and isinstance(given.value, str)


def _is_composed(value: ast.expr) -> bool:
    """`sql.SQL("listen {}").format(sql.Identifier(name))`: psycopg quotes what is put in."""
    return isinstance(value, ast.Call) and ast.unparse(value.func) in ("sql.SQL", "SQL")


@pytest.mark.parametrize("path", modules(), ids=place)
def test_no_data_becomes_code_and_no_sql_is_put_together_from_texts(path: Path) -> None:
    tree = syntax.tree(path)
    assert place(path) in SCRIPTS or list(hazards(tree)) == []
    found = list(built_sql(tree))
    assert found == [], "write a named statement with parameters; for an identifier use psycopg.sql"


def test_only_the_guarded_module_calls_out() -> None:
    users: dict[str, set[str]] = {}
    for path in modules():
        tree = syntax.tree(path)
        found = {name for name in imports(tree) if any(f"{name}.".startswith(f"{one}.") for one in OUTGOING_MODULES)}
        found |= {name for _, name in calls(tree) if name.rpartition(".")[2] in OUTGOING_CALLS}
        if found:
            users[place(path)] = found
    assert set(users) == GUARDED | set(CHOSEN), "call others through weft.net.http, which asks the guard"


def test_the_guarded_module_asks_the_guard_before_every_exchange() -> None:
    tree = ast.parse((SOURCE / "net" / "http.py").read_text())
    functions = {node.name: ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    opens = [name for name, text in functions.items() if "AsyncHTTPTransport(" in text or "AsyncClient(" in text]
    assert opens == ["_exchange"]
    assert [name for name, text in functions.items() if "_exchange(" in text and name != "_exchange"] == ["_send"]
    assert [name for name, text in functions.items() if "_send(" in text and name != "_send"] == ["call"]
    assert "guard.check(" in functions["call"] and "guard.check(" in functions["_follow"]


BAD = {
    "eval('1')": hazards, "import pickle": hazards, "from pickle import loads": hazards, "exec(x)": hazards,
    "yaml.load(x)": hazards, "subprocess.run(x, shell=True)": hazards, "os.system(x)": hazards,
    "tx.run(f'select {x}')": built_sql, "tx.rows('select ' + x)": built_sql, "c.execute('select %s' % x)": built_sql,
    "c.execute('select {}'.format(x))": built_sql, "c.execute(f'drop {x}'.encode())": built_sql,
    "c.execute(' '.join(parts))": built_sql, "text = f'select {x}'\ntx.run(text)": built_sql,
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_the_walk_finds_what_it_looks_for(text: str) -> None:
    assert list(BAD[text](ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    ["tx.run(SQL.claim, {'a': 1})", "c.execute('select 1')", "c.execute(sql.SQL('listen {}').format(sql.Identifier(x)))",
     "evaluate(x)", "subprocess.run(['ls'], shell=False)"],
)  # fmt: skip
def test_and_nothing_else(text: str) -> None:
    assert not list(hazards(ast.parse(text))) and not list(built_sql(ast.parse(text)))
