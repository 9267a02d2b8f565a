-- What any language calls inside its own transaction: weft.enqueue, weft.enqueue_many, weft.cancel.
-- They run as the owner (security definer), so the caller's role needs no more than execute.

create function weft.json_depth(doc jsonb) returns integer
language plpgsql immutable parallel safe set search_path = pg_catalog
as $$
declare
    level jsonb[] := array[doc];
    depth integer := 0;
begin
    loop
        level := array(
            select child
            from unnest(level) as item
            cross join lateral (
                select e.value as child
                from jsonb_array_elements(case jsonb_typeof(item) when 'array' then item else '[]' end) as e
                union all
                select e.value
                from jsonb_each(case jsonb_typeof(item) when 'object' then item else '{}' end) as e
                union all
                select null where jsonb_typeof(item) in ('array', 'object')
            ) as children);
        exit when cardinality(level) = 0 or depth > 64;
        depth := depth + 1;
        level := array_remove(level, null);
    end loop;
    return depth;
end;
$$;

-- Raises a clear error for a number that no double can hold: whoever reads it would stumble, and all that he reads with it.
create function weft.check_json(what text, doc jsonb) returns void
language plpgsql immutable parallel safe set search_path = pg_catalog
as $$
begin
    -- only a long text has room for one: it is stored with all its digits
    if octet_length(doc::text) > 308
        and doc @? 'strict $.** ? (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308)'
    then
        raise exception '% contains a number of more than 1.8e308, which few can read; write it as text', what
            using errcode = 'invalid_parameter_value';
    end if;
end;
$$;

-- Raises a clear error for a name, priority or payload that must not be stored.
create function weft.check_task(
    kind text, payload jsonb, queue text, priority integer, capabilities text[], max_attempts integer, concurrency integer
) returns void
language plpgsql immutable parallel safe set search_path = pg_catalog
as $$
declare
    checked text;
    allowed constant text := 'use 1-255 letters, digits, spaces inside, and any of _ . : / -';
begin
    foreach checked in array array[kind, queue] || coalesce(capabilities, '{}') loop
        -- what is refused rather than what is allowed: which letters [[:alnum:]] knows depends on the locale
        if checked is null or checked = '' or checked <> btrim(checked) or length(checked) > 255
            or checked ~ '[\x01-\x1f\x7f!-,;-@\[-^`{-~]'
        then
            raise exception 'the name % is not valid: %',
                quote_nullable(regexp_replace(left(checked, 80), '[\x01-\x1f\x7f]', '?', 'g')), allowed
                using errcode = 'invalid_parameter_value';
        end if;
    end loop;
    if octet_length(array_to_string(queue || capabilities, '+')) > 1024 then
        raise exception 'the queue and its capabilities are longer than 1024 bytes together; use shorter or fewer names'
            using errcode = 'invalid_parameter_value';
    end if;
    if max_attempts is not null and max_attempts not between 1 and 1000 then
        raise exception 'max_attempts % is out of range: use 1 to 1000', max_attempts
            using errcode = 'invalid_parameter_value';
    end if;
    if priority is null or priority not between 0 and 100 then
        raise exception 'priority % is out of range: use 0 (last) to 100 (first)', coalesce(priority::text, 'null')
            using errcode = 'invalid_parameter_value';
    end if;
    if concurrency is not null and concurrency not between 0 and 10000 then
        raise exception 'concurrency % is out of range: use 1 to 10000, or 0 for strict order', concurrency
            using errcode = 'invalid_parameter_value';
    end if;
    if payload is null or jsonb_typeof(payload) <> 'object' then
        raise exception 'the payload must be a JSON object, not %', coalesce(jsonb_typeof(payload), 'null')
            using errcode = 'invalid_parameter_value';
    end if;
    if octet_length(payload::text) > 262144 then
        raise exception 'the payload is % bytes of JSON, the limit is 262144; store the data elsewhere and pass a reference',
            octet_length(payload::text) using errcode = 'invalid_parameter_value';
    end if;
    perform weft.check_json('the payload', payload);
    if regexp_count(payload::text, '[\[{]') > 64 and weft.json_depth(payload) > 64 then
        raise exception 'the payload is nested deeper than 64 levels; flatten it'
            using errcode = 'invalid_parameter_value';
    end if;
end;
$$;

-- Raises a clear error for a key that no index could hold.
create function weft.check_key(what text, key text) returns void
language plpgsql immutable parallel safe set search_path = pg_catalog
as $$
begin
    if key = '' or octet_length(key) > 1024 or key ~ '[\x01-\x1f\x7f]' then
        raise exception '% must be 1-1024 bytes without control characters', what
            using errcode = 'invalid_parameter_value';
    end if;
end;
$$;

-- The org a call works for: the transaction's own if it has one, which then no argument can leave.
create function weft.acting_org(wanted uuid) returns uuid
language plpgsql stable parallel safe set search_path = pg_catalog
as $$
begin
    if wanted is not null and weft.current_org() is not null and wanted <> weft.current_org() then
        raise exception 'this transaction belongs to another org' using errcode = 'insufficient_privilege';
    end if;
    -- these functions run as the owner, so row-level security does not stop a tenant who forgot its org
    if weft.current_org() is null and current_setting('role') = 'weft_tenant' then
        raise exception 'a tenant must say its org: set weft.org first' using errcode = 'insufficient_privilege';
    end if;
    return coalesce(weft.current_org(), wanted, '00000000-0000-7000-8000-000000000001');
end;
$$;

-- A hint to the workers of a lane, sent with this transaction, and only if one of them sleeps: NOTIFY makes
-- commits wait for each other, so a busy system must not use it. It names the org, so that one probe finds the task.
create function weft.wake(org uuid, lane text) returns void
language plpgsql volatile set search_path = pg_catalog
as $$
begin
    if exists (
        select
        from weft.nodes as n
        where n.asleep and n.status = 'active' and (n.queues = '{}' or split_part(wake.lane, '+', 1) = any(n.queues))
    ) then
        perform pg_notify('weft_wake', wake.org || ' ' || wake.lane);
    end if;
end;
$$;

-- Enqueues one task. `dedupe` says among what the key is unique: 'unfinished', 'forever', or an interval such as '1 hour'.
-- Answers the id and whether it is new; a hit answers the id that was there.
create function weft.try_enqueue(
    kind text,
    payload jsonb default '{}',
    queue text default 'default',
    priority integer default 50,
    run_at timestamptz default null,
    delay interval default null,
    max_attempts integer default null,
    retry jsonb default null,
    timeout interval default null,
    heartbeat_timeout interval default null,
    capabilities text[] default null,
    dedupe_key text default null,
    dedupe text default 'unfinished',
    concurrency_key text default null,
    concurrency integer default 1,
    tags text[] default null,
    org uuid default null,
    correlation_id text default null,
    trace_parent text default null,
    parent_id uuid default null,
    job_id uuid default null,
    run_id uuid default null,
    step_id uuid default null,
    scheduled_for timestamptz default null,
    out id uuid,
    out created boolean
)
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    due constant timestamptz := coalesce(try_enqueue.run_at, weft.now() + coalesce(delay, interval '0'));
    -- a function in SQL is planned anew in every statement: not for those that need none
    the_lane constant text := case
        when capabilities is null then try_enqueue.queue
        else weft.lane(try_enqueue.queue, capabilities)
    end;
    first_state text := 'ready';
    scope constant text := coalesce(dedupe, 'unfinished');
    until timestamptz;
begin
    perform weft.check_task(try_enqueue.kind, try_enqueue.payload, try_enqueue.queue, priority, capabilities,
        try_enqueue.max_attempts, try_enqueue.concurrency);
    if try_enqueue.dedupe_key is not null then
        perform weft.check_key('dedupe_key', try_enqueue.dedupe_key);
    end if;
    if try_enqueue.concurrency_key is not null then
        perform weft.check_key('concurrency_key', try_enqueue.concurrency_key);
    end if;
    id := weft.uuid7();
    created := true;
    if due > weft.now() then
        first_state := 'scheduled';
    elsif try_enqueue.concurrency_key is not null and (
        select count(*)
        from (
            select
            from weft.tasks as t
            where t.org_id = the_org
                and t.concurrency_key = try_enqueue.concurrency_key
                -- what waits for its time is in the way only where the order is strict
                and (t.state in ('blocked', 'ready', 'running') or coalesce(try_enqueue.concurrency, 1) = 0)
            limit greatest(try_enqueue.concurrency, 1)
        ) as before_us
    ) >= greatest(try_enqueue.concurrency, 1) then
        -- the key is full: stay out of the claim index until settle or the sweep lets us in
        first_state := 'blocked';
    end if;
    if try_enqueue.dedupe_key is not null and scope <> 'unfinished' then
        until := case scope when 'forever' then null else weft.now() + scope::interval end;
        if until <= weft.now() then
            raise exception 'dedupe % is not valid: use unfinished, forever, or a positive interval such as 1 hour',
                quote_nullable(left(scope, 80)) using errcode = 'invalid_parameter_value';
        end if;
        -- the key that is in the way is locked from here on, so it is there when it is read
        insert into weft.dedupe_keys as d (org_id, kind, dedupe_key, task_id, expires_at)
        values (the_org, try_enqueue.kind, try_enqueue.dedupe_key, id, until)
        on conflict (org_id, kind, dedupe_key) do update
        set task_id = excluded.task_id, expires_at = excluded.expires_at
        where d.expires_at <= weft.now();
        if not found then
            select d.task_id into id
            from weft.dedupe_keys as d
            where d.org_id = the_org and d.kind = try_enqueue.kind and d.dedupe_key = try_enqueue.dedupe_key;
            created := false;
            return;
        end if;
    end if;
    loop
        insert into weft.tasks (
            id, org_id, kind, queue, lane, payload, state, plain, urgency, max_attempts, run_at, concurrency,
            concurrency_key, dedupe_key, tags, retry, timeout, heartbeat_timeout, job_id, run_id, step_id, parent_id,
            scheduled_for, correlation_id, trace_parent)
        values (
            id, the_org, try_enqueue.kind, try_enqueue.queue, the_lane,
            try_enqueue.payload, first_state, try_enqueue.concurrency_key is null, 100 - priority,
            try_enqueue.max_attempts, due,
            case when try_enqueue.concurrency_key is not null then coalesce(try_enqueue.concurrency, 1) end,
            try_enqueue.concurrency_key,
            case when scope = 'unfinished' then try_enqueue.dedupe_key end,
            try_enqueue.tags, try_enqueue.retry, try_enqueue.timeout, try_enqueue.heartbeat_timeout,
            try_enqueue.job_id, try_enqueue.run_id, try_enqueue.step_id, try_enqueue.parent_id,
            try_enqueue.scheduled_for, try_enqueue.correlation_id, try_enqueue.trace_parent)
        on conflict (org_id, kind, dedupe_key) where dedupe_key is not null do nothing;
        exit when found;
        select t.id into id
        from weft.tasks as t
        where t.org_id = the_org and t.kind = try_enqueue.kind and t.dedupe_key = try_enqueue.dedupe_key;
        if found then
            created := false;
            return;
        end if;
        -- the one in the way finished between the two statements: try again
        id := weft.uuid7();
    end loop;
    insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'INSERT', array[id]);
    if first_state = 'ready' then
        perform weft.wake(the_org, the_lane);
    elsif first_state = 'scheduled' and due < weft.now() + interval '2 seconds' then
        -- whoever leads may look no sooner
        perform pg_notify('weft_jobs', '');
    end if;
end;
$$;
