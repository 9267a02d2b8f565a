-- The rest of what any language calls: weft.lane, weft.enqueue, weft.enqueue_many, weft.cancel.

-- The range of the claim index a task lives in: its queue, then what it needs, in one canonical order.
create function weft.lane(queue text, capabilities text[]) returns text
language sql immutable parallel safe set search_path = pg_catalog
as $$
    select concat_ws('+', lane.queue, (
        -- not by the database's own collation: Python must come to the same name
        select string_agg(distinct n.needed, '+' order by n.needed)
        from (select c collate "C" as needed from unnest(capabilities) as c) as n))
$$;

create function weft.enqueue(
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
    parent_id uuid default null
) returns uuid
language sql volatile set search_path = pg_catalog
as $$
    select t.id
    from weft.try_enqueue(
        kind, payload, queue, priority, run_at, delay, max_attempts, retry, timeout, heartbeat_timeout,
        capabilities, dedupe_key, dedupe, concurrency_key, concurrency, tags, org, correlation_id, trace_parent,
        parent_id) as t
$$;

-- Enqueues a JSON array of payloads as tasks of one kind, in one statement; answers their ids in order.
-- With `dedupe_keys` (one per payload, unique among unfinished tasks) a hit answers the id that was there.
create function weft.enqueue_many(
    kind text,
    payloads jsonb,
    queue text default 'default',
    priority integer default 50,
    run_at timestamptz default null,
    delay interval default null,
    max_attempts integer default null,
    retry jsonb default null,
    timeout interval default null,
    capabilities text[] default null,
    dedupe_keys text[] default null,
    tags text[] default null,
    org uuid default null,
    correlation_id text default null,
    trace_parent text default null,
    parent_id uuid default null
) returns setof uuid
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    due constant timestamptz := coalesce(enqueue_many.run_at, weft.now() + coalesce(delay, interval '0'));
    the_lane constant text := weft.lane(enqueue_many.queue, capabilities);
    made uuid[];
    largest jsonb;
begin
    if jsonb_typeof(payloads) is distinct from 'array' then
        raise exception 'payloads must be a JSON array of objects' using errcode = 'invalid_parameter_value';
    end if;
    if dedupe_keys is not null and cardinality(dedupe_keys) <> jsonb_array_length(payloads) then
        raise exception 'there must be one dedupe key per payload' using errcode = 'invalid_parameter_value';
    end if;
    perform weft.check_task(enqueue_many.kind, '{}', enqueue_many.queue, priority, capabilities,
        enqueue_many.max_attempts, null);
    -- one cheap look at the whole; item by item only if the whole is large enough to hide a bad one
    if octet_length(payloads::text) > 262144 or regexp_count(payloads::text, '[\[{]') > 64 + jsonb_array_length(payloads) then
        perform weft.check_task(enqueue_many.kind, p.value, enqueue_many.queue, priority, capabilities, null, null)
        from jsonb_array_elements(payloads) as p
        where octet_length(p.value::text) > 262144 or regexp_count(p.value::text, '[\[{]') > 64;
    end if;
    perform weft.check_json('a payload', payloads);
    if exists (select from jsonb_array_elements(payloads) as p where jsonb_typeof(p.value) <> 'object') then
        raise exception 'every payload must be a JSON object' using errcode = 'invalid_parameter_value';
    end if;
    if dedupe_keys is not null then
        return query
        select t.id
        from (
            -- in the order of the keys: two that enqueue the same keys must not wait for each other
            select p.value, p.ordinality
            from jsonb_array_elements(payloads) with ordinality as p
            order by dedupe_keys[p.ordinality]
        ) as p
        cross join lateral weft.try_enqueue(
            enqueue_many.kind, p.value, enqueue_many.queue, priority, due, null, enqueue_many.max_attempts,
            enqueue_many.retry, enqueue_many.timeout, null, capabilities, dedupe_keys[p.ordinality],
            'unfinished', null, 1, enqueue_many.tags, the_org, enqueue_many.correlation_id,
            enqueue_many.trace_parent, enqueue_many.parent_id) as t
        order by p.ordinality;
        return;
    end if;
    with inserted as (
        insert into weft.tasks (
            id, org_id, kind, queue, lane, payload, state, urgency, max_attempts, run_at, tags, retry, timeout, parent_id,
            correlation_id, trace_parent)
        select
            (run.prefix || lpad(to_hex(run.low + p.n), 12, '0'))::uuid, the_org, enqueue_many.kind, enqueue_many.queue, the_lane, p.value,
            case when due > weft.now() then 'scheduled' else 'ready' end, 100 - priority, enqueue_many.max_attempts,
            due, enqueue_many.tags, enqueue_many.retry, enqueue_many.timeout, enqueue_many.parent_id,
            enqueue_many.correlation_id, enqueue_many.trace_parent
        from weft.uuid7_run() as run
        cross join jsonb_array_elements(payloads) with ordinality as p (value, n)
        returning id
    )
    select array_agg(i.id) into made from inserted as i;
    if made is not null then
        insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'INSERT', case when cardinality(made) <= 100 then made end);
        if due <= weft.now() then
            perform weft.wake(the_org, the_lane);
        elsif due < weft.now() + interval '2 seconds' then
            perform pg_notify('weft_jobs', '');
        end if;
    end if;
    return query select unnest(made);
end;
$$;

-- Asks for a task's end. A queued one leaves the claim order with this transaction, a running one is told by its
-- worker's next beat; settle then ends it. Answers 'cancelled', 'cancelling', 'finished' (too late) or 'unknown'.
create function weft.cancel(id uuid, org uuid default null) returns text
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    now_state text;
begin
    update weft.tasks as t
    set cancel_requested_at = coalesce(t.cancel_requested_at, weft.now()),
        state = case t.state when 'running' then t.state else 'blocked' end
    where t.id = cancel.id and t.org_id = the_org
    returning t.state into now_state;
    if found then
        insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', array[cancel.id]);
        return case now_state when 'running' then 'cancelling' else 'cancelled' end;
    end if;
    return case
        when exists (select from weft.task_history as h where h.org_id = the_org and h.id = cancel.id) then 'finished'
        else 'unknown'
    end;
end;
$$;

do $$
declare
    callable text;
begin
    foreach callable in array array['try_enqueue', 'enqueue', 'enqueue_many', 'cancel'] loop
        execute format('revoke all on function weft.%I from public', callable);
        execute format('grant execute on function weft.%I to weft_engine, weft_tenant', callable);
    end loop;
end;
$$;
