-- @down
alter table weft.runs
    add constraint runs_kind_check check (kind in ('dag', 'workflow', 'flow')),
    add constraint runs_state_check check (state in (
        'created', 'running', 'waiting', 'paused', 'completed', 'failed', 'compensating', 'compensated', 'cancelled',
        'blocked')),
    add constraint runs_trigger_check check (trigger in ('manual', 'schedule', 'backfill', 'run', 'sql')),
    add constraint "logical_date must be between 1970 and 2999" check (
        logical_date >= '1970-01-01Z' and logical_date < '3000-01-01Z'),
    add constraint "deadline_at must be before 9999" check (deadline_at < '9999-01-01Z');
drop index weft.runs_refused;
