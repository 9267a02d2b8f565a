"""Scripts and prompts: what they must have, and which names a script adds."""

import ast
import re

from weft.afl.branching import Branching
from weft.afl.diagnostic import Near
from weft.afl.syntax import Declaration, Prompt, Script

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}")
_LONGEST = 100_000


class Bodies(Branching):
    def script(self, script: Script) -> tuple[set[str], bool]:
        """The names that code puts into `result`, and whether there may be others. Read once, however often it is called."""
        if script.adds is None:
            script.adds = self._adds(script)
        return script.adds

    def _adds(self, script: Script) -> tuple[set[str], bool]:
        code = script.code
        if not code.strip() or all(line.strip().startswith("#") or not line.strip() for line in code.split("\n")):
            self.tell("empty-script", "this script has no code", script.start, script.end, "write some, or leave it out")
            return set(), False
        try:
            if len(code) > _LONGEST:
                return set(), True
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            message = f"this Python cannot read the script: {getattr(error, 'msg', None) or error}"
            line = script.line + (getattr(error, "lineno", None) or 1) - 1
            start = self.source.offset(line, 1)
            written = self.source.line(line)
            start, end = start + len(written) - len(written.lstrip()), start + len(written)
            self.tell("script-syntax", message, max(start, script.start), max(min(end, script.end), script.start + 1))
            return set(), True
        return added(tree)

    def prompt(self, prompt: Prompt, declared: Declaration) -> None:
        parts: dict[str, str] = {}
        known = {one.name.text for one in declared.params}
        for word, text in prompt.parts:
            if word.text in parts:
                self.tell("duplicate-argument", f"{word.text!r} is given twice", word.start, word.end, "remove one")
            parts[word.text] = text.value
            for found in PLACEHOLDER.finditer(text.value):
                if found[1] not in known and word.text != "model" and not declared.broken:
                    message = f"the placeholder {found[0]} names no param of {declared.name.text}"
                    self.tell("unknown-placeholder", message, text.start, text.end, Near(found[1], lambda: known))
        if prompt.whole and not parts.get("template", "").strip():
            message = "this prompt has no template"
            self.tell("prompt-template", message, prompt.start, prompt.start + len("prompt"), 'template "… {name} …"')


def added(tree: ast.AST) -> tuple[set[str], bool]:
    """The constant keys of `result[…] = …` and of `result = {…}`; True if `result` is used in any other way."""
    names: set[str] = set()
    seen: set[int] = set()
    for one in ast.walk(tree):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        for target in targets:
            if isinstance(target, ast.Name) and target.id == "result" and isinstance(one, ast.Assign | ast.AnnAssign):
                keys = one.value.keys if isinstance(one.value, ast.Dict) else [None]
                if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys):
                    return names, True
                names |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
                seen.add(id(target))
        if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) and one.value.id == "result":
            if isinstance(one.slice, ast.Constant) and isinstance(one.slice.value, str):
                names.add(one.slice.value)
                seen.add(id(one.value))
            elif isinstance(one.ctx, ast.Store):
                return names, True
    other = any(isinstance(one, ast.Name) and one.id == "result" and id(one) not in seen for one in ast.walk(tree))
    return names, other
