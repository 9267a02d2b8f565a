-- live: tables of ours whose changes nobody writes into the feed himself. Tasks and runs are written there by the
-- statements that change them; what changes seldom is told by triggers.

-- Which rows; none are named if more than 100 changed, or if the rows have no id.
create function weft.tell_change() returns trigger
language plpgsql
as $$
declare
    ids uuid[];
begin
    select array_agg(c.id) into ids
    from (select r.id from changed as r limit 101) as c;
    if ids is not null then
        insert into weft.change_inbox (table_name, op, ids)
        values (tg_table_name, tg_op, case when cardinality(ids) <= 100 then ids end);
    end if;
    return null;
end;
$$;

create function weft.tell_some_change() returns trigger
language plpgsql
as $$
begin
    insert into weft.change_inbox (table_name, op) values (tg_table_name, tg_op);
    return null;
end;
$$;

create trigger told_of_insert after insert on weft.jobs referencing new table as changed
    for each statement execute function weft.tell_change();
create trigger told_of_update after update on weft.jobs referencing new table as changed
    for each statement execute function weft.tell_change();
create trigger told_of_insert after insert on weft.definitions referencing new table as changed
    for each statement execute function weft.tell_change();
create trigger told_of_update after update on weft.definitions referencing new table as changed
    for each statement execute function weft.tell_change();
create trigger told_of_insert after insert on weft.workflows
    for each statement execute function weft.tell_some_change();
-- a claim under a rate takes tokens out of the row; only what people said is told
create trigger told_of_settings after insert or update of paused, max_running, rate_limit, rate_period, rate_burst
    on weft.queues for each statement execute function weft.tell_some_change();
-- A node's beat changes its row all the time; only that it came, went or changed its status is told.
create trigger told_of_coming after insert or delete on weft.nodes
    for each row execute function weft.tell_some_change();
create trigger told_of_status after update on weft.nodes
    for each row when (old.status is distinct from new.status) execute function weft.tell_some_change();

revoke all on function weft.tell_change(), weft.tell_some_change() from public;
