-- What a workflow takes, as JSON schema: forms are made from it.
alter table weft.workflows add column arguments json;
