"""What is written in a module, parsed once for all tests of a process that look at it."""

import ast
import functools
from pathlib import Path


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())
