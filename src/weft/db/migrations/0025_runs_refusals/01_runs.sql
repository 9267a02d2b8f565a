-- As 0024 for tasks. A migration of its own, because no transaction takes the locks of runs and of tasks in one order.
lock table weft.runs in access exclusive mode;

create index runs_refused on weft.runs (id) where weft.refuse(case
    when kind not in ('dag', 'workflow', 'flow') then 'kind must be dag, workflow or flow'
    when state not in (
        'created', 'running', 'waiting', 'paused', 'completed', 'failed', 'compensating', 'compensated', 'cancelled',
        'blocked'
    ) then 'state must be created, running, waiting, paused, completed, failed, compensating, compensated, cancelled or blocked'
    when trigger not in ('manual', 'schedule', 'backfill', 'run', 'sql')
        then 'trigger must be manual, schedule, backfill, run or sql'
    when logical_date < '1970-01-01Z' or logical_date >= '3000-01-01Z' then 'logical_date must be between 1970 and 2999'
    when deadline_at >= '9999-01-01Z' then 'deadline_at must be before 9999'
end);
comment on index weft.runs_refused is 'Refuses what no run may be. No query uses it, and it is always empty: keep it.';

alter table weft.runs
    drop constraint runs_kind_check,
    drop constraint runs_state_check,
    drop constraint runs_trigger_check,
    drop constraint "logical_date must be between 1970 and 2999",
    drop constraint "deadline_at must be before 9999";
