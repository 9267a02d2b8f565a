-- flows: definitions and their versions, runs and steps.

-- Plans by their hash: what runs are runs of. Never changed.
create table weft.plans (
    org_id uuid not null,
    hash text not null check (hash ~ '^[0-9a-f]{64}$'),
    plan text not null,
    nodes integer not null,
    created_at timestamptz not null default weft.now(),
    -- the kinds of its tasks, so that an agent finds those it handles by their last part
    kinds text[] not null default '{}',
    primary key (org_id, hash)
);

-- A DAG (later: a workflow, a flow) by its name; its content is that of the active version.
create table weft.definitions (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null,
    kind text not null check (kind in ('dag', 'workflow', 'flow')),
    name text not null check (length(name) between 1 and 255),
    status text not null default 'active' check (status in ('active', 'paused', 'deleted')),
    version text not null,
    -- at most so many runs at a time; the others wait as `created`
    max_active_runs integer check (max_active_runs > 0),
    cron_expression text,
    timezone text not null default 'UTC',
    tags text[],
    created_at timestamptz not null default weft.now(),
    updated_at timestamptz not null default weft.now(),
    unique (id, org_id)
);

create unique index definitions_by_name on weft.definitions (org_id, kind, name) where status <> 'deleted';
create index definitions_listed on weft.definitions (org_id, kind, id);

create table weft.definition_versions (
    definition_id uuid not null references weft.definitions (id) on delete cascade,
    org_id uuid not null,
    version text not null,
    number integer not null,
    plan_hash text not null,
    -- all but the plan: schedule, limits, defaults of params, as the front end wrote it
    header jsonb not null default '{}',
    -- each node, its id in seed 002's words, what it does and what it waits for: [{name, id, payload, …, dependencies}]
    nodes jsonb not null default '[]',
    created_at timestamptz not null default weft.now(),
    primary key (definition_id, version),
    foreign key (org_id, plan_hash) references weft.plans (org_id, hash)
);

create table weft.runs (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null,
    kind text not null,
    name text not null,
    definition_id uuid,
    version text,
    plan_hash text,
    state text not null default 'created',
    params jsonb not null default '{}',
    -- what this run is told to do otherwise: {queue, priority, timeout_seconds, tags}
    config jsonb not null default '{}',
    output jsonb,
    error jsonb,
    idempotency_key text,
    trigger text not null default 'manual',
    -- who asked, in the journal's words
    actor text,
    parent_run_id uuid,
    parent_step_id uuid,
    -- for when it was meant: a tick of its schedule, or when it was asked for
    logical_date timestamptz not null default weft.now(),
    tags text[],
    correlation_id text,
    trace_parent text,
    -- the nodes of the entry block, counted
    nodes integer not null default 0,
    nodes_ended integer not null default 0,
    nodes_failed integer not null default 0,
    -- how often it was set going again
    reruns integer not null default 0,
    deadline_at timestamptz,
    -- kept so long after its end; null: as long as the org's history
    retention interval,
    created_at timestamptz not null default weft.now(),
    started_at timestamptz,
    finished_at timestamptz,
    -- what a workflow says of itself while it runs (`set_state`), and the patches its code was told that it has
    published jsonb,
    patches text[],
    -- since when it is known to stand still: nothing of it runs, and nothing is awaited
    stalled_at timestamptz
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- What no run may be: nothing is ever in it (see weft.refuse). One that cannot be read stops whoever reads it with others.
-- An update that changes none of these does not even look; checks were a third of what it cost.
create index runs_refused on weft.runs (id) where weft.refuse(case
    when kind not in ('dag', 'workflow', 'flow') then 'kind must be dag, workflow or flow'
    when state not in (
        'created', 'running', 'waiting', 'paused', 'completed', 'failed', 'compensating', 'compensated', 'cancelled',
        'blocked'
    ) then 'state must be created, running, waiting, paused, completed, failed, compensating, compensated, cancelled or blocked'
    when trigger not in ('manual', 'schedule', 'backfill', 'run', 'sql')
        then 'trigger must be manual, schedule, backfill, run or sql'
    when logical_date < '1970-01-01Z' or logical_date >= '3000-01-01Z' then 'logical_date must be between 1970 and 2999'
    when deadline_at >= '9999-01-01Z' then 'deadline_at must be before 9999'
end);
comment on index weft.runs_refused is 'Refuses what no run may be. No query uses it, and it is always empty: keep it.';

create unique index runs_idempotency on weft.runs (org_id, kind, name, idempotency_key) where idempotency_key is not null;
create index runs_listed on weft.runs (org_id, id);
create index runs_of_definition on weft.runs (definition_id, logical_date desc, id desc);
create index runs_active on weft.runs (definition_id) where state in ('running', 'waiting', 'paused', 'compensating', 'blocked');
create index runs_created on weft.runs (definition_id, id) where state = 'created';
create index runs_by_state on weft.runs (org_id, state, id);
create index runs_by_name on weft.runs (org_id, name, id);
create index runs_deadline on weft.runs (deadline_at) where deadline_at is not null and finished_at is null;
create index runs_children on weft.runs (parent_run_id) where parent_run_id is not null;
create index runs_finished on weft.runs (finished_at) where finished_at is not null;
-- Those that should go on by themselves, for the chore that looks whether they can.
create index runs_going on weft.runs (id) where state in ('running', 'waiting', 'compensating');

create table weft.steps (
    id uuid primary key,
    run_id uuid not null,
    org_id uuid not null,
    -- the step that opened the block it is in; the run for those of the entry
    frame_id uuid not null,
    node text not null,
    -- which element of a foreach; -1: the node itself
    element integer not null default -1,
    -- the block that caught its failure
    catching boolean not null default false,
    depth smallint not null default 0,
    state text not null default 'pending' check (state in (
        'pending', 'running', 'completed', 'failed', 'timed_out', 'cancelled', 'upstream_failed', 'skipped',
        'compensated')),
    -- what it waits for, counted
    waits integer not null default 0,
    succeeded integer not null default 0,
    failed integer not null default 0,
    skipped integer not null default 0,
    decided boolean not null default false,
    -- what it is made of: the nodes of its block, or the elements of its foreach
    parts integer not null default 0,
    parts_ended integer not null default 0,
    parts_failed integer not null default 0,
    parts_made integer not null default 0,
    parts_started integer not null default 0,
    -- the block it has opened, with its params; the element it stands for
    block text,
    params jsonb,
    item jsonb,
    task_id uuid,
    attempt integer not null default 0,
    -- how often it was set going again
    reruns integer not null default 0,
    output jsonb,
    error jsonb,
    created_at timestamptz not null default weft.now(),
    started_at timestamptz,
    finished_at timestamptz,
    -- of a workflow: what kind of operation (its node is name#position), and the how-many-eth that the code was told of
    operation text,
    number integer
)
-- room for each to be written once more, when it ends, on its own page: then no index is touched
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0, fillfactor = 40);

create unique index steps_place on weft.steps (run_id, frame_id, node, element, catching);
-- For lists. Partial, so that no look-up by place can use it: planned while the table was nearly empty, that walked the
-- whole block for each step.
create index steps_of_frame on weft.steps (run_id, frame_id, id) where element = -1 and not catching;

call weft.org_wall('plans', 'definitions', 'definition_versions', 'runs', 'steps');
grant select, insert, update, delete
    on weft.plans, weft.definitions, weft.definition_versions, weft.runs, weft.steps
    to weft_engine, weft_tenant;
