-- Reads all history, as long as that takes; everybody goes on working. Alone, so that it holds no other lock meanwhile.
alter table weft.task_history validate constraint task_history_words;
-- @down
-- what was found to be so stays so
