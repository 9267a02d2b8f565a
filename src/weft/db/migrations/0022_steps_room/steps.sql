-- A step that ends is written on its own page: half a page was not quite enough for that.
alter table weft.steps set (fillfactor = 40);
-- @down
alter table weft.steps set (fillfactor = 50);
