-- @down
alter table weft.tasks reset (fillfactor);
