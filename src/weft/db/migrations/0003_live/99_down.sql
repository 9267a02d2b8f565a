-- @down
drop view forge.forge_subscriptions, forge.forge_sessions;
drop function if exists public.forge_enable_reactivity(text), public.forge_disable_reactivity(text);
-- the triggers that make tables of yours reactive go with it
drop function if exists public.forge_notify_change() cascade;
drop function weft.notify_change() cascade;
drop function weft.enable_reactivity(text), weft.disable_reactivity(text), weft.reactive_table(text);
drop table weft.live_subscriptions, weft.live_sessions, weft.logins;
