alter table weft.plans add column kinds text[] not null default '{}';
