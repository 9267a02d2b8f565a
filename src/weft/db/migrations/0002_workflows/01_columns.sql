alter table weft.tasks add column told boolean not null default false;
create index tasks_told on weft.tasks (node_id) where told;

alter table weft.runs add column published jsonb, add column patches text[];
alter table weft.steps add column operation text, add column number integer;
