"""Jobs: what is to be done and when. CRON, ONE_TIME and DELAYED; their executions; backfills.

    written ──▶ ACTIVE ──due──▶ the scheduler: execution + task + next time, many jobs in one transaction
                 │  ▲                │
           pause ▼  │ resume         ├─ cannot be dispatched ──▶ PAUSED, with its error (set aside)
                PAUSED               └─ no time is left ───────▶ COMPLETED

    definition  what may be said of a job, checked      firing     what a due job does, decided
    manage      create, change, pause, resume, delete   scheduler  the leader's chore
    trigger     now, by hand                            backfill   past times, little by little
    executions  what became of them                     declared   jobs that an app or a DAG owns

Invariants. An execution's id is its task's id; its state is the task's state, looked up, never kept. There is one execution
for each (job, time), by a unique index; triggers and backfills carry keys of their own. `next_run_time`, the execution and
the task commit together. `due_at` is null unless the job is ACTIVE, so what is not to fire cannot be found. A job that
cannot be dispatched is set aside alone: it never holds up its batch.
"""
