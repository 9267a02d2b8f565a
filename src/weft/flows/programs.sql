-- flows: AFL programs. A flow is a definition; each version of it has its sources, and a plan for each of its workflows.

create table weft.flow_versions (
    definition_id uuid not null,
    version text not null,
    org_id uuid not null,
    -- where it came from, in its author's words
    path text not null default '',
    -- the files as they were written: [{name, text, library}]
    sources jsonb not null,
    -- the lists of seed 000's FlowDefinition, but for the sources and plans, which are here and in `plans`
    lists jsonb not null,
    primary key (definition_id, version),
    foreign key (definition_id, version) references weft.definition_versions (definition_id, version) on delete cascade
);

create table weft.flow_workflows (
    definition_id uuid not null,
    version text not null,
    -- its qualified name; runs of it have that name
    name text not null,
    org_id uuid not null,
    -- the same in every version of the flow
    id uuid not null,
    number integer not null,
    plan_hash text not null,
    documentation text not null default '',
    primary key (definition_id, version, name),
    foreign key (definition_id, version) references weft.definition_versions (definition_id, version) on delete cascade,
    foreign key (org_id, plan_hash) references weft.plans (org_id, hash)
);

create index flow_versions_by_path on weft.flow_versions (org_id, path) where path <> '';
create index flow_workflows_by_name on weft.flow_workflows (org_id, name);
create index flow_workflows_by_id on weft.flow_workflows (id);

call weft.org_wall('flow_versions', 'flow_workflows');
grant select, insert, update, delete on weft.flow_versions, weft.flow_workflows to weft_engine, weft_tenant;

-- A run of a workflow: by the workflow's qualified name, or by the name of a flow that has only one.
create function weft.start_flow(
    name text,
    params jsonb default '{}',
    key text default null,
    logical_date timestamptz default null,
    org uuid default null
) returns uuid
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    meant record;
    made uuid;
begin
    select w.definition_id, w.version, w.name, w.plan_hash, count(*) over () as how_many
    into meant
    from weft.flow_workflows as w
    join weft.definitions as d
        on d.id = w.definition_id and d.version = w.version and d.status <> 'deleted'
    where w.org_id = the_org and start_flow.name in (w.name, d.name);
    if not found then
        raise exception 'there is no flow or workflow named %; submit it first', quote_nullable(left(start_flow.name, 80))
            using errcode = 'invalid_parameter_value';
    end if;
    if meant.how_many > 1 then
        raise exception 'several workflows are meant by %; give the qualified name of one that only one flow has',
            quote_nullable(left(start_flow.name, 80))
            using errcode = 'invalid_parameter_value';
    end if;
    insert into weft.runs (
        org_id, kind, name, definition_id, version, plan_hash, params, idempotency_key, trigger, logical_date)
    values (
        the_org, 'flow', meant.name, meant.definition_id, meant.version, meant.plan_hash, start_flow.params, start_flow.key,
        'sql', coalesce(start_flow.logical_date, weft.now()))
    on conflict (org_id, kind, name, idempotency_key) where idempotency_key is not null do nothing
    returning id into made;
    if made is null then
        select r.id into made
        from weft.runs as r
        where r.org_id = the_org and r.kind = 'flow' and r.name = meant.name and r.idempotency_key = start_flow.key;
    else
        insert into weft.change_inbox (table_name, op, ids) values ('runs', 'INSERT', array[made]);
    end if;
    return made;
end;
$$;

-- called by weft.start alone, which checks params and key
revoke all on function weft.start_flow from public;
