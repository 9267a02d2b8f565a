"""DAGs as people write them, in JSON or YAML, compiled to plans. Pure.

    text ─ yaml (scalars), strict ─▶ data ─ read ─▶ Written… (dag) ─ compiling ─▶ Dag with its plan ─ drawing ─▶ a picture
                                                      compiling uses payload (what a task does), attempts (how it is
                                                      tried) and template (`${…}`, whose inside is syntax)

Every problem has its place (line and column, and a JSON pointer) and says what to do. Nothing is guessed: an unknown
word is refused with the one that may have been meant. What is hostile is refused before it costs much: 8 MiB, 64
levels, 500,000 values, 20,000 parts of one expression.
"""
