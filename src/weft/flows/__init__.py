"""Runs and steps: a plan is run, one transaction at a time.

    definition (a DAG's name) ── versions (immutable, by hash) ── plans (by hash, shared)
    run (one execution of a plan) ── steps (one row for each node, element, block and catch) ── tasks of the queue

A *frame* is an instance of a block; it is named by the step that opened it, the entry's by the run itself. A step is
(run, frame, node, element, catching): unique, so that what was made stays made once.

    a task of a run ends ─▶ its fact goes into the run's inbox, in the very statement that ends it
                        ─▶ is the run's lock free? then the same transaction takes all facts of the run, decides what
                           follows (`course`, purely), and writes steps and new tasks
                        ─▶ if not, whoever holds the lock may have looked already: the loser tries once more after its
                           commit (`advance.afterwards`), and a chore sweeps what is left (`chores`)

Only the holder of a run's row lock changes its steps. Who holds task rows never waits for a run: runs are locked with
`skip locked`, so there is no circle to wait in. A run costs what happens in it, not what it is made of: only the steps
that an ending touches are read, and outputs only where an expression names them.

Whoever holds the run when its tasks succeed ends their steps in the same statement (`ended`); from many steps nothing
follows but that their block has one less to wait for, and those are only counted. A block of many nodes is written in
portions of one transaction: while the database writes one, the next is decided.

A run that should go on (running, waiting, compensating) has something open, in every snapshot: each change of it is one
transaction. These are all there is, and a chore (`standstill`) finds a run that has none of them:

    its deadline is over                  it is about to be ended for that
    a fact in its inbox                   an end that was left to others; elements of a foreach that were left for later
    a task of a step, in whatever state   in line, nobody handles it, blocked by a key or limit, to be tried again tomorrow,
                                          in the hands of a worker (also one that began the run itself), to be cancelled,
                                          asleep because it waits for a run that it started
    the task of a workflow (the run's id) the same; asleep until a time, a signal with or without a time, a child, any of a
                                          gather; with a message to end; with an undoing that is tried again

Others rest by their state: created (there is no room, or it was just asked for), paused, blocked.

Read in this order: `model`, `compiled`, `seen`, `beginning` and `course` (decide), `ended` and `advance` (do), `start`,
`operate`, `look`, `why`; then `afresh` (decides), `revive` and `standstill`.

States of a run: created (waits to be let in), running, waiting, paused, completed, failed, cancelled (and, for workflows,
compensating, compensated, blocked). Of a step: pending, running, completed, failed, timed_out, cancelled, upstream_failed,
skipped.
"""
