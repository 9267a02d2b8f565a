-- The floor's tables: the columns and indexes of src/weft/queue/schema.sql that a no-op task writes or has to pass.
-- Left out: row-level security, checks and the change feed. tests/test_bench.py compares the indexes and triggers with the
-- product's; floor.py has the statements.

create schema floor;

create table floor.tasks (
    id uuid default uuidv7() primary key with (fillfactor = 50),
    org_id uuid not null default '00000000-0000-7000-8000-000000000001',
    kind text not null,
    queue text not null default 'default',
    lane text not null default 'default',
    payload jsonb not null default '{}',
    state text not null default 'ready',
    plain boolean not null default true,
    limited boolean not null default false,
    urgency smallint not null default 50,
    attempt integer not null default 0,
    uncounted integer not null default 0,
    losses smallint not null default 0,
    max_attempts smallint,
    created_at timestamptz not null default statement_timestamp(),
    run_at timestamptz not null default statement_timestamp(),
    claimed_at timestamptz,
    started_at timestamptz,
    node_id uuid,
    lease_token uuid,
    lease_until timestamptz,
    concurrency_key text,
    dedupe_key text,
    job_id uuid,
    correlation_id text,
    cancel_requested_at timestamptz,
    error jsonb,
    told boolean not null default false
)
with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 50000,
    autovacuum_vacuum_cost_delay = 0,
    fillfactor = 45
);

create index tasks_ready on floor.tasks (lane, org_id, urgency, run_at, id) where state = 'ready' and plain;
create index tasks_special on floor.tasks (lane, org_id, urgency, run_at, id) where state = 'ready' and not plain;
create index tasks_scheduled on floor.tasks (run_at, id) where state = 'scheduled';
create index tasks_running on floor.tasks (claimed_at) where state = 'running';
create index tasks_limited on floor.tasks (org_id, queue) where state = 'running' and limited;
create index tasks_leased on floor.tasks (lease_until) where lease_until is not null;
create index tasks_cancelling on floor.tasks (node_id) where cancel_requested_at is not null;
create index tasks_told on floor.tasks (node_id) where told;
create index tasks_by_key on floor.tasks (org_id, concurrency_key, state, id) where concurrency_key is not null;
create index tasks_blocked on floor.tasks (org_id, concurrency_key, urgency, run_at, id) where state = 'blocked';
create unique index tasks_dedupe on floor.tasks (org_id, kind, dedupe_key) where dedupe_key is not null;
create index tasks_waiting on floor.tasks (org_id, queue, state, id) where state <> 'running';
create index tasks_correlated on floor.tasks (org_id, correlation_id, id) where correlation_id is not null and state <> 'running';
create index tasks_by_job on floor.tasks (job_id) where job_id is not null;

create table floor.task_history (
    id uuid not null,
    org_id uuid not null,
    kind text not null,
    queue text not null,
    lane text not null,
    payload jsonb not null,
    state text not null,
    reason text,
    urgency smallint not null,
    attempt integer not null,
    uncounted integer not null,
    losses smallint not null,
    max_attempts smallint,
    created_at timestamptz not null,
    run_at timestamptz not null,
    claimed_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz not null,
    node_id uuid,
    lease_token uuid,
    correlation_id text,
    error jsonb,
    result jsonb,
    primary key (org_id, id)
)
partition by range (id);

create table floor.task_history_default partition of floor.task_history default;
create index task_history_dead on floor.task_history (org_id, id) where reason in ('dead', 'lost');
create index task_history_unsuccessful on floor.task_history (org_id, state, id) where state <> 'completed';
create index task_history_correlated on floor.task_history (org_id, correlation_id, id) where correlation_id is not null;
create index task_history_ended on floor.task_history using brin (finished_at) with (pages_per_range = 16, autosummarize = on);

create function floor.ended() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger ended after insert on floor.task_history for each row when (new.kind = 'another') execute function floor.ended();
