-- Enqueue goes through the same functions that SQL users call: one rule, whoever asks.

-- name: enqueue
select t.id, t.created
from weft.try_enqueue(
    kind => %(kind)s::text, payload => %(payload)s::jsonb, queue => %(queue)s::text, priority => %(priority)s::integer, run_at => %(run_at)s::timestamptz,
    delay => %(delay)s::interval, max_attempts => %(max_attempts)s::integer, retry => %(retry)s::jsonb, timeout => %(timeout)s::interval,
    heartbeat_timeout => %(heartbeat_timeout)s::interval, capabilities => %(capabilities)s::text[], dedupe_key => %(dedupe_key)s::text,
    dedupe => %(dedupe)s::text, concurrency_key => %(concurrency_key)s::text, concurrency => %(concurrency)s::integer, tags => %(tags)s::text[],
    org => %(org)s::uuid, correlation_id => %(correlation_id)s::text, trace_parent => %(trace_parent)s::text,
    parent_id => %(parent_id)s::uuid, job_id => %(job_id)s::uuid, run_id => %(run_id)s::uuid, step_id => %(step_id)s::uuid,
    scheduled_for => %(scheduled_for)s::timestamptz
) as t;

-- name: enqueue_many
select weft.enqueue_many(
    kind => %(kind)s::text, payloads => %(payloads)s::jsonb, queue => %(queue)s::text, priority => %(priority)s::integer, run_at => %(run_at)s::timestamptz,
    delay => %(delay)s::interval, max_attempts => %(max_attempts)s::integer, retry => %(retry)s::jsonb, timeout => %(timeout)s::interval,
    capabilities => %(capabilities)s::text[], dedupe_keys => %(dedupe_keys)s::text[], tags => %(tags)s::text[], org => %(org)s::uuid,
    correlation_id => %(correlation_id)s::text, trace_parent => %(trace_parent)s::text, parent_id => %(parent_id)s::uuid
);

-- The same with keys, which also says of each whether it is new. In the order of the keys: two that enqueue the same
-- keys must not wait for each other.
-- name: enqueue_keyed
select t.id, t.created
from (
    select p.value, p.ordinality, (%(dedupe_keys)s::text[])[p.ordinality] as dedupe_key
    from jsonb_array_elements(%(payloads)s::jsonb) with ordinality as p
    order by 3
) as p
cross join lateral weft.try_enqueue(
    kind => %(kind)s::text, payload => p.value, queue => %(queue)s::text, priority => %(priority)s::integer, run_at => %(run_at)s::timestamptz,
    delay => %(delay)s::interval, max_attempts => %(max_attempts)s::integer, retry => %(retry)s::jsonb, timeout => %(timeout)s::interval,
    capabilities => %(capabilities)s::text[], dedupe_key => p.dedupe_key, tags => %(tags)s::text[], org => %(org)s::uuid,
    correlation_id => %(correlation_id)s::text, trace_parent => %(trace_parent)s::text, parent_id => %(parent_id)s::uuid
) as t
order by p.ordinality;

-- Whether any worker is known to serve a kind; asked before a kind this app does not know is enqueued.
-- name: kind_is_served
select exists (
    select
    from weft.nodes as n
    where n.status <> 'dead' and %(kind)s = any(n.handlers)
);

-- name: cancel_intent
select weft.cancel(%(id)s::uuid, %(org)s::uuid);
