-- A node's beat changes its row all the time; only that it came, went or changed its status is told.
create trigger told_of_coming after insert or delete on weft.nodes
    for each row execute function weft.tell_some_change();
create trigger told_of_status after update on weft.nodes
    for each row when (old.status is distinct from new.status) execute function weft.tell_some_change();
