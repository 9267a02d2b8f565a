"""Outgoing HTTP. No tables.

Whoever calls a URL that a user wrote goes through `http.call`, and so through the guard:

    text ─ url.parse ─→ Url ─ guard.check ─→ Target (host, port, checked addresses) ─ http.call ─→ Response

Invariants: a host is resolved once and the connection goes to one of the addresses that were checked, so an answer
that changes between check and connect (DNS rebinding) changes nothing; every redirect is checked like a first
request; no proxy, cookie or .netrc of the machine takes part.
"""
