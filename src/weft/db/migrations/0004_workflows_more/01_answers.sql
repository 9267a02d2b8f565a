-- What runs answered to whom they were asked by: whoever sent the message waits for it here.
create table weft.answers (
    message_id bigint primary key,
    run_id uuid not null,
    org_id uuid not null,
    value jsonb,
    -- why not
    refused text,
    at timestamptz not null default weft.now()
);

create index answers_by_time on weft.answers (at);

call weft.org_wall('answers');
grant select, insert, update, delete on weft.answers to weft_engine;
grant select on weft.answers to weft_tenant;
