-- Users, and the roles an org makes up itself.

-- A user as `User` has it, with the slugs of the org's own roles.
-- piece: user
u.id, u.org_id, u.external_id, u.email, u.role, u.created_at,
array(
    select r.slug
    from weft.org_role_memberships as m
    join weft.org_roles as r
        on r.id = m.role_id
    where m.user_id = u.id
    order by r.slug)

-- name: insert_user
insert into weft.users (org_id, external_id, email, role)
values (%(org_id)s, %(external_id)s, %(email)s, %(role)s)
on conflict (org_id, external_id) do nothing
returning id, org_id, external_id, email, role, created_at, '{}'::text[];

-- name: get_user
select
    -- use: user
from weft.users as u
where u.id = %(id)s and u.org_id = %(org_id)s;

-- name: list_users
select
    -- use: user
from weft.users as u
where u.org_id = %(org_id)s and u.id < %(before)s
    and (%(email)s::text is null or u.email = %(email)s)
    and (
        %(role)s::text is null
        or exists (
            select
            from weft.org_role_memberships as m
            join weft.org_roles as r
                on r.id = m.role_id
            where m.user_id = u.id and r.org_id = u.org_id and r.slug = %(role)s))
order by u.id desc
limit %(take)s;

-- name: lock_user
select u.email, u.role
from weft.users as u
where u.id = %(id)s and u.org_id = %(org_id)s
for update;

-- name: change_user
update weft.users as u
set email = %(email)s, role = %(role)s
where u.id = %(id)s and u.org_id = %(org_id)s;

-- name: remove_user
delete from weft.users as u
where u.id = %(id)s and u.org_id = %(org_id)s
returning u.external_id, u.email, u.role;

-- Whom a token's subject stands for, and the time to judge the token by. At most two: more than one is too many.
-- name: find_subject
select
    weft.now(), u.id, u.org_id, u.external_id, u.email, u.role,
    array(
        select r.slug
        from weft.org_role_memberships as m
        join weft.org_roles as r
            on r.id = m.role_id
        where m.user_id = u.id),
    o.suspended_at is not null, o.request_rate, o.request_burst
from (select) as always
left join weft.users as u
    on u.external_id = %(external_id)s
    and (%(slug)s::text is null or u.org_id = (select s.id from weft.orgs as s where s.slug = %(slug)s))
left join weft.orgs as o
    on o.id = u.org_id
limit 2;

-- A role as `OrgRole` has it.
-- piece: role
r.id, r.org_id, r.slug, r.name, r.created_at,
(select count(*)::integer from weft.org_role_memberships as m where m.role_id = r.id)

-- name: insert_role
insert into weft.org_roles (org_id, slug, name)
values (%(org_id)s, %(slug)s, %(name)s)
on conflict (org_id, slug) do nothing
returning id, org_id, slug, name, created_at, 0;

-- name: get_role
select
    -- use: role
from weft.org_roles as r
where r.slug = %(slug)s and r.org_id = %(org_id)s;

-- name: list_roles
select
    -- use: role
from weft.org_roles as r
where r.org_id = %(org_id)s and r.slug > %(after)s
order by r.slug
limit %(take)s;

-- name: remove_role
delete from weft.org_roles as r
where r.slug = %(slug)s and r.org_id = %(org_id)s
returning r.name;

-- Nothing if either is not of this org, or they belong together already.
-- name: assign_role
insert into weft.org_role_memberships (org_id, role_id, user_id)
select r.org_id, r.id, u.id
from weft.org_roles as r
join weft.users as u
    on u.org_id = r.org_id
where r.org_id = %(org_id)s and r.slug = %(slug)s and u.id = %(user_id)s
on conflict (role_id, user_id) do nothing;

-- name: unassign_role
delete from weft.org_role_memberships as m
using weft.org_roles as r
where r.id = m.role_id and r.org_id = %(org_id)s and r.slug = %(slug)s and m.user_id = %(user_id)s;
