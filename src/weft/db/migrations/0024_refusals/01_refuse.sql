-- What a task must be is asked by the condition of an index, which is read once per session, and no longer by checks, which every
-- statement reads anew. No column that a statement answers changes its type: one that was prepared before would be refused.
--
-- The one look at every task takes a third of a second for a million. Nobody reads or writes meanwhile: all locks are taken
-- here, in the order in which the end of a task takes them. If somebody holds one for longer than a migration waits (60 s) it
-- fails, and nothing was done.
lock table weft.tasks, weft.task_history, weft.change_inbox in access exclusive mode;

create function weft.refuse(why text) returns boolean
language plpgsql immutable strict parallel safe set search_path = pg_catalog
as $$
begin
    raise exception using message = why, errcode = 'check_violation', constraint = why;
end;
$$;
