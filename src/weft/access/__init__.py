"""Who may come in: orgs, users and their roles, keys, and the principal that a credential stands for; secrets, rate limits
and allowed hosts.

    Authorization: Bearer weft_…   ──sha-256──▶ weft.keys ─────┐
    Authorization: Bearer eyJ…     ──issuer's key──▶ weft.users ─┴▶ Principal(org, actor, role, scopes, org_roles)

Invariants. A key's text is shown once, when it is made; only its hash is kept. The org comes from the credential and
from nowhere else. A credential that was revoked or has expired, whose user is gone or whose org is suspended opens
nothing, everywhere, within a second. What writes these tables for a request is confined to the request's org by the
database as well (`Database.tx(org=…, engine=True)`). The value of a secret is in no table and no answer: sealed by a key
that the database never has, opened for one attempt. Buckets give no more than they say.
"""
