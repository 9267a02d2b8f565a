-- What cannot be read by whoever reads it with others must not be stored: times after the year 9999, numbers beyond doubles.

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
create or replace function weft.check_task(
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

-- Enqueues a JSON array of payloads as tasks of one kind, in one statement; answers their ids in order.
-- With `dedupe_keys` (one per payload, unique among unfinished tasks) a hit answers the id that was there.
create or replace function weft.enqueue_many(
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
        end if;
    end if;
    return query select unnest(made);
end;
$$;

-- Sends a signal to a run inside your own transaction; it is kept until the run takes it.
create or replace function weft.signal(run uuid, name text, value jsonb default null, org uuid default null) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    found_run weft.runs;
    known text[];
begin
    if signal.name is null or signal.name = '' or length(signal.name) > 255 then
        raise exception 'a signal needs a name of 1 to 255 characters' using errcode = 'invalid_parameter_value';
    end if;
    if octet_length(signal.value::text) > 262144 then
        raise exception 'the signal is % bytes of JSON, the limit is 262144', octet_length(signal.value::text)
            using errcode = 'invalid_parameter_value';
    end if;
    perform weft.check_json('the signal', signal.value);
    select r.* into found_run
    from weft.runs as r
    where r.id = signal.run and r.org_id = the_org and r.kind = 'workflow';
    if not found then
        raise exception 'there is no workflow run %', signal.run using errcode = 'no_data_found';
    end if;
    select w.signals into known
    from weft.workflows as w
    where w.name = found_run.name and w.version = found_run.version;
    if not signal.name = any(known) then
        raise exception 'workflow % takes no signal %; it takes: %', quote_literal(found_run.name),
            quote_literal(left(signal.name, 80)), array_to_string(known, ', ')
            using errcode = 'invalid_parameter_value';
    end if;
    return weft.send(signal.run, the_org, 'signal', signal.name, signal.value, null);
end;
$$;
