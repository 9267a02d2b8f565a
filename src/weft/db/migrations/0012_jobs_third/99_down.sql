-- @down
drop trigger awaited on weft.runs;
drop function weft.tell_awaiting();
drop index weft.runs_awaited, weft.runs_awaited_open;
drop index weft.jobs_over;
-- what is sealed means nothing to the version before, which makes a new one when it is asked
delete from weft.webhook_keys where key_id is not null;
alter table weft.webhook_keys drop column key_id, drop column nonce;
revoke update on weft.webhook_keys from weft_engine;
