-- queue: an org's max_concurrent is said in its row and nowhere else, whoever writes it.

-- What runs when a limit is set counts against it from then on.
create function weft.count_running_of_org() returns trigger
language plpgsql set search_path = pg_catalog
as $$
begin
    update weft.tasks as t
    set limited = true
    where t.state = 'running' and not t.limited and t.org_id = new.id;
    return null;
end;
$$;

create trigger count_running
after update of max_concurrent on weft.orgs
for each row
when (new.max_concurrent is not null)
execute function weft.count_running_of_org();
