-- Workflows that workers declare are told of, as definitions are.
create trigger told_of_insert after insert on weft.workflows
    for each statement execute function weft.tell_some_change();
