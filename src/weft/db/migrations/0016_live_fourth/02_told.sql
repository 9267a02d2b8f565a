-- The feed hears of the tasks of workflows too: when one is made, and when something that is sent wakes it. One line each of
-- two long functions.
do $do$
declare
    one record;
    body text;
begin
    for one in
        select p.oid, v.was, v.is_now
        from (
            values
            ('start_workflow', $was$    insert into weft.change_inbox (table_name, op, ids) values ('runs', 'INSERT', array[start_workflow.id]);
$was$, $is$    insert into weft.change_inbox (table_name, op, ids)
    values ('runs', 'INSERT', array[start_workflow.id]), ('tasks', 'INSERT', array[start_workflow.id]);
$is$),
            ('send', $was$    if was = 'scheduled' then
        perform weft.wake(the_org, lane);
$was$, $is$    if was = 'scheduled' then
        insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', array[send.run]);
        perform weft.wake(the_org, lane);
$is$)
        ) as v (name, was, is_now)
        join pg_proc as p
            on p.proname = v.name and p.pronamespace = 'weft'::regnamespace
    loop
        body := pg_get_functiondef(one.oid);
        if strpos(body, one.was) = 0 then
            raise exception 'the function % is not as it must be before this migration', one.oid::regprocedure;
        end if;
        execute replace(body, one.was, one.is_now);
    end loop;
end;
$do$;

create or replace function weft.tell_awaiting() returns trigger
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
