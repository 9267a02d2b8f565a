-- queue: the tasks. `tasks` holds what is unfinished and stays small; `task_history` holds the rest.

create table weft.tasks (
    -- half empty: a claim writes a second entry beside each, and in a full leaf made room for it by splitting
    id uuid default weft.uuid7() primary key with (fillfactor = 50),
    -- no foreign key: its row lock on one org row per insert would be shared by every enqueue of that org
    org_id uuid not null,
    kind text not null,
    queue text not null default 'default',
    -- queue, then the required capabilities: 'default', 'default+gpu'. Work nobody here can do costs a claim nothing.
    lane text not null default 'default',
    payload jsonb not null default '{}',
    state text not null default 'ready',
    -- plain: under no key and never lost; claimed on the fast path
    plain boolean not null default true,
    -- claimed under a limit of its org or queue, and counted against it
    limited boolean not null default false,
    -- 100 - priority, so that everything in the claim order ascends
    urgency smallint not null default 50,
    -- grows with every claim, so that (task, attempt) never repeats; integer, for a task that snoozes for years
    attempt integer not null default 0,
    -- claims that used up no attempt: lost, snoozed, given back
    uncounted integer not null default 0,
    losses smallint not null default 0,
    -- null: what the handler declares, else the kernel's default
    max_attempts smallint,
    created_at timestamptz not null default weft.now(),
    run_at timestamptz not null default weft.now(),
    claimed_at timestamptz,
    started_at timestamptz,
    node_id uuid,
    lease_token uuid,
    -- null while running: the lease hangs on the node's beat. Set: an HTTP worker's own lease.
    lease_until timestamptz,
    -- 0: strictly one after another in order of enqueue, across retries. n: at most n at a time.
    concurrency smallint,
    concurrency_key text,
    dedupe_key text,
    tags text[],
    retry jsonb,
    timeout interval,
    heartbeat_timeout interval,
    job_id uuid,
    run_id uuid,
    step_id uuid,
    parent_id uuid,
    scheduled_for timestamptz,
    correlation_id text,
    trace_parent text,
    cancel_requested_at timestamptz,
    progress smallint,
    progress_message text,
    -- ended attempts before this one: [{attempt, outcome, error, node_id, claimed_at, ended_at}]
    attempts jsonb,
    error jsonb,
    -- something came for its run while it ran: it is ready again at once when it parks
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
    -- room for the version that a claim writes: on another page it is locked and logged once more, and logged as a whole
    fillfactor = 45
);

-- What no task may be: nothing is ever in it (see weft.refuse). What no worker could read would keep it from everything that it
-- claims in the same batch. Every statement pays for each comparison, a task that tells how far it is for one more entry in
-- the indexes of what runs: that is less than reading the checks was.
create index tasks_refused on weft.tasks (id) where weft.refuse(case
    when state not in ('ready', 'running', 'scheduled', 'blocked') then 'state must be scheduled, blocked, ready or running'
    when (state = 'running') <> (lease_token is not null) then 'a task has a lease_token while it is running, and only then'
    when (concurrency_key is null) <> (concurrency is null) then 'concurrency and concurrency_key must be given together'
    when concurrency < 0 then 'concurrency must not be negative'
    when urgency not between 0 and 100 then 'urgency must be 0 to 100'
    when max_attempts not between 1 and 1000 then 'max_attempts must be 1 to 1000'
    when progress not between 0 and 100 then 'progress must be 0 to 100'
    when run_at < '1970-01-01Z' or run_at >= '9999-01-01Z' then 'run_at must be between 1970 and 9998'
    when timeout <= '0' or timeout > '3660 days' or heartbeat_timeout <= '0' or heartbeat_timeout > '3660 days'
        then 'a timeout must be more than nothing, and at most ten years'
    when jsonb_typeof(retry) <> 'object' then 'retry must be an object'
    when array_position(tags, null) is not null then 'tags must not be null'
end);
comment on index weft.tasks_refused is 'Refuses what no task may be. No query uses it, and it is always empty: keep it.';

-- The claim order. A lane of one org is a range of this index.
create index tasks_ready on weft.tasks (lane, org_id, urgency, run_at, id) where state = 'ready' and plain;
create index tasks_special on weft.tasks (lane, org_id, urgency, run_at, id) where state = 'ready' and not plain;
create index tasks_scheduled on weft.tasks (run_at, id) where state = 'scheduled';
-- Keyed by an ever growing value, the cheapest index to keep: (org_id, queue) here cost a quarter of the drain rate.
create index tasks_running on weft.tasks (claimed_at) where state = 'running';
-- Slots are counted from here: derived from leased rows, so none can leak.
create index tasks_limited on weft.tasks (org_id, queue) where state = 'running' and limited;
create index tasks_leased on weft.tasks (lease_until) where lease_until is not null;
create index tasks_cancelling on weft.tasks (node_id) where cancel_requested_at is not null;
create index tasks_told on weft.tasks (node_id) where told;
create index tasks_by_key on weft.tasks (org_id, concurrency_key, state, id) where concurrency_key is not null;
create index tasks_blocked on weft.tasks (org_id, concurrency_key, urgency, run_at, id) where state = 'blocked';
create unique index tasks_dedupe on weft.tasks (org_id, kind, dedupe_key) where dedupe_key is not null;
-- Lists and counts of what waits. A claim takes the row out of it and writes nothing here; what runs is few.
create index tasks_waiting on weft.tasks (org_id, queue, state, id) where state <> 'running';
-- Paid for only by those who set one.
create index tasks_correlated on weft.tasks (org_id, correlation_id, id) where correlation_id is not null and state <> 'running';

-- Whether a job's last execution is still unfinished. Paid for only by jobs.
create index tasks_by_job on weft.tasks (job_id) where job_id is not null;

-- How a task ends, and why, where the state alone does not say.
create domain weft.final_state as text check (value in ('completed', 'failed', 'timed_out', 'cancelled'));
create domain weft.end_reason as text check (
    value in ('dead', 'lost', 'discarded', 'refused', 'requested', 'skipped'));

-- Finished work, partitioned by the time in the id so that a look-up by id reads one partition.
create table weft.task_history (
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
    concurrency smallint,
    concurrency_key text,
    dedupe_key text,
    tags text[],
    retry jsonb,
    timeout interval,
    heartbeat_timeout interval,
    job_id uuid,
    run_id uuid,
    step_id uuid,
    parent_id uuid,
    scheduled_for timestamptz,
    correlation_id text,
    trace_parent text,
    progress smallint,
    progress_message text,
    attempts jsonb,
    error jsonb,
    result jsonb,
    primary key (org_id, id),
    -- for the errors that the domains raise: short, because every statement reads it (see weft.refuse). Columns of these types
    -- would cost less still, but they cannot become so without building indexes of all history anew.
    constraint task_history_words check (num_nulls(state::weft.final_state, reason::weft.end_reason) is not null)
)
partition by range (id);

-- The dead letter list.
create index task_history_dead on weft.task_history (org_id, id) where reason in ('dead', 'lost');
-- What did not succeed, to be found among what did, which is most and writes nothing here.
create index task_history_unsuccessful on weft.task_history (org_id, state, id) where state <> 'completed';
create index task_history_correlated on weft.task_history (org_id, correlation_id, id) where correlation_id is not null;

-- What a handler logged, kept as long as its task.
create table weft.task_logs (
    task_id uuid not null,
    id bigint generated by default as identity,
    org_id uuid not null,
    attempt integer not null,
    at timestamptz not null,
    level text not null check (level in ('debug', 'info', 'warning', 'error', 'critical')),
    message text not null,
    fields jsonb,
    primary key (task_id, id)
)
partition by range (task_id);

-- Keys that outlive their task: `dedupe` for ever (expires_at null) or for a while.
create table weft.dedupe_keys (
    org_id uuid not null,
    kind text not null,
    dedupe_key text not null,
    task_id uuid not null,
    expires_at timestamptz,
    primary key (org_id, kind, dedupe_key)
);

create index dedupe_keys_expiring on weft.dedupe_keys (expires_at) where expires_at is not null;

-- What was said about a queue. The org 0000… speaks for every org.
create table weft.queues (
    org_id uuid not null,
    name text not null,
    paused boolean not null default false,
    max_running integer check (max_running >= 0),
    -- token bucket: rate_limit starts per rate_period, at most rate_burst at once
    rate_limit integer check (rate_limit > 0),
    rate_period interval check (rate_period > interval '0'),
    rate_burst integer check (rate_burst > 0),
    tokens double precision,
    refilled_at timestamptz,
    updated_at timestamptz not null default weft.now(),
    primary key (org_id, name),
    check ((rate_limit is null) = (rate_period is null) and (rate_limit is null) = (rate_burst is null))
);

call weft.org_wall('tasks', 'task_history', 'task_logs', 'dedupe_keys', 'queues');
grant select, insert, update, delete
    on weft.tasks, weft.task_history, weft.task_logs, weft.dedupe_keys, weft.queues
    to weft_engine, weft_tenant;

-- What holds for every org binds a tenant, so it may know it: why its queue is paused, which limit is full.
create policy everybodys on weft.queues for select to weft_tenant using (org_id = '00000000-0000-0000-0000-000000000000');
