-- The same as constraints, for every door there is. What is there already is brought within them first.

update weft.tasks as t
set run_at = case when t.run_at < '1970-01-01Z' then weft.now() else '9000-01-01Z' end
where t.run_at < '1970-01-01Z' or t.run_at >= '9999-01-01Z';

update weft.tasks as t
set timeout = case when t.timeout > '0' then least(t.timeout, '3660 days') end,
    heartbeat_timeout = case when t.heartbeat_timeout > '0' then least(t.heartbeat_timeout, '3660 days') end,
    retry = case when jsonb_typeof(t.retry) = 'object' then t.retry end,
    tags = array_remove(t.tags, null)
where t.timeout <= '0' or t.timeout > '3660 days' or t.heartbeat_timeout <= '0' or t.heartbeat_timeout > '3660 days'
    or jsonb_typeof(t.retry) <> 'object' or array_position(t.tags, null) is not null;

-- one that has no time is set aside when the scheduler looks at it
update weft.jobs as j
set run_at = null
where j.run_at < '1970-01-01Z' or j.run_at >= '2190-01-01Z';

update weft.jobs as j
set start_at = case when j.start_at >= '1970-01-01Z' and j.start_at < '2190-01-01Z' then j.start_at end,
    end_at = case when j.end_at >= '1970-01-01Z' and j.end_at < '2190-01-01Z' then j.end_at end,
    delay = greatest(least(j.delay, '3660 days'), '0'),
    timeout = least(j.timeout, '3660 days')
where j.start_at < '1970-01-01Z' or j.start_at >= '2190-01-01Z' or j.end_at < '1970-01-01Z' or j.end_at >= '2190-01-01Z'
    or j.delay < '0' or j.delay > '3660 days' or j.timeout > '3660 days';

update weft.runs as r
set logical_date = r.created_at
where r.logical_date < '1970-01-01Z' or r.logical_date >= '3000-01-01Z';

update weft.runs as r
set deadline_at = null
where r.deadline_at >= '9999-01-01Z';

alter table weft.tasks
    add constraint "run_at must be between 1970 and 9998" check (run_at >= '1970-01-01Z' and run_at < '9999-01-01Z'),
    add constraint "a timeout must be more than nothing, and at most ten years" check (
        timeout > '0' and timeout <= '3660 days' and heartbeat_timeout > '0' and heartbeat_timeout <= '3660 days'),
    add constraint "retry must be an object" check (jsonb_typeof(retry) = 'object'),
    add constraint "tags must not be null" check (array_position(tags, null) is null);

alter table weft.jobs
    add constraint "run_at must be between 1970 and 2189" check (run_at >= '1970-01-01Z' and run_at < '2190-01-01Z'),
    add constraint "start_at and end_at must be between 1970 and 2189" check (
        start_at >= '1970-01-01Z' and start_at < '2190-01-01Z' and end_at >= '1970-01-01Z' and end_at < '2190-01-01Z'),
    add constraint "delay must be at most ten years" check (delay >= '0' and delay <= '3660 days'),
    add constraint "timeout must be at most ten years" check (timeout <= '3660 days');

alter table weft.runs
    add constraint "logical_date must be between 1970 and 2999" check (
        logical_date >= '1970-01-01Z' and logical_date < '3000-01-01Z'),
    add constraint "deadline_at must be before 9999" check (deadline_at < '9999-01-01Z');
