-- What is over, for retention.
create index jobs_over on weft.jobs (greatest(updated_at, last_run_time)) where status in ('COMPLETED', 'DELETED');
