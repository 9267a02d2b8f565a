-- db: the ground every other schema file stands on.

create schema weft;

-- Everything done by Weft itself: claim, settle, upkeep. Row-level security lets it see all orgs.
-- Everything done on behalf of a user runs as weft_tenant and sees one org: weft.current_org().
-- Roles belong to the whole server, so another database may have made them already.
do $$
declare
    wanted text;
begin
    foreach wanted in array array['weft_engine', 'weft_tenant'] loop
        begin
            execute format('create role %I nologin', wanted);
        exception when duplicate_object or unique_violation then
            null;
        end;
    end loop;
    if not pg_has_role('weft_engine', 'weft_tenant', 'member') then
        grant weft_tenant to weft_engine;
    end if;
    execute format('grant weft_engine to %I', current_user);
exception when invalid_grant_operation then
    null;
end;
$$;

grant usage on schema weft to weft_engine, weft_tenant;

-- Row-level security for tables, by name: the owner and the engine see every row. What a tenant may is said beside it.
create procedure weft.wall(variadic names text[])
language plpgsql set search_path = pg_catalog
as $$
declare
    name text;
begin
    foreach name in array names loop
        execute format('alter table weft.%I enable row level security', name);
        execute format('alter table weft.%I force row level security', name);
        execute format('create policy owner on weft.%I to current_user using (true) with check (true)', name);
        execute format('create policy engine on weft.%I to weft_engine using (true) with check (true)', name);
    end loop;
end;
$$;

-- The same for tables of which each org has rows of its own: a tenant sees and writes those.
create procedure weft.org_wall(variadic names text[])
language plpgsql set search_path = pg_catalog
as $$
declare
    name text;
begin
    call weft.wall(variadic names);
    foreach name in array names loop
        execute format(
            'create policy tenant on weft.%I to weft_tenant '
            'using (org_id = weft.current_org()) with check (org_id = weft.current_org())', name);
    end loop;
end;
$$;

revoke all on procedure weft.wall, weft.org_wall from public;

-- A table's checks are read from their text and planned anew by every statement that writes to it, a quarter of an enqueue in a
-- trial; the condition of an index is read once per session. So what the busiest tables must be is the condition of an index
-- that nothing enters: `where weft.refuse(case when … then 'what is wrong' … end)`. It holds for whoever writes, as a check
-- does. It is STRICT: where nothing is wrong it is not even called. Not for a column that is written often and stands in no
-- other index: each change of it would be written to all of them.
create function weft.refuse(why text) returns boolean
language plpgsql immutable strict parallel safe set search_path = pg_catalog
as $$
begin
    raise exception using message = why, errcode = 'check_violation', constraint = why;
end;
$$;

-- The one clock. STABLE and inlinable: a volatile one cost 70 ms where this costs 0.005.
-- weft.testing replaces it by one that tests can set.
create function weft.now() returns timestamptz
language sql stable parallel safe
return statement_timestamp();

-- The org of this transaction, or null. Set by `db.tx` with set_config(..., is_local => true).
create function weft.current_org() returns uuid
language sql stable parallel safe
return nullif(current_setting('weft.org', true), '')::uuid;

-- The smallest uuid7 of an instant: turns a time into a bound on ids.
create function weft.uuid7_floor(at timestamptz) returns uuid
language sql immutable parallel safe
return (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid;

-- The instant a uuid7 was made, to the millisecond.
create function weft.uuid7_time(id uuid) returns timestamptz
language sql immutable parallel safe
return to_timestamp(
    ('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0
);

-- A uuid7 with microseconds in rand_a, so that ids made in one millisecond keep their order.
-- PostgreSQL 18 has its own, ten times faster.
do $$
begin
    if current_setting('server_version_num')::int >= 180000 then
        create function weft.uuid7() returns uuid
        language sql volatile parallel safe
        return uuidv7();
    else
        create function weft.uuid7() returns uuid
        language sql volatile parallel safe
        as $body$
            select (
                lpad(to_hex(t.us / 1000), 12, '0')
                || '7' || lpad(to_hex((t.us % 1000) * 4), 3, '0')
                || substr(translate(gen_random_uuid()::text, '-', ''), 17)
            )::uuid
            from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) as t
        $body$;
    end if;
end;
$$;

-- A run of uuid7s in order: the n-th is (prefix || lpad(to_hex(low + n), 12, '0'))::uuid. One draw for all of them,
-- because a server built without OpenSSL opens /dev/urandom for each.
create function weft.uuid7_run(out prefix text, out low bigint)
language sql volatile parallel safe
as $$
    select left(i.id::text, 24), ('x' || right(i.id::text, 12))::bit(48)::bigint & x'7fffffffffff'::bigint
    from (select weft.uuid7() as id offset 0) as i
$$;

create table weft.migrations (
    id integer generated always as identity primary key,
    name text not null unique,
    applied_at timestamptz not null default weft.now(),
    checksum text not null,
    down_sql text
);

grant select on weft.migrations to weft_engine, weft_tenant;
