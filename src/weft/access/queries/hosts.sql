-- Private hosts that an org's tasks may call.

-- name: allow_host
insert into weft.allowed_hosts (org_id, entry, created_by)
values (%(org_id)s, %(entry)s, %(actor)s)
on conflict (org_id, entry) do nothing;

-- name: forbid_host
delete from weft.allowed_hosts as h
where h.org_id = %(org_id)s and h.entry = %(entry)s;

-- name: allowed_hosts
select h.entry
from weft.allowed_hosts as h
where h.org_id = %(org_id)s
order by h.entry;
