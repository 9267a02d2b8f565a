"""Random programs that mostly mean something: every construct inside every other, so that what passes the checks can be run."""

# ruff: noqa: E501

import random

DECLARATIONS = """
    schema C { a: Int, b: Json }
    facet M(label: String = "m", level: Int = 1)
    facet R(a: Int, b: Json = 1) => (r: Json = 2)
    facet L(a: Int, b: Json = $.a) => (r: Json = $.b)
    event facet E(a: Int, b: Json = 3) => (r: Json, s: Json)
    event facet D(a: Int, b: Json = $.a + 1) => (r: Json, s: Json) with M(label = "d" ++ $.a)
    event facet X(a: Int, b: Json = 3) => (r: Json, s: Json) with M() andThen { x = E(a = 1, b = $.b) yield X(s = x.r) }
    event facet P(a: Int, b: Json = 3) => (r: Json, s: Json) prompt { template "{a} {b}" }
    event facet T(a: Int, b: Json = 3) => (r: Json, s: Json) script { result["r"] = params["a"]; result["s"] = 1 }
    facet S(a: Int, b: Json = 3) => (r: Json, s: Json) script { result["r"] = params["a"]; result["extra"] = 5 }
    facet B(a: Int, b: Json = 4) => (r: Json, s: Json = 6) andThen { e = E(a = $.a) yield B(r = e.r) }
    facet K(a: Int, b: Json = 4) => (r: Json, s: Json) andThen { e = E(a = $.a) yield K(r = e.r) } catch { yield K(r = error) }
    workflow V(a: Int, b: Json = 4) => (r: Json, s: Json) andThen { e = E(a = $.a) yield V(r = e.r) }
"""
CALLEES = {
    "C": ("a", "b"), "R": ("a", "b", "r"), "L": ("a", "b", "r"), "E": ("a", "b", "r", "s"), "D": ("a", "b", "r", "s"),
    "X": ("a", "b", "r", "s"), "P": ("a", "b", "r", "s"), "T": ("a", "b", "r", "s"), "S": ("a", "b", "r", "s", "extra"),
    "B": ("a", "b", "r", "s"), "K": ("a", "b", "r", "s"), "V": ("a", "b", "r", "s"),
}  # fmt: skip
RETURNS = {"C": [], "R": ["r"], "L": ["r"], **{name: ["r", "s"] for name in "EDXPTSBKV"}}


class Writer:
    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.count = 0
        self.inner: list[tuple[str, str]] = []

    def program(self) -> str:
        bodies = " ".join(self.body([], ["W"], 3) for _ in range(self.dice.randrange(1, 4)))
        script = 'script { result["extra"] = 1 } ' if self.dice.random() < 0.2 else ""
        catch = " catch " + self.block([], ["W"], 1) if self.dice.random() < 0.3 else ""
        return (f"namespace n {{{DECLARATIONS}    workflow W(a: Int = 1, items: [Json] = [1, 2]) => (r: Json, all: [Json], s: Json = 0) with M() "
                f"{script}{bodies}{catch}\n}}\n")  # fmt: skip

    def body(self, seen: list[tuple[str, str]], owners: list[str], depth: int) -> str:
        match self.dice.randrange(7):
            case 0 | 1 | 2:
                return "andThen " + self.block(seen, owners, depth)
            case 3:
                return f"andThen foreach v in {self.dice.choice(['$.items', '[1, 2, 3]', '[]'])} " + self.block(seen, owners, depth)
            case 4:
                return "andThen when " + self.cases(seen, owners, depth)
            case 5:
                return "andMatch " + self.cases(seen, owners, depth)
            case _:
                return 'andThen script { result["s"] = len(params) }'

    def cases(self, seen: list[tuple[str, str]], owners: list[str], depth: int) -> str:
        made = [f"case {self.value(seen)} == {self.dice.randrange(4)} => {self.block(seen, owners, depth)}"
                for _ in range(self.dice.randrange(3))]  # fmt: skip
        return "{ " + " ".join([*made, f"case _ => {self.block(seen, owners, depth)}"]) + " }"

    def block(self, seen: list[tuple[str, str]], owners: list[str], depth: int) -> str:
        own = list(seen)
        made = []
        for _ in range(self.dice.randrange(1, 4)):
            self.count += 1
            name, callee = f"s{self.count}", self.dice.choice(list(CALLEES))
            text = f"{name} = {callee}(a = 1, b = {self.value(own)})" if self.dice.random() < 0.8 or callee == "C" else f"{name} = {callee}(a = 2)"
            text += self.dice.choice([""] * 6 + [" with M()", ' with M(label = "x") as mm', " with Timeout(minutes = 1) with Retry(maxAttempts = 2)"])
            if depth and self.dice.random() < 0.35:
                inside = [*own, (name, callee)]
                text += " " + " ".join(self.body(inside, [callee, *owners], depth - 1) for _ in range(self.dice.randrange(1, 3)))
            if depth and self.dice.random() < 0.25:
                text += " catch " + self.block(own, [callee, *owners], depth - 1)
            made.append(text)
            own.append((name, callee))
            self.inner.append((name, callee))
        targets = [owner for owner in owners if owner == "W" or RETURNS[owner]]
        for target in dict.fromkeys(self.dice.choices(targets, k=self.dice.randrange(3))):
            fields = ["r", "s", "all"] if target == "W" else RETURNS[target]
            chosen = sorted(set(self.dice.choices(fields, k=2)))
            made.append(f"yield {target}(" + ", ".join(f"{field} = {self.listed(own, field)}" for field in chosen) + ")")
            made[-1] += self.dice.choice([""] * 5 + [f" with M(level = {len(made)})"])
        return "{ " + "\n".join(made) + " }"

    def listed(self, seen: list[tuple[str, str]], field: str) -> str:
        if field != "all":
            return self.value(seen)
        one, other = self.value(seen), self.value(seen)
        return self.dice.choice([f"[{one}]", f"[{one}]", f"[{one}] ++ [{other}]", f"{one} ++ [{other}]", f"({one}) ++ {other}", one])

    def value(self, seen: list[tuple[str, str]]) -> str:
        pool = self.inner if self.inner and self.dice.random() < 0.01 else seen
        if pool and self.dice.random() < 0.6:
            name, callee = self.dice.choice(pool)
            return f"{name}.{self.dice.choice(CALLEES[callee])}"
        return self.dice.choice(["1", "null", '"t"', "$.a", "[1, $.a]", '#{"k": $.a}', '"x" ++ $.a', "$.items[0]"])
