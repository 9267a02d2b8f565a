-- Browsers that logged in: opened, looked up by the hash of their cookie, listed, ended.

-- A session as `Login` has it, without its hash.
-- piece: login
l.id, l.org_id, l.actor, l.agent, l.created_at, l.expires_at, l.revoked_at

-- name: insert_login
insert into weft.logins as l (org_id, hash, key_id, user_id, actor, agent, expires_at)
values (
    %(org_id)s, %(hash)s, %(key_id)s, %(user_id)s, %(actor)s, %(agent)s, weft.now() + %(lasts)s::interval)
returning
    -- use: login
;

-- Whom a cookie stands for. What its key or its user may is looked up anew: the session is no more than they are.
-- name: find_login
select
    l.id, l.org_id,
    l.revoked_at is not null or l.expires_at <= weft.now(),
    o.suspended_at is not null,
    coalesce(k.revoked_at is not null or k.expires_at <= weft.now(), false),
    l.key_id, k.name, k.role, k.scopes, k.request_rate, k.request_burst,
    l.user_id, u.external_id, u.email, u.role,
    array(
        select r.slug
        from weft.org_role_memberships as m
        join weft.org_roles as r
            on r.id = m.role_id
        where m.user_id = l.user_id),
    o.request_rate, o.request_burst
from weft.logins as l
join weft.orgs as o
    on o.id = l.org_id
left join weft.keys as k
    on k.id = l.key_id
left join weft.users as u
    on u.id = l.user_id
where l.hash = %(hash)s;

-- name: list_logins
select
    -- use: login
from weft.logins as l
where l.org_id = %(org_id)s and l.id < %(before)s and (%(actor)s::text is null or l.actor = %(actor)s)
    and l.revoked_at is null and l.expires_at > weft.now()
order by l.id desc
limit %(take)s;

-- name: revoke_login
update weft.logins as l
set revoked_at = coalesce(l.revoked_at, weft.now())
where l.id = %(id)s and l.org_id = %(org_id)s and (%(actor)s::text is null or l.actor = %(actor)s)
returning
    -- use: login
;

-- name: login_of
select l.id
from weft.logins as l
where l.hash = %(hash)s;

-- name: prune_logins
delete from weft.logins as l
where l.id = any(array(
    select o.id
    from weft.logins as o
    where o.expires_at < weft.now() - %(older)s::interval
    order by o.expires_at
    limit %(take)s));
