"""Who may do what: one table, role × action. What is not in it cannot be registered."""

from collections.abc import Iterable

from weft.access.principal import Principal, Role
from weft.api.operation import Operation
from weft.base import errors

PUBLIC = "public"
"""The action of what needs no credential; only these operations may have it:"""

EXEMPT = frozenset({"GET /health", "GET /ready"})

_READ: frozenset[Role] = frozenset({"reader", "writer", "admin"})
_WRITE: frozenset[Role] = frozenset({"writer", "admin"})
_ADMIN: frozenset[Role] = frozenset({"admin"})
_WORK: frozenset[Role] = frozenset({"worker"})

ACTIONS: dict[str, frozenset[Role]] = {
    "task.read": _READ,
    "task.create": _WRITE,
    "task.cancel": _WRITE,
    "task.redrive": _WRITE,
    "queue.read": _READ,
    "queue.write": _ADMIN,
    "dead.read": _READ,
    "dead.write": _WRITE,
    "node.read": _READ,
    "lock.read": _READ,
    "lock.write": _WRITE,
    "lock.force": _ADMIN,
    "key.read": _ADMIN,
    "key.write": _ADMIN,
    "metrics.read": _READ,
    "docs.read": frozenset({*_READ, "worker"}),
    "work.claim": _WORK,
    "work.report": frozenset({"worker", "attempt"}),
    "work.secrets": _WORK,
    "secret.read": _ADMIN,
    "secret.write": _ADMIN,
    "audit.read": _ADMIN,
}


def check(operations: Iterable[Operation]) -> None:
    """ConfigError if an operation is under no policy, or there twice."""
    seen: set[str] = set()
    for operation in operations:
        if operation.action == PUBLIC:
            if operation.name not in EXEMPT:
                raise errors.ConfigError(f"{operation.name} is open to everybody, but not on the list of exemptions")
        elif operation.action not in ACTIONS:
            raise errors.ConfigError(
                f"{operation.name} has the action {operation.action!r}, which api/policy.py does not know; add it there"
            )
        if operation.name in seen:
            raise errors.ConfigError(f"{operation.name} is there twice")
        seen.add(operation.name)


def allows(role: Role, action: str) -> bool:
    return role in ACTIONS.get(action, frozenset())


def require(principal: Principal, action: str) -> None:
    """Forbidden, naming the roles that may."""
    if not allows(principal.role, action):
        may = " or ".join(sorted(ACTIONS[action]))
        raise errors.Forbidden(f"a {principal.role} key may not do {action}; use a key with the role {may}")
