"""`Principal`: on whose behalf something is done. Made from a credential, never from what a request says."""

import dataclasses
import uuid
from typing import Literal

Role = Literal["reader", "writer", "admin", "worker", "attempt"]
"""What a key may do; api/policy.py says what that is. `attempt`: a worker in the middle of one task, by its token."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """An org, who acts in it (as the journal shall name them), and in which role."""

    org: uuid.UUID
    actor: str
    role: Role
