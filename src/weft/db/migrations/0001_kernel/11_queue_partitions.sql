-- Partitions of task_history and task_logs: one a month, made ahead by a chore, dropped by retention.
-- They belong to the owner, so the engine reaches them through these two functions only.

create table weft.task_history_default partition of weft.task_history default;
create table weft.task_logs_default partition of weft.task_logs default;

-- Makes the partitions of the current month and the months ahead; answers how many were new.
create function weft.make_partitions(months_ahead integer default 2) returns integer
language plpgsql security definer set search_path = pg_catalog set timezone = 'UTC'
as $$
declare
    parent text;
    child text;
    first timestamptz;
    low uuid;
    high uuid;
    made integer := 0;
begin
    -- two leaders at once must not both try
    perform pg_advisory_xact_lock(hashtextextended('weft.make_partitions', 0));
    foreach parent in array array['task_history', 'task_logs'] loop
        for first in
            select generate_series(
                date_trunc('month', weft.now(), 'UTC'),
                date_trunc('month', weft.now(), 'UTC') + months_ahead * interval '1 month',
                interval '1 month')
        loop
            child := parent || to_char(first at time zone 'UTC', '"_"YYYY"_"MM');
            continue when to_regclass(format('weft.%I', child)) is not null;
            low := weft.uuid7_floor(first);
            high := weft.uuid7_floor(first + interval '1 month');
            -- Made apart and attached: `partition of` would lock the whole history, and refuse while rows of this
            -- month lie in the default partition, where they go if nobody made partitions for a while.
            execute format('lock table weft.%I in access exclusive mode', parent || '_default');
            execute format('create table weft.%I (like weft.%I including defaults including constraints)', child, parent);
            execute format(
                'with moved as (delete from weft.%1$I where %2$I >= $1 and %2$I < $2 returning *) '
                'insert into weft.%3$I select * from moved',
                parent || '_default', case parent when 'task_logs' then 'task_id' else 'id' end, child) using low, high;
            execute format(
                'alter table weft.%I attach partition weft.%I for values from (%L) to (%L)', parent, child, low, high);
            made := made + 1;
        end loop;
    end loop;
    return made;
end;
$$;

-- Drops the partitions that hold nothing younger than the given instant; answers their names.
create function weft.drop_partitions(older_than timestamptz) returns setof text
language plpgsql security definer set search_path = pg_catalog set timezone = 'UTC'
as $$
declare
    child record;
begin
    for child in
        select c.relname, p.relname as parent
        from pg_inherits as i
        join pg_class as c on c.oid = i.inhrelid
        join pg_class as p on p.oid = i.inhparent
        where p.relnamespace = 'weft'::regnamespace
            and p.relname in ('task_history', 'task_logs')
            and c.relname ~ '_\d{4}_\d{2}$'
            and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= older_than at time zone 'UTC'
        order by c.relname
    loop
        execute format('drop table weft.%I', child.relname);
        return next child.relname;
    end loop;
end;
$$;

revoke all on function weft.make_partitions(integer) from public;
revoke all on function weft.drop_partitions(timestamptz) from public;
grant execute on function weft.make_partitions(integer) to weft_engine;
grant execute on function weft.drop_partitions(timestamptz) to weft_engine;

select weft.make_partitions();
