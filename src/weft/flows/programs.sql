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
