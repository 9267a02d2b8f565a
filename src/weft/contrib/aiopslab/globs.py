"""Lists of problems a worker takes, as patterns of SQL's `like`. Pure."""

from collections.abc import Iterable


def like(glob: str) -> str:
    """`*` is any text, `?` any character, everything else itself."""
    found = []
    for char in glob:
        match char:
            case "*":
                found.append("%")
            case "?":
                found.append("_")
            case "%" | "_" | "\\":
                found.append(f"\\{char}")
            case _:
                found.append(char)
    return "".join(found)


def patterns(globs: Iterable[str]) -> list[str]:
    return [like(one) for one in globs]
