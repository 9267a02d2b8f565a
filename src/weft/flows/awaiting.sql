-- Runs whose end a task waits for: `awaited_by` in their config is that task.

create index runs_awaited on weft.runs ((config ->> 'awaited_by')) where config ? 'awaited_by';
-- Those that have not ended, for the chore that looks whether somebody still waits.
create index runs_awaited_open on weft.runs (id) where config ? 'awaited_by' and finished_at is null;

-- Wakes the task when the run ends. One that is in a worker's hands is marked, and comes again when it goes to sleep; whose
-- row somebody has locked is left alone, so that nobody waits in a circle: it looks again by itself.
create function weft.tell_awaiting() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog
as $$
declare
    waiting record;
begin
    select t.id, t.org_id, t.lane, t.state, t.concurrency_key into waiting
    from weft.tasks as t
    where t.id = (new.config ->> 'awaited_by')::uuid and t.org_id = new.org_id
    for update skip locked;
    if waiting.state = 'running' then
        update weft.tasks as t
        set told = true
        where t.id = waiting.id;
    elsif waiting.state = 'scheduled' then
        update weft.tasks as t
        -- what shares a key with others is let in by the promoter
        set state = case when waiting.concurrency_key is null then 'ready' else 'scheduled' end,
            run_at = weft.now()
        where t.id = waiting.id;
        insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', array[waiting.id]);
        perform weft.wake(waiting.org_id, waiting.lane);
    end if;
    return null;
end;
$$;

create trigger awaited after update of finished_at on weft.runs
    for each row when (old.finished_at is null and new.finished_at is not null and new.config ? 'awaited_by')
    execute function weft.tell_awaiting();

revoke all on function weft.tell_awaiting() from public;
