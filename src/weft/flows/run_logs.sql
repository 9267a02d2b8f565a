-- flows: what was written down about a run, besides what its tasks log and how its steps end. Seed 000's words.

create table weft.run_logs (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null,
    run_id uuid not null,
    step_id uuid,
    object_id text not null default '',
    object_type text not null default '',
    note_originator text not null default 'workflow' check (note_originator in ('workflow', 'agent')),
    note_type text not null default 'info' check (note_type in ('error', 'info', 'warning')),
    note_importance smallint not null default 5 check (note_importance between 1 and 10),
    message text not null default '',
    state text not null default '',
    line integer not null default 0,
    file text not null default '',
    details jsonb not null default '{}',
    at timestamptz not null default weft.now()
);

create index run_logs_of_run on weft.run_logs (run_id, at);
create index run_logs_of_object on weft.run_logs (object_id) where object_id <> '';

call weft.org_wall('run_logs');
grant select, insert, update, delete on weft.run_logs to weft_engine, weft_tenant;

-- Where in its sources each statement of a program is, as the lists of its version say it: to be found by id.
create table weft.flow_statements (
    definition_id uuid not null,
    version text not null,
    id text not null,
    org_id uuid not null,
    object_type text not null,
    facet_name text not null,
    file text not null,
    line integer not null,
    -- the block it stands in
    block_id text,
    primary key (definition_id, version, id),
    foreign key (definition_id, version) references weft.definition_versions (definition_id, version) on delete cascade
);

call weft.org_wall('flow_statements');
grant select, insert, update, delete on weft.flow_statements to weft_engine, weft_tenant;
