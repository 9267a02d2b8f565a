"""What happened (the journal, append only) and what changed (the change feed).

    writer's transaction ──▶ change_inbox ──sequencer, after commit──▶ changes ──▶ readers, by position

A task's own history row is its journal entry; the journal holds what people and upkeep did.

Invariants of the feed: positions grow in the order in which readers can see them, because one sequencer at a time
gives them to rows that are committed already. A reader that asks for what comes after its position therefore misses
nothing, however late a writer commits; what was trimmed away before it came is told as a gap.
"""
