create view forge.forge_sessions with (security_invoker = true) as
select
    s.id,
    s.node_id,
    s.actor::varchar(255) as user_id,
    s.connected_at,
    s.last_activity,
    s.status::varchar(32) as status
from weft.live_sessions as s;

create view forge.forge_subscriptions with (security_invoker = true) as
select
    s.id,
    s.session_id,
    s.query_name::varchar(255) as query_name,
    s.query_hash::varchar(64) as query_hash,
    s.args,
    s.created_at
from weft.live_subscriptions as s;

grant select on forge.forge_sessions, forge.forge_subscriptions to weft_engine, weft_tenant;
