-- @down
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
        perform weft.wake(waiting.org_id, waiting.lane);
    end if;
    return null;
end;
$$;

do $do$
declare
    one record;
    body text;
begin
    for one in
        select p.oid, v.was, v.is_now
        from (
            values
            ('start_workflow', $was$    insert into weft.change_inbox (table_name, op, ids)
    values ('runs', 'INSERT', array[start_workflow.id]), ('tasks', 'INSERT', array[start_workflow.id]);
$was$, $is$    insert into weft.change_inbox (table_name, op, ids) values ('runs', 'INSERT', array[start_workflow.id]);
$is$),
            ('send', $was$    if was = 'scheduled' then
        insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', array[send.run]);
        perform weft.wake(the_org, lane);
$was$, $is$    if was = 'scheduled' then
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

create or replace function weft.notify_change() returns trigger
language plpgsql security definer set search_path = pg_catalog
as $$
declare
    most constant integer := 100;
    counter constant text := 'weft.reactive_' || tg_relid;
    said integer := coalesce(nullif(current_setting(counter, true), ''), '0')::integer;
    op constant text := case tg_op when 'TRUNCATE' then 'DELETE' else tg_op end;
    ids text[];
    named uuid[];
    one text;
begin
    -- once too much was said in this transaction, it has been said that there is more
    if said > most then
        return null;
    end if;
    if tg_level = 'ROW' then
        if tg_op = 'DELETE' then
            ids := array[coalesce(old.id::text, '')];
        else
            ids := array[coalesce(new.id::text, '')];
        end if;
    elsif tg_op <> 'TRUNCATE' then
        select array_agg(coalesce(c.id, '')) into ids
        from (select r.id::text from changed as r limit most + 1) as c;
        if ids is null then
            return null;
        end if;
    end if;
    said := said + coalesce(cardinality(ids), most + 1);
    perform set_config(counter, said::text, true);
    if said > most then
        ids := array[''];
    elsif not ids && array[''] and (
        select a.atttypid
        from pg_attribute as a
        where a.attrelid = tg_relid and a.attname = 'id'
    ) = 'uuid'::regtype then
        named := ids::uuid[];
    end if;
    insert into weft.change_inbox (table_name, op, ids) values (tg_table_schema || '.' || tg_table_name, op, named);
    foreach one in array ids loop
        -- a notification may be 8,000 bytes long; an id of that length is none
        perform pg_notify('forge_changes', tg_table_name || ':' || op || ':' || left(one, 1000));
    end loop;
    return null;
end;
$$;

do $$
begin
    execute replace(
        pg_get_functiondef('weft.notify_change()'::regprocedure), 'weft.notify_change', 'public.forge_notify_change');
exception when insufficient_privilege then
    raise notice 'public.forge_notify_change() stays as it was: % may not change it', current_user;
end;
$$;
