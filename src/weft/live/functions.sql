-- Reactivity for users' own tables: what changed goes into the feed and, as `table:OP:id`, to whoever listens.
--
-- One trigger per kind of statement, because transition tables allow no more. A statement that changed at most 100 rows
-- names them; more are said as one (`table:OP:`, no ids: look again), and so is what a transaction of many small
-- statements changes in the same way after the first 100 rows. So neither a large statement nor a long loop floods anybody.

-- Runs as the owner, so that whoever writes to the table needs no rights in here.
create function weft.notify_change() returns trigger
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

-- The table that a name stands for, if it can be made reactive.
create function weft.reactive_table(target text) returns regclass
language plpgsql stable
as $$
declare
    found regclass := coalesce(to_regclass(target), to_regclass(quote_ident(target)));
    kind "char";
    home name;
begin
    select c.relkind, n.nspname into kind, home
    from pg_class as c
    join pg_namespace as n
        on n.oid = c.relnamespace
    where c.oid = found;
    if kind is null then
        raise exception 'there is no table %; write it as schema.table if it is not on the search path', target
            using errcode = 'invalid_parameter_value';
    elsif kind not in ('r', 'p') then
        raise exception '% is no table; only tables can be made reactive', target
            using errcode = 'invalid_parameter_value';
    elsif home in ('weft', 'pg_catalog', 'information_schema') then
        raise exception '% is not one of your own tables; tasks and runs are reactive as they are', target
            using errcode = 'invalid_parameter_value';
    end if;
    return found;
end;
$$;

create function weft.enable_reactivity(target text) returns void
language plpgsql volatile
as $$
declare
    the_table regclass := weft.reactive_table(target);
begin
    if not exists (
        select
        from pg_attribute as a
        where a.attrelid = the_table and a.attname = 'id' and a.attnum > 0 and not a.attisdropped
    ) then
        raise exception 'the table % has no column id, by which its rows could be named; add one first', target
            using errcode = 'invalid_parameter_value';
    end if;
    execute format(
        'create or replace trigger weft_reactive_insert after insert on %s referencing new table as changed '
        'for each statement execute function weft.notify_change()', the_table);
    execute format(
        'create or replace trigger weft_reactive_update after update on %s referencing new table as changed '
        'for each statement execute function weft.notify_change()', the_table);
    execute format(
        'create or replace trigger weft_reactive_delete after delete on %s referencing old table as changed '
        'for each statement execute function weft.notify_change()', the_table);
    execute format(
        'create or replace trigger weft_reactive_truncate after truncate on %s '
        'for each statement execute function weft.notify_change()', the_table);
end;
$$;

create function weft.disable_reactivity(target text) returns void
language plpgsql volatile
as $$
declare
    the_table regclass := weft.reactive_table(target);
    op text;
begin
    foreach op in array array['insert', 'update', 'delete', 'truncate'] loop
        execute format('drop trigger if exists weft_reactive_%s on %s', op, the_table);
    end loop;
end;
$$;

-- Whoever may make a trigger of it could write into the feed as the owner.
revoke all on function weft.notify_change(), weft.enable_reactivity(text), weft.disable_reactivity(text) from public;
grant execute on function weft.notify_change(), weft.enable_reactivity(text), weft.disable_reactivity(text)
    to weft_engine, weft_tenant;

-- The same under the names of seed 003, where it looks for them. Whoever may not write into `public` goes without.
do $$
begin
    -- a trigger function cannot call another: a copy, for triggers that users write themselves
    execute replace(
        pg_get_functiondef('weft.notify_change()'::regprocedure), 'weft.notify_change', 'public.forge_notify_change');
    -- bodies of this form know what they need, so that they go when the schema weft goes
    execute 'create or replace function public.forge_enable_reactivity(table_name text) returns void '
        'language sql volatile begin atomic select weft.enable_reactivity(table_name); end';
    execute 'create or replace function public.forge_disable_reactivity(table_name text) returns void '
        'language sql volatile begin atomic select weft.disable_reactivity(table_name); end';
    execute 'revoke all on function public.forge_notify_change() from public';
    execute 'grant execute on function public.forge_notify_change() to weft_engine, weft_tenant';
exception when insufficient_privilege then
    raise notice 'the functions forge_… are not made: % may not create in the schema public', current_user;
end;
$$;
