-- A node says with its beat whether it holds tasks: where nobody does, whoever leads need not look five times a second.
alter table weft.nodes add column busy boolean not null default false;
