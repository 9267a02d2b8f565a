-- What a transaction says of a reactive table is counted by operation: many inserts do not hide a delete.
create or replace function weft.notify_change() returns trigger
language plpgsql security definer set search_path = pg_catalog
as $$
declare
    most constant integer := 100;
    op constant text := case tg_op when 'TRUNCATE' then 'DELETE' else tg_op end;
    -- each kind of change by itself: who was told of many new rows must still hear that one is gone
    counter constant text := 'weft.reactive_' || tg_relid || '_' || lower(op);
    said integer := coalesce(nullif(current_setting(counter, true), ''), '0')::integer;
    ids text[];
    named uuid[];
    one text;
begin
    -- once too much of this was said in this transaction, it has been said that there is more
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
