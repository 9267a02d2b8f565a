"""What must happen without anybody asking: one leader runs a table of chores.

    pulse elected ──▶ every chore of the table, each in its own loop ──▶ pulse deposed: all cancelled at once

    one look for all (`sight.py`) ──told──▶ a chore: transaction: fence(term) → once(tx) → commit ──▶ another look ──┐
                 ▲                                                                                                    │
                 └────────────────────────────────────────────────────────────────────────────────────────────────────┘

Chores that nobody can tell go by their own clock, with a `peek` of their own if there is a cheap one.

Invariants. Leadership is an optimisation: each chore is safe if two run it. Every transaction of a chore is fenced by
the term it was started under, so a leader that was deposed without noticing changes nothing. A chore that fails is
logged and tried again; it never stops another one. State of a chore lives as long as the term.
"""
