"""`Principal`: on whose behalf something is done. Made from a credential, never from what a request says."""

import dataclasses
import uuid
from typing import Literal

from weft.access.bucket import Limit

Role = Literal["reader", "writer", "admin", "operator", "worker", "attempt"]
"""What a credential may do; api/policy.py says what that is. `operator`: runs the installation, and is an admin of its
own org. `attempt`: a worker in the middle of one task, by its token."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Principal:
    """An org, who acts in it (as the journal shall name them), and in which role."""

    org: uuid.UUID
    actor: str
    role: Role
    scopes: frozenset[str] = frozenset()
    """Actions (`task.read`) or all of a thing (`task.*`) that the credential is held to; none: all that its role may."""
    org_roles: frozenset[str] = frozenset()
    """The org's own roles of a user, as visibility lists name them: `role:finance`."""
    key: uuid.UUID | None = None
    """The key it came with, if it was one."""
    user: uuid.UUID | None = None
    """The user it is, if it is one."""
    session: uuid.UUID | None = dataclasses.field(default=None, compare=False)
    """The browser's session it came with, if it was one; whoever it stands for is the same without it."""
    rate: Limit | None = None
    """What this credential may ask in a second; None: nothing was said."""
    org_rate: Limit | None = None
    """What its org may ask in a second, all together."""


def rate(per_second: int | None, burst: int | None) -> Limit | None:
    """As the columns say it: without a burst, a second's worth at once."""
    return None if per_second is None else Limit(per_second, burst or per_second)
