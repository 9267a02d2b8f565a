"""DAGs as people write them, in JSON or YAML, compiled to plans. Pure.

    text → `yaml` or JSON → plain values with places → `read` (words known? types right?) → `Dag` → `compile` → plan

Every problem has its place (line and column, and a JSON pointer) and says what to do. Nothing is guessed: an unknown
word is refused with the one that may have been meant.
"""
