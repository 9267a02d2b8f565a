-- What runs are told: how their tasks ended. Written by the statement that ends the task, whoever runs it, so that no
-- way of ending can forget it; taken out by `flows`, which holds the run's lock.
create table weft.run_inbox (
    id bigint generated always as identity primary key,
    run_id uuid not null,
    org_id uuid not null,
    step_id uuid,
    task_id uuid not null,
    at timestamptz not null default weft.now(),
    state text not null check (state in ('completed', 'failed', 'timed_out', 'cancelled')),
    attempt integer not null,
    started_at timestamptz,
    result jsonb,
    error jsonb
)
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);

create index run_inbox_by_run on weft.run_inbox (run_id, id);

call weft.org_wall('run_inbox');
grant select, insert, update, delete on weft.run_inbox to weft_engine, weft_tenant;
