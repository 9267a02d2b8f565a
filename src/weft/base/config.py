"""Settings: read once from the environment, overridden by arguments. Documented in docs/reference/settings.md.

`DATABASE_URL` names the database; without it Weft runs its own PostgreSQL in `WEFT_FOLDER`.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from weft.base import errors

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """What a process of ours needs to know before it starts."""

    database_url: str | None = None
    """Where the database is (libpq URL). Unset: the embedded PostgreSQL in `folder`."""

    direct_url: str | None = None
    """A way around a transaction pooler, for LISTEN, leadership and liveness. Unset: `database_url`."""

    pooled: bool = False
    """`database_url` leads through a pooler in transaction mode (PgBouncer): no session state is used on it."""

    folder: Path = Path(".weft")
    """Where the embedded PostgreSQL keeps its data."""

    pool_size: int = 8
    """Most connections one process opens for work, besides the two reserved ones, three while it leads."""

    allow_shell: bool = False
    """Whether this worker runs tasks of the built-in kind `shell`."""

    allow_hosts: tuple[str, ...] = ()
    """Private hosts that the built-in kind `http` may call in spite of the SSRF guard."""

    prompt_url: str | None = None
    """Where prompts of AFL programs are answered: an OpenAI-compatible address, up to and with `/v1`. Unset: nowhere."""

    prompt_key: str | None = dataclasses.field(default=None, repr=False)
    """The key for `prompt_url`; a prompt's own `Credentials` come before it."""

    prompt_model: str = "default"
    """The model for prompts that name none."""

    retention_days: int | None = None
    """Days after which finished tasks are dropped, by whole months. Unset: kept for ever."""

    oidc_issuer: str | None = None
    """Whose tokens users may come with: the issuer's address, exactly as its tokens name it. Unset: keys only."""

    oidc_audience: str | None = None
    """What tokens for this server name as their audience."""

    oidc_jwks_url: str | None = None
    """Where the issuer's keys are. Unset: where its discovery document says."""

    oidc_algorithm: str = "RS256"
    """The one algorithm tokens may be signed with: RS256, PS256, ES256 or EdDSA."""

    oidc_leeway: int = 30
    """Seconds by which the issuer's clock may differ from the database's."""

    oidc_org_claim: str | None = None
    """The claim in which tokens name the org by its slug. Unset: a subject must be a user of one org only."""

    oidc_client_id: str | None = None
    """What the issuer calls this server: people can then log in to its pages with the issuer. Unset: with a key only."""

    oidc_client_secret: str | None = dataclasses.field(default=None, repr=False)
    """What this server proves that with, if the issuer wants more than PKCE."""

    secret_key: str | None = dataclasses.field(default=None, repr=False)
    """Keys that seal secrets, in base64, separated by commas; the first is current."""

    secret_key_file: Path | None = None
    """A file with such keys, one per line."""

    rate_per_key: int = 1000
    """Requests a second that one key may send to all servers together; two seconds' worth may come at once."""

    rate_per_org: int = 2000
    """The same for all keys of an org together."""

    hosts: tuple[str, ...] = ()
    """Host names by which browsers may reach the server. Unset: on loopback only its own names, elsewhere any."""


def load(environ: Mapping[str, str] | None = None, **overrides: object) -> Settings:
    """Settings from the environment; an override that is not None wins."""
    env = os.environ if environ is None else environ
    found: dict[str, object] = {
        "database_url": env.get("WEFT_DATABASE_URL") or env.get("DATABASE_URL") or None,
        "direct_url": env.get("WEFT_DIRECT_URL") or None,
        "pooled": _flag(env, "WEFT_POOLED"),
        "folder": Path(env.get("WEFT_FOLDER") or Settings.folder),
        "pool_size": _number(env, "WEFT_POOL_SIZE", default=Settings.pool_size),
        "allow_shell": _flag(env, "WEFT_ALLOW_SHELL"),
        "allow_hosts": _list(env, "WEFT_ALLOW_HOSTS"),
        "prompt_url": env.get("WEFT_PROMPT_URL") or None,
        "prompt_key": env.get("WEFT_PROMPT_KEY", "").strip() or None,
        "prompt_model": env.get("WEFT_PROMPT_MODEL") or Settings.prompt_model,
        "retention_days": _number(env, "WEFT_RETENTION_DAYS", default=None),
        "oidc_issuer": env.get("WEFT_OIDC_ISSUER") or None,
        "oidc_audience": env.get("WEFT_OIDC_AUDIENCE") or None,
        "oidc_jwks_url": env.get("WEFT_OIDC_JWKS_URL") or None,
        "oidc_algorithm": env.get("WEFT_OIDC_ALGORITHM") or Settings.oidc_algorithm,
        "oidc_leeway": _number(env, "WEFT_OIDC_LEEWAY", default=Settings.oidc_leeway),
        "oidc_org_claim": env.get("WEFT_OIDC_ORG_CLAIM") or None,
        "oidc_client_id": env.get("WEFT_OIDC_CLIENT_ID") or None,
        "oidc_client_secret": env.get("WEFT_OIDC_CLIENT_SECRET") or None,
        "secret_key": env.get("WEFT_SECRET_KEY", "").strip() or None,
        "secret_key_file": Path(env["WEFT_SECRET_KEY_FILE"]) if env.get("WEFT_SECRET_KEY_FILE") else None,
        "rate_per_key": _number(env, "WEFT_RATE_PER_KEY", default=Settings.rate_per_key),
        "rate_per_org": _number(env, "WEFT_RATE_PER_ORG", default=Settings.rate_per_org),
        "hosts": _list(env, "WEFT_HOSTS"),
    }
    found.update({name: value for name, value in overrides.items() if value is not None})
    return Settings(**found)  # type: ignore[arg-type]


def _flag(env: Mapping[str, str], name: str) -> bool:
    text = env.get(name, "").strip().lower()
    if text not in _TRUE | _FALSE:
        raise errors.ConfigError(f"{name}={text!r} is neither true nor false; write 1 or 0")
    return text in _TRUE


def _list(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in env.get(name, "").split(",") if one.strip())


def _number(env: Mapping[str, str], name: str, *, default: int | None) -> int | None:
    text = env.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise errors.ConfigError(f"{name}={text!r} must be a whole number of at least 1")
    return int(text)
