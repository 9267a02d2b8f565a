-- A run of which nothing runs and which waits for nothing is found by a chore, and says so.
alter table weft.runs add column stalled_at timestamptz;
create index runs_going on weft.runs (id) where state in ('running', 'waiting', 'compensating');
-- @down
alter table weft.runs drop column stalled_at;
drop index weft.runs_going;
