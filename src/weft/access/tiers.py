"""Tiers: what an org's quotas are if nobody says otherwise. Written into the org's row, which alone counts."""

import dataclasses
from typing import Literal

Tier = Literal["free", "standard", "enterprise"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quotas:
    """Null: no limit (of requests: the server's own)."""

    max_jobs: int | None = None
    max_concurrent: int | None = None
    request_rate: int | None = None
    request_burst: int | None = None
    weight: int = 1


QUOTAS: dict[Tier, Quotas] = {
    "free": Quotas(max_jobs=100, max_concurrent=10, request_rate=20, request_burst=40),
    "standard": Quotas(),
    "enterprise": Quotas(weight=4),
}
