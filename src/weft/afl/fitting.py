"""Types: whether a value fits what it is for, and what operators make of them. What is not known fits everything."""

from weft.afl.program import ANY

NUMBERS = ("Int", "Long", "Double")
_DYNAMIC = ("Json", ANY)

NULL = "null"
"""The type of `null` itself."""


def verdict(wanted: str, given: str) -> str:
    """The rule that is broken if a value of one type is given for another; empty if none is."""
    if wanted in _DYNAMIC or given in _DYNAMIC or wanted == given:
        return ""
    if "|" in given and not given.startswith("["):
        return next((rule for one in given.split("|") if (rule := verdict(wanted, one))), "")
    if wanted.startswith("[") and given.startswith("["):
        return verdict(wanted[1:-1], given[1:-1])
    if wanted in NUMBERS and given in NUMBERS:
        return "narrowing" if given == "Double" else ""
    if wanted == "String" and is_record(given):
        return "record-as-text"
    return "type-mismatch"


def is_record(type_: str) -> bool:
    return not type_.startswith("[") and type_ not in (*NUMBERS, *_DYNAMIC, "String", "Boolean", NULL)


def called(type_: str) -> str:
    """A type in a message."""
    return {ANY: "Json", NULL: "null"}.get(type_, type_)


def hint(wanted: str, given: str) -> str:
    """How to mend it, if that is known."""
    if wanted == "String" and given in (*NUMBERS, "Boolean"):
        return 'make a text of it: "" ++ value'
    if wanted.startswith("[") and not given.startswith("["):
        return "put it into brackets: [value]"
    if given == "String" and wanted in NUMBERS:
        return "leave out the quotes"
    if given == "String" and wanted == "Boolean":
        return "write true or false without quotes"
    if given == NULL:
        return "give a value, or declare the param as Json"
    return ""


def arithmetic(operator: str, left: str, right: str) -> str | None:
    """What comes out of an arithmetic operator; None if it cannot take these."""
    if any(one not in NUMBERS and one not in _DYNAMIC for one in (left, right)):
        return None
    if operator == "/":
        return "Double"
    if "Double" in (left, right):
        return "Double"
    return ANY if left in _DYNAMIC or right in _DYNAMIC else "Long"


def comparable(operator: str, left: str, right: str) -> bool:
    """Whether two can be compared by size; equality takes anything."""
    if operator in ("==", "!=") or left in _DYNAMIC or right in _DYNAMIC:
        return operator in ("==", "!=") or all(one in (*NUMBERS, *_DYNAMIC, "String") for one in (left, right))
    return (left in NUMBERS and right in NUMBERS) or (left == right == "String")


def boolean(type_: str) -> bool:
    return type_ == "Boolean" or type_ in _DYNAMIC


def common(types: list[str]) -> str:
    """The type of the elements of a list."""
    known = list(dict.fromkeys(types))
    if not known:
        return ANY
    if len(known) == 1:
        return known[0]
    if all(one in NUMBERS for one in known):
        return "Double" if "Double" in known else "Long"
    # only told where the list itself is: of what comes out of it nothing is known
    return "Json" if any(one in _DYNAMIC or one.startswith("[") for one in known) else "|".join(known)


def lists(type_: str) -> int:
    """How many lists a type has inside each other: a list with fewer than an output is an element of it."""
    return len(type_) - len(type_.lstrip("["))


def single(type_: str) -> str:
    """The type of one element of a list of elements of these types."""
    return ANY if "|" in type_ else type_


def planned(type_: str) -> str:
    """A type in the words of a plan."""
    if type_.startswith("["):
        return f"[{planned(type_[1:-1])}]"
    return {"String": "string", "Int": "integer", "Long": "integer", "Double": "number", "Boolean": "boolean",
            "Json": "any", ANY: "any"}.get(type_, type_)  # fmt: skip
