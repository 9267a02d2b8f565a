-- queue: how much waited, looked at once a minute by the chore that counts what ended.

create table weft.queue_minutes (
    org_id uuid not null,
    -- '': all queues together, kept for long; those of each queue are kept for days
    queue text not null,
    minute timestamptz not null,
    -- not counted further than 10,000 in a queue
    ready integer not null,
    running integer not null,
    -- seconds since the oldest that waited had become due
    oldest real not null,
    primary key (org_id, queue, minute)
);

create index queue_minutes_by_age on weft.queue_minutes (minute);

call weft.org_wall('queue_minutes');
grant select, insert, delete on weft.queue_minutes to weft_engine;
grant select on weft.queue_minutes to weft_tenant;
