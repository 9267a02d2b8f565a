-- @down
drop trigger told_of_insert on weft.workflows;
drop table weft.queue_minutes;
alter table weft.workflows drop column arguments;
