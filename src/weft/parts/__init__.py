"""What `app.jobs`, `app.dags` and `app.runs` are: the calls of each, over the one database of their app."""
