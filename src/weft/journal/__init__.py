"""What happened (the journal, append only) and what changed (the change feed).

    writer's transaction ──▶ change_inbox ──sequencer, after commit──▶ changes ──▶ readers, by position

A task's own history row is its journal entry; the journal holds what people and upkeep did, and what was refused.

    writer's transaction ──▶ journal ──sealer, after commit──▶ number and hash, a chain per org ──▶ verify

Invariants of the journal: an entry commits with what it tells of, or not at all; nobody but the owner of the database
can change one, and then it does not fit its hash.

Invariants of the feed: positions grow in the order in which readers can see them, because one sequencer at a time
gives them to rows that are committed already. A reader that asks for what comes after its position therefore misses
nothing, however late a writer commits; what was trimmed away before it came is told as a gap.
"""
