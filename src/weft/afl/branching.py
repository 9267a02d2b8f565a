"""Cases: there is one for everything else, and it is the last."""

from weft.afl.syntax import Case
from weft.afl.yielding import Yielding


class Branching(Yielding):
    def cases(self, cases: list[Case], word: str, start: int) -> None:
        defaults = [number for number, one in enumerate(cases) if one.condition is None]
        if not defaults:
            message = f"{word} has no case for everything else"
            self.tell("no-default-case", message, start, start + len(word), "add case _ => { … } as the last one")
        for number in defaults:
            if number != len(cases) - 1:
                one = cases[number]
                message = "the case for everything else is not the last"
                self.tell("default-not-last", message, one.start, one.start + len("case _"), "move it to the end")
