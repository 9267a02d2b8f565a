-- queue: how many tasks ended in each minute, counted once by a chore, so that a chart of a week reads a few thousand rows.

-- The history grows in the order in which tasks end, so that this index is a few pages and costs a writer next to nothing.
create index task_history_ended on weft.task_history using brin (finished_at)
    with (pages_per_range = 16, autosummarize = on);

create table weft.task_minutes (
    org_id uuid not null,
    -- '': all queues together, kept for long; those of each queue are kept for days
    queue text not null,
    minute timestamptz not null,
    completed integer not null default 0,
    -- failed and timed out
    failed integer not null default 0,
    cancelled integer not null default 0,
    primary key (org_id, queue, minute)
);

create index task_minutes_by_age on weft.task_minutes (minute);

-- Everything that ended before this instant has been counted.
create table weft.task_minutes_until (
    one boolean primary key default true check (one),
    until timestamptz not null
);

insert into weft.task_minutes_until (until) values (date_trunc('minute', weft.now()));

call weft.org_wall('task_minutes');
grant select, insert, delete on weft.task_minutes to weft_engine;
grant select on weft.task_minutes to weft_tenant;

call weft.wall('task_minutes_until');
create policy tenant on weft.task_minutes_until for select to weft_tenant using (true);
grant select, update on weft.task_minutes_until to weft_engine;
grant select on weft.task_minutes_until to weft_tenant;
