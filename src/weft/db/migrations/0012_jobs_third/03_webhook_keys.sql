-- Keys of webhooks are sealed as secrets are, where there is a key to seal them with.
alter table weft.webhook_keys
    add column key_id text,
    add column nonce bytea,
    add check ((key_id is null) = (nonce is null));
grant update on weft.webhook_keys to weft_engine;
