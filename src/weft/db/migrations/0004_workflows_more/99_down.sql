-- @down
drop table weft.answers;
