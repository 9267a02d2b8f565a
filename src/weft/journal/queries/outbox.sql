-- What must be sent. A try is fenced by its number: who sends for longer than the lease has lost the letter to another.

-- name: post
insert into weft.outbox (org_id, topic, subject, url, body)
values (%(org_id)s, %(topic)s, %(subject)s, %(url)s, %(body)s)
returning id;

-- name: take_letters
with due as (
    select o.id
    from weft.outbox as o
    where o.state = 'waiting' and o.next_at <= weft.now()
    order by o.next_at, o.id
    limit %(take)s
    for update skip locked
)
update weft.outbox as o
set attempts = o.attempts + 1,
    next_at = weft.now() + %(lease)s
from due as d
where o.id = d.id
returning o.id, o.org_id, o.topic, o.url, o.body, o.attempts, weft.now();

-- name: letter_delivered
update weft.outbox as o
set state = 'delivered', status = %(status)s, problem = null, delivered_at = weft.now()
where o.id = %(id)s and o.attempts = %(attempt)s and o.state = 'waiting';

-- Without a delay it is given up.
-- name: letter_failed
update weft.outbox as o
set state = case when %(delay)s::interval is null then 'dead' else 'waiting' end,
    next_at = weft.now() + coalesce(%(delay)s, interval '0'),
    status = %(status)s,
    problem = %(problem)s
where o.id = %(id)s and o.attempts = %(attempt)s and o.state = 'waiting';

-- name: letters_about
select o.id, o.topic, o.url, o.state, o.attempts, o.created_at, o.next_at, o.status, o.problem, o.delivered_at
from weft.outbox as o
where o.org_id = %(org_id)s and o.subject = %(subject)s
order by o.id;

-- name: prune_letters
delete from weft.outbox as o
where o.id = any(array(
    select d.id
    from weft.outbox as d
    where d.state = 'delivered' and d.delivered_at < weft.now() - %(older)s
    order by d.delivered_at
    limit %(take)s
));
