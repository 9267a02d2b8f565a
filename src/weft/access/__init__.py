"""Who may come in: orgs, keys, and the principal that a credential stands for; secrets, rate limits and allowed hosts.

    Authorization: Bearer weft_…   ──sha-256──▶ weft.keys ──▶ Principal(org, actor, role)

Invariants. A key's text is shown once, when it is made; only its hash is kept. The org comes from the credential and
from nowhere else. A key that was revoked or has expired opens nothing, everywhere, within a second. The value of a secret
is in no table and no answer: sealed by a key that the database never has, opened for one attempt. Buckets give no more than
they say.
"""
