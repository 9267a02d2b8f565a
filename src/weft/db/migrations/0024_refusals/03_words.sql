-- A text becomes a domain without a check as it is: nothing is written anew. The check is then asked of what is there.
create domain weft.change_op as text;
alter table weft.change_inbox
    drop constraint change_inbox_op_check,
    alter column op type weft.change_op;
alter domain weft.change_op add constraint change_op_check check (value in ('INSERT', 'UPDATE', 'DELETE'));

create domain weft.final_state as text check (value in ('completed', 'failed', 'timed_out', 'cancelled'));
create domain weft.end_reason as text check (
    value in ('dead', 'lost', 'discarded', 'refused', 'requested', 'skipped'));

-- Not asked of what is there, which the old ones held to the same words: all history would be read while nobody may write.
-- The next migration does it, while everybody works.
alter table weft.task_history
    drop constraint task_history_state_check,
    drop constraint task_history_reason_check,
    add constraint task_history_words check (num_nulls(state::weft.final_state, reason::weft.end_reason) is not null) not valid;
