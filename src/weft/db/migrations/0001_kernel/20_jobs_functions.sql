-- weft.schedule, weft.unschedule: a job from any language, inside its own transaction. They only write it down: the
-- scheduler reads cron expression, zone and payload when the transaction has committed, and sets aside what is wrong.

create function weft.schedule(
    name text,
    payload jsonb,
    cron text default null,
    timezone text default 'UTC',
    run_at timestamptz default null,
    delay interval default null,
    queue text default 'default',
    priority integer default 5,
    max_attempts integer default 3,
    timeout interval default null,
    tags text[] default '{}',
    misfire text default 'fire_once',
    overlap text default 'allow',
    org uuid default null
) returns uuid
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    most integer;
    made uuid;
begin
    if num_nonnulls(cron, schedule.run_at, schedule.delay) <> 1 then
        raise exception 'give one of cron, run_at and delay' using errcode = 'invalid_parameter_value';
    end if;
    if length(cron) > 100 then
        raise exception 'a cron expression has at most 100 characters, this one %', length(cron)
            using errcode = 'invalid_parameter_value';
    end if;
    -- what it will be as a task: names, sizes and depth
    perform weft.check_task(schedule.name, schedule.payload, schedule.queue, 50, schedule.tags, schedule.max_attempts, null);
    select o.max_jobs into most from weft.orgs as o where o.id = the_org;
    if most is not null then
        perform pg_advisory_xact_lock(hashtextextended('weft.jobs ' || the_org, 0));
        if (select count(*) from weft.jobs as j where j.org_id = the_org and j.status in ('ACTIVE', 'PAUSED')) >= most then
            raise exception 'the org has % jobs, which is all it may have', most using errcode = 'invalid_parameter_value';
        end if;
    end if;
    insert into weft.jobs (
        org_id, name, job_type, cron_expression, timezone, run_at, delay, payload, queue, priority, max_attempts,
        timeout, tags, misfire, overlap, due_at)
    values (
        the_org, schedule.name, case when cron is not null then 'CRON' when schedule.delay is not null then 'DELAYED' else 'ONE_TIME' end,
        cron, schedule.timezone, coalesce(schedule.run_at, weft.now() + schedule.delay), schedule.delay, schedule.payload,
        schedule.queue, schedule.priority, schedule.max_attempts, schedule.timeout, coalesce(schedule.tags, '{}'),
        schedule.misfire, schedule.overlap, weft.now())
    on conflict (org_id, name) where status <> 'DELETED' do nothing
    returning id into made;
    if made is null then
        raise exception 'there is a job named % already; choose another name, or weft.unschedule it first',
            quote_literal(schedule.name) using errcode = 'invalid_parameter_value';
    end if;
    perform pg_notify('weft_jobs', '');
    return made;
end;
$$;

-- Ends a job: nothing of it fires from the commit on. What was dispatched goes on. Answers whether there was one.
create function weft.unschedule(name text, org uuid default null) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
begin
    update weft.jobs as j
    set status = 'DELETED', next_run_time = null, due_at = null, version = j.version + 1, updated_at = weft.now()
    where j.org_id = the_org and j.name collate "C" = unschedule.name and j.status <> 'DELETED';
    return found;
end;
$$;

do $$
declare
    callable text;
begin
    foreach callable in array array['schedule', 'unschedule'] loop
        execute format('revoke all on function weft.%I from public', callable);
        execute format('grant execute on function weft.%I to weft_engine, weft_tenant', callable);
    end loop;
end;
$$;
