-- @down
-- the schemas of the views may be somebody else's too: only what is ours goes
do $$
declare
    ours text;
begin
    for ours in
        select format('%I.%I', v.schemaname, v.viewname)
        from pg_views as v
        where v.schemaname in ('afl', 'aiopslab', 'forge', 'orchestration', 'scheduler') and v.definition like '%weft.%'
    loop
        execute format('drop view %s', ours);
    end loop;
end;
$$;
drop function if exists afl.milliseconds(timestamptz);
drop schema weft cascade;
