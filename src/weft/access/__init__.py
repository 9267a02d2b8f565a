"""Who may come in: orgs, keys, and the principal that a credential stands for.

    Authorization: Bearer weft_…   ──sha-256──▶ weft.keys ──▶ Principal(org, actor, role)

Invariants. A key's text is shown once, when it is made; only its hash is kept. The org comes from the credential and
from nowhere else. A key that was revoked or has expired opens nothing, everywhere, within a second.
"""
