-- Lists of runs by name.
create index runs_by_name on weft.runs (org_id, name, id);
