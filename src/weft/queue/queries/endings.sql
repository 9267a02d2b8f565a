-- For those who wait for tasks to end: one statement for all of them.

-- The limit keeps it one probe per task: as a join it could be planned as a walk over all history.
-- name: which_ended
select w.id
from unnest(%(orgs)s::uuid[], %(ids)s::uuid[]) as w (org_id, id)
cross join lateral (
    select
    from weft.task_history as h
    where h.org_id = w.org_id and h.id = w.id
    limit 1
) as ended;
