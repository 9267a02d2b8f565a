create or replace function weft.start(
    name text,
    params jsonb default '{}',
    what text default 'dag',
    key text default null,
    logical_date timestamptz default null,
    org uuid default null
) returns uuid
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    found_definition weft.definitions;
    made uuid;
begin
    if jsonb_typeof(start.params) is distinct from 'object' then
        raise exception 'params must be a JSON object' using errcode = 'invalid_parameter_value';
    end if;
    if octet_length(start.params::text) > 262144 then
        raise exception 'params are % bytes of JSON, the limit is 262144', octet_length(start.params::text)
            using errcode = 'invalid_parameter_value';
    end if;
    if start.key is not null then
        perform weft.check_key('key', start.key);
    end if;
    if start.what = 'workflow' then
        return (select w.id from weft.start_workflow(start.name, start.params, key => start.key, org => the_org) as w);
    end if;
    if start.what = 'flow' then
        return weft.start_flow(start.name, start.params, key => start.key, logical_date => start.logical_date, org => the_org);
    end if;
    select d.* into found_definition
    from weft.definitions as d
    where d.org_id = the_org and d.kind = start.what and d.name = start.name and d.status <> 'deleted';
    if not found then
        raise exception 'there is no % named %; create it first', start.what, quote_nullable(left(start.name, 80))
            using errcode = 'invalid_parameter_value';
    end if;
    insert into weft.runs (
        org_id, kind, name, definition_id, version, plan_hash, params, idempotency_key, trigger, logical_date)
    select
        the_org, start.what, start.name, found_definition.id, v.version, v.plan_hash, start.params, start.key, 'sql',
        coalesce(start.logical_date, weft.now())
    from weft.definition_versions as v
    where v.definition_id = found_definition.id and v.version = found_definition.version
    on conflict (org_id, kind, name, idempotency_key) where idempotency_key is not null do nothing
    returning id into made;
    if made is null then
        select r.id into made
        from weft.runs as r
        where r.org_id = the_org and r.kind = start.what and r.name = start.name and r.idempotency_key = start.key;
    else
        insert into weft.change_inbox (table_name, op, ids) values ('runs', 'INSERT', array[made]);
    end if;
    return made;
end;
$$;
