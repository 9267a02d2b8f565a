-- A claim writes a second entry beside each: in a full leaf it made room for it by splitting.
alter index weft.tasks_pkey set (fillfactor = 50);
