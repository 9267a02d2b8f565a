-- What is sent to runs of workflows, and what they answer.

-- name: load_messages
select m.run_id::text, m.id, m.kind, m.name, m.value::text, m.error
from weft.messages as m
where m.run_id = any(%(ids)s::uuid[])
order by m.id;

-- Messages to runs that are over.
-- name: drop_messages
delete from weft.messages as m
where m.id = any(array(
    select u.id
    from weft.messages as u
    where not u.heard and not exists (select from weft.tasks as t where t.id = u.run_id)
    order by u.id
    limit %(take)s
));

-- Answers that nobody has waited for this long.
-- name: drop_answers
delete from weft.answers as a
where a.message_id = any(array(
    select o.message_id
    from weft.answers as o
    where o.at < weft.now() - %(keep)s::interval
    order by o.at
    limit %(take)s
));

-- What a run answered to a request, and whether it is over.
-- name: read_answer
select a.message_id is not null, a.value, a.refused, r.finished_at is not null, r.state
from weft.runs as r
left join weft.answers as a
    on a.message_id = %(message)s::bigint and a.run_id = r.id
where r.id = %(run)s::uuid and r.org_id = %(org)s::uuid and r.kind = 'workflow';
