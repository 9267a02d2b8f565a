-- Room in each page for the steps in it to be written once more: they begin and end.
alter table weft.steps set (fillfactor = 50);
