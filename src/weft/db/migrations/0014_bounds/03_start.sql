drop function weft.start;
drop function weft.start_flow;

-- The workflow that is meant: by its qualified name, or by the name of a flow that has only one.
create function weft.flow_named(
    wanted text, org uuid, out definition_id uuid, out version text, out name text, out plan_hash text
)
language plpgsql stable security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    how_many bigint;
begin
    select w.definition_id, w.version, w.name, w.plan_hash, count(*) over ()
    into flow_named.definition_id, flow_named.version, flow_named.name, flow_named.plan_hash, how_many
    from weft.flow_workflows as w
    join weft.definitions as d
        on d.id = w.definition_id and d.version = w.version and d.status <> 'deleted'
    where w.org_id = flow_named.org and flow_named.wanted in (w.name, d.name);
    if how_many is null then
        raise exception 'there is no flow or workflow named %; submit it first', quote_nullable(left(flow_named.wanted, 80))
            using errcode = 'invalid_parameter_value';
    end if;
    if how_many > 1 then
        raise exception 'several workflows are meant by %; give the qualified name of one that only one flow has',
            quote_nullable(left(flow_named.wanted, 80))
            using errcode = 'invalid_parameter_value';
    end if;
end;
$$;

-- called by weft.try_start alone
revoke all on function weft.flow_named from public;

-- Answers the run's id, and whether it is new: with a key that a run of this name has, that run's.
create function weft.try_start(
    name text,
    params jsonb default '{}',
    what text default 'dag',
    key text default null,
    logical_date timestamptz default null,
    org uuid default null,
    config jsonb default '{}',
    tags text[] default null,
    out id uuid,
    out created boolean
)
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    meant record;
begin
    if jsonb_typeof(try_start.params) is distinct from 'object'
        or jsonb_typeof(try_start.config) is distinct from 'object'
    then
        raise exception 'params and config must be JSON objects' using errcode = 'invalid_parameter_value';
    end if;
    if octet_length(try_start.params::text) > 262144 then
        raise exception 'params are % bytes of JSON, the limit is 262144', octet_length(try_start.params::text)
            using errcode = 'invalid_parameter_value';
    end if;
    -- other names in it are the engine's own; what the values must be is seen when the run is let in
    if try_start.config - '{queue,priority,timeout_seconds}'::text[] <> '{}'
        or octet_length(try_start.config::text) > 4096
    then
        raise exception 'config may have queue, priority and timeout_seconds' using errcode = 'invalid_parameter_value';
    end if;
    perform weft.check_json('params', try_start.params);
    if try_start.key is not null then
        perform weft.check_key('key', try_start.key);
    end if;
    if try_start.what = 'workflow' then
        if try_start.config <> '{}' or try_start.tags is not null then
            raise exception 'a workflow takes no config and no tags' using errcode = 'invalid_parameter_value';
        end if;
        select w.id, w.created into try_start.id, try_start.created
        from weft.start_workflow(try_start.name, try_start.params, key => try_start.key, org => the_org) as w;
        return;
    end if;
    if try_start.what = 'flow' then
        select f.definition_id, f.version, f.name, f.plan_hash into meant
        from weft.flow_named(try_start.name, the_org) as f;
    else
        select d.id as definition_id, v.version, d.name, v.plan_hash into meant
        from weft.definitions as d
        join weft.definition_versions as v
            on v.definition_id = d.id and v.version = d.version
        where d.org_id = the_org and d.kind = try_start.what and d.name = try_start.name and d.status <> 'deleted';
        if not found then
            raise exception 'there is no % named %; create it first', try_start.what, quote_nullable(left(try_start.name, 80))
                using errcode = 'invalid_parameter_value';
        end if;
    end if;
    insert into weft.runs as r (
        org_id, kind, name, definition_id, version, plan_hash, params, config, idempotency_key, trigger, logical_date, tags)
    values (
        the_org, try_start.what, meant.name, meant.definition_id, meant.version, meant.plan_hash, try_start.params,
        try_start.config, try_start.key, 'sql', coalesce(try_start.logical_date, weft.now()), nullif(try_start.tags, '{}'))
    on conflict (org_id, kind, name, idempotency_key) where idempotency_key is not null do nothing
    returning r.id into try_start.id;
    try_start.created := try_start.id is not null;
    if try_start.created then
        insert into weft.change_inbox (table_name, op, ids) values ('runs', 'INSERT', array[try_start.id]);
    else
        select r.id into try_start.id
        from weft.runs as r
        where r.org_id = the_org and r.kind = try_start.what and r.name = meant.name and r.idempotency_key = try_start.key;
    end if;
end;
$$;

create function weft.start(
    name text,
    params jsonb default '{}',
    what text default 'dag',
    key text default null,
    logical_date timestamptz default null,
    org uuid default null,
    config jsonb default '{}',
    tags text[] default null
) returns uuid
language sql volatile set search_path = pg_catalog
as $$
    select s.id from weft.try_start(name, params, what, key, logical_date, org, config, tags) as s
$$;

revoke all on function weft.try_start from public;
revoke all on function weft.start from public;
grant execute on function weft.try_start to weft_engine, weft_tenant;
grant execute on function weft.start to weft_engine, weft_tenant;
