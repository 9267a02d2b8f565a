-- @down
drop schema if exists afl cascade;
drop schema if exists forge cascade;
drop schema if exists orchestration cascade;
drop schema if exists scheduler cascade;
drop schema weft cascade;
