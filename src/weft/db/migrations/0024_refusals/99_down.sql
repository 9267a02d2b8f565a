-- @down
lock table weft.tasks, weft.task_history, weft.change_inbox in access exclusive mode;

alter table weft.tasks
    add constraint tasks_state_check check (state in ('scheduled', 'blocked', 'ready', 'running')),
    add constraint tasks_urgency_check check (urgency between 0 and 100),
    add constraint tasks_max_attempts_check check (max_attempts between 1 and 1000),
    add constraint tasks_concurrency_check check (concurrency >= 0),
    add constraint tasks_progress_check check (progress between 0 and 100),
    add constraint tasks_check check ((concurrency_key is null) = (concurrency is null)),
    add constraint tasks_check1 check ((state = 'running') = (lease_token is not null)),
    add constraint "run_at must be between 1970 and 9998" check (run_at >= '1970-01-01Z' and run_at < '9999-01-01Z'),
    add constraint "a timeout must be more than nothing, and at most ten years" check (
        timeout > '0' and timeout <= '3660 days' and heartbeat_timeout > '0' and heartbeat_timeout <= '3660 days'),
    add constraint "retry must be an object" check (jsonb_typeof(retry) = 'object'),
    add constraint "tags must not be null" check (array_position(tags, null) is null);
drop index weft.tasks_refused;
drop function weft.refuse;

alter table weft.change_inbox
    alter column op type text,
    add constraint change_inbox_op_check check (op in ('INSERT', 'UPDATE', 'DELETE'));
drop domain weft.change_op;

-- this reads all history
alter table weft.task_history
    drop constraint task_history_words,
    add constraint task_history_state_check check (state in ('completed', 'failed', 'timed_out', 'cancelled')),
    add constraint task_history_reason_check check (
        reason in ('dead', 'lost', 'discarded', 'refused', 'requested', 'skipped'));
drop domain weft.final_state;
drop domain weft.end_reason;
