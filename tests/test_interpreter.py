"""The Python that `make` takes: of the version that `python3` has, and one that a .venv can be made with."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "interpreter.sh"
VERSION = "import sys; print(sys.version_info[:2])"
WITHOUT = "#!/bin/sh\nexit 1\n"


def said(*line: str, path: str | None = None) -> str:
    env = None if path is None else {"PATH": path}
    return subprocess.run(line, env=env, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_it_has_the_version_of_python3_and_can_make_environments() -> None:
    found = said("sh", str(SCRIPT))
    assert said(found, "-c", VERSION) == said("python3", "-c", VERSION)
    assert said(found, "-c", "import ensurepip, venv") == ""


def test_where_python3_says_nothing_it_is_python3_whose_error_make_shows(tmp_path: Path) -> None:
    broken = tmp_path / "python3"
    broken.write_text(WITHOUT)
    broken.chmod(0o755)
    assert said("/bin/sh", str(SCRIPT), path=str(tmp_path)) == "python3"
