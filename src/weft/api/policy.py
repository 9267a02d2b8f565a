"""Who may do what: one table, role × action. What is not in it cannot be registered.

A role says what a credential may at most; its scopes, if it has any, hold it to some of that. Whatever is to be done for
somebody (an operation over HTTP, a message on a socket, a button) names its action and asks here.
"""

from collections.abc import Iterable

from weft.access.principal import Principal, Role
from weft.api.operation import Operation
from weft.base import errors

PUBLIC = "public"
"""The action of what needs no credential; only these operations may have it:"""

EXEMPT = frozenset({
    "GET /health", "GET /ready", "POST /v1/login", "GET /v1/login/options", "GET /v1/login/oidc", "GET /v1/login/oidc/back",
})  # fmt: skip
"""(Applications on top name theirs in their dialect.)"""

_READ: frozenset[Role] = frozenset({"reader", "writer", "admin", "operator"})
_WRITE: frozenset[Role] = frozenset({"writer", "admin", "operator"})
_ADMIN: frozenset[Role] = frozenset({"admin", "operator"})
_OPERATE: frozenset[Role] = frozenset({"operator"})
_WORK: frozenset[Role] = frozenset({"worker"})

ACTIONS: dict[str, frozenset[Role]] = {
    "task.read": _READ,
    "task.create": _WRITE,
    "task.cancel": _WRITE,
    "task.redrive": _WRITE,
    "job.read": _READ,
    "job.write": _WRITE,
    "job.trigger": _WRITE,
    "execution.read": _READ,
    "execution.cancel": _WRITE,
    "queue.read": _READ,
    "queue.write": _ADMIN,
    "dead.read": _READ,
    "dead.write": _WRITE,
    "node.read": _READ,
    "node.drain": _ADMIN,
    "node.operate": _OPERATE,  # a worker that serves every org
    "lock.read": _READ,
    "lock.write": _WRITE,
    "lock.force": _ADMIN,
    "key.read": _ADMIN,
    "key.write": _ADMIN,
    "user.read": _ADMIN,
    "user.write": _ADMIN,
    "role.read": _READ,
    "role.write": _ADMIN,
    "org.read": _READ,
    "org.rename": _ADMIN,
    "org.write": _OPERATE,
    "me.read": frozenset({*_READ, "worker"}),
    "metrics.read": _READ,
    "docs.read": frozenset({*_READ, "worker"}),
    "work.claim": _WORK,
    "work.report": frozenset({"worker", "attempt"}),
    "work.secrets": _WORK,
    "secret.read": _ADMIN,
    "secret.write": _ADMIN,
    "audit.read": _ADMIN,
    "dag.read": _READ,
    "dag.write": _WRITE,
    "dag.run": _WRITE,
    "run.read": _READ,
    "run.write": _WRITE,
    "workflow.read": _READ,
    "workflow.run": _WRITE,
    "flow.read": _READ,
    "flow.check": _WRITE,  # changes nothing, but compiling costs something
    "flow.write": _WRITE,
    "flow.run": _WRITE,
    "session.own": _READ,
    "session.admin": _ADMIN,
    "live.read": _READ,
    "demo.crash": _WRITE,
}

UNSCOPED = frozenset({"me.read", "session.own"})
"""No scope holds these back: anybody may know who they are, and leave."""

_RANK: dict[str, int] = {"reader": 0, "writer": 1, "admin": 2, "worker": 2, "operator": 3}
"""What it takes to hand a role to somebody: at least its own rank."""


def check(operations: Iterable[Operation], *, exempt: frozenset[str] = EXEMPT) -> None:
    """ConfigError if an operation is under no policy, or there twice."""
    seen: set[str] = set()
    for operation in operations:
        if operation.action == PUBLIC:
            if operation.name not in exempt:
                raise errors.ConfigError(f"{operation.name} is open to everybody, but not on the list of exemptions")
        elif operation.action not in ACTIONS:
            raise errors.ConfigError(
                f"{operation.name} has the action {operation.action!r}, which api/policy.py does not know; add it there"
            )
        if operation.name in seen:
            raise errors.ConfigError(f"{operation.name} is there twice")
        seen.add(operation.name)


def allows(role: Role, action: str) -> bool:
    """Whether the role may, whatever the credential is held to."""
    return role in ACTIONS.get(action, frozenset())


def allowed(principal: Principal) -> list[str]:
    """Every action that a credential may do, by name."""
    reach = principal.scopes
    return sorted(one for one in ACTIONS if allows(principal.role, one) and (one in UNSCOPED or within(reach, one)))


def within(scopes: frozenset[str], action: str) -> bool:
    """Whether scopes reach as far as an action; no scopes reach everywhere."""
    return not scopes or action in scopes or f"{action.partition('.')[0]}.*" in scopes


def require(principal: Principal, action: str) -> None:
    """Forbidden, naming the roles that may, or what the key is held to."""
    if not allows(principal.role, action):
        may = " or ".join(sorted(ACTIONS[action]))
        raise errors.Forbidden(f"a {principal.role} may not do {action}; come with the role {may}", action=action)
    if action not in UNSCOPED and not within(principal.scopes, action):
        held = ", ".join(sorted(principal.scopes))
        raise errors.Forbidden(
            f"the key is held to {held} and may not do {action}; use one with that scope, or with none", action=action
        )


def scopes() -> tuple[str, ...]:
    """Everything a key can be held to: each action, and all of each thing."""
    return tuple(sorted({*ACTIONS, *(f"{action.partition('.')[0]}.*" for action in ACTIONS)}))


def check_scopes(wanted: Iterable[str]) -> None:
    """InvalidInput for a scope that holds nothing, most likely misspelled."""
    known = scopes()
    for scope in wanted:
        if scope not in known:
            raise errors.InvalidInput(
                f"there is no action {scope[:80]!r} to hold a key to; actions are {', '.join(sorted(ACTIONS))}, "
                f"and e.g. task.* is all of them that begin so"
            )


def must_have(principal: Principal, role: str, scopes: Iterable[str] = ()) -> None:
    """Forbidden if a role with these scopes is more than whoever gives it away has."""
    if _RANK[role] > _RANK.get(principal.role, -1):
        raise errors.Forbidden(
            f"a {principal.role} cannot make somebody {role}: that would be more than they may themselves",
            action=f"give.{role}",
        )
    wanted = list(scopes)
    if principal.scopes and not (wanted and all(_covers(principal.scopes, scope) for scope in wanted)):
        raise errors.Forbidden(
            f"the key is held to {', '.join(sorted(principal.scopes))} and cannot give away more than that; name scopes "
            f"within them, or use a key with none",
            action=f"give.{role}",
        )


def _covers(scopes: frozenset[str], scope: str) -> bool:
    return scope in scopes or f"{scope.partition('.')[0]}.*" in scopes
