"""The plans by hand of tests/plan are run here too, on a real database."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "plan"))
