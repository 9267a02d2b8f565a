"""What is wrong with a definition, and the path to it: collected, so that all of it is told at once."""

from typing import NamedTuple

Path = tuple[str | int, ...]


class Problem(NamedTuple):
    path: Path
    message: str


class Problems(Exception):
    """All that was found."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems
