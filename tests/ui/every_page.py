"""Every page and every tab of one, by its address; `{…}` are ids of the stage."""

PAGES = [
    "/", "/queues", "/queues/default", "/tasks?state=failed&kind=breaks", "/tasks/{task}", "/tasks/{task}?tab=attempts",
    "/tasks/{task}?tab=log", "/dead", "/workers", "/workers/{node}", "/lab", "/lab/{problem}",
    "/lab/{problem}?tab=conversation", "/lab/{problem}?tab=log", "/lab/{problem}?tab=parameters", "/settings",
    "/settings?tab=orgs", "/settings?tab=users", "/settings?tab=roles", "/settings?tab=keys", "/settings?tab=secrets",
    "/settings?tab=audit", "/no/such/page",
    "/runs", "/runs?state=failed&kind=dag", "/runs/{done}", "/runs/{failed}?tab=timeline", "/runs/{failed}?tab=steps",
    "/runs/{approved}", "/runs/{approved}?tab=data", "/runs/{done}?tab=logs", "/runs/{approved}?tab=events",
    "/runs/{waiting}", "/jobs", "/jobs?tab=calendar", "/jobs/{job}", "/dags", "/dags/{dag}", "/dags/{dag}?tab=runs",
    "/dags/{dag}?tab=versions&from=1&to=2", "/dags/{dag}?tab=params", "/workflows", "/workflows/checkout", "/flows",
    "/flows/{flow}", "/flows/{flow}?tab=graph", "/flows/{flow}?tab=runs",
]  # fmt: skip
