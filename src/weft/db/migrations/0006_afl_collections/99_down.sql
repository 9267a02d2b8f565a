-- @down
alter table weft.plans drop column kinds;
