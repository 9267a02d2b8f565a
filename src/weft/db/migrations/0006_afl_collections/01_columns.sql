alter table weft.plans add column kinds text[] not null default '{}';
alter table weft.nodes add column server jsonb;
