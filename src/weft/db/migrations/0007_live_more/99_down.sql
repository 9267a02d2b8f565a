-- @down
drop trigger told_of_insert on weft.jobs;
drop trigger told_of_update on weft.jobs;
drop trigger told_of_insert on weft.definitions;
drop trigger told_of_update on weft.definitions;
drop trigger told_of_settings on weft.queues;
drop function weft.tell_change(), weft.tell_some_change();
drop index weft.runs_by_name;
drop table weft.task_minutes, weft.task_minutes_until;
drop index weft.task_history_ended;
