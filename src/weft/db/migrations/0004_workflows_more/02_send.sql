-- Puts a message into a run's inbox and wakes its task. The task's row is locked first: who parks it sees `told`. A run that
-- nobody has in his hands needs no mark, for it reads its inbox when it goes on; only its first wake-up does not.
create or replace function weft.send(run uuid, org uuid, kind text, name text, value jsonb, error jsonb) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    lane text;
    was text;
    made bigint;
begin
    select t.lane, t.state into lane, was
    from weft.tasks as t
    where t.id = send.run and t.org_id = the_org
    for update;
    if not found then
        raise exception 'run % has ended; nothing can be sent to it any more', send.run
            using errcode = 'object_not_in_prerequisite_state';
    end if;
    update weft.tasks as t
    set told = t.told or t.state = 'running' or t.attempt = 0,
        state = case when t.state = 'scheduled' then 'ready' else t.state end,
        run_at = case when t.state = 'scheduled' then weft.now() else t.run_at end
    where t.id = send.run;
    insert into weft.messages (run_id, org_id, kind, name, value, error, heard)
    values (send.run, the_org, send.kind, send.name, send.value, send.error, true)
    returning id into made;
    if was = 'scheduled' then
        perform weft.wake(the_org, lane);
    end if;
    return made;
end;
$$;
