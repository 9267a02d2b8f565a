-- Room for the version that a claim writes: on another page it is locked and logged once more, and logged as a whole.
alter table weft.tasks set (fillfactor = 45);
