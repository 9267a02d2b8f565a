"""`/v1/task/secrets`: what a worker without a database needs to run a task whose payload names secrets.

It takes a worker key as well as the attempt's token, gives only what this task's payload names, only while the lease
lasts, and only secrets that were said to be `remote`. Each time is in the audit trail.
"""

import msgspec

from weft.access import keyring
from weft.access import secrets as kernel
from weft.api import work_proof
from weft.api.operation import Call, Operation
from weft.api.worker_types import Attempt
from weft.base import errors, references
from weft.journal import record
from weft.queue import remote


class Given(msgspec.Struct):
    """Values by name. Put them where the payload says `${secrets.NAME}`, and nowhere else."""

    secrets: dict[str, str]


async def give(call: Call[Attempt, None]) -> Given:
    proof = (await work_proof.of(call, call.body)).proof
    org = call.principal.org
    # the engine, because the task is a worker's and boxes are nobody else's to see; the org is the key's
    async with call.engine_tx() as tx:
        found = await remote.fetch(tx, id=proof.task, token=proof.lease)
        if found is None or (found.org, found.attempt) != (proof.org, proof.attempt) or found.org != str(org):
            raise errors.LeaseLost
        if not (names := references.names(found.payload)):
            return Given({})
        ring = keyring.load(call.database.settings)
        values = await kernel.opened(tx, ring, org=org, names=names, over_http=True)
        await record.record(
            tx, org_id=org, actor=call.principal.actor, action="secret.give", object_type="task", object_id=found.id,
            after={"names": sorted(names), "attempt": found.attempt},
        )  # fmt: skip
    return Given(values)


OPERATIONS = (
    Operation(
        "POST", "/v1/task/secrets", action="work.secrets", handler=give, summary="The secrets that a task's payload names",
        description="For an attempt in your hands, right before you start it. Needs a worker key besides the token in the "
        "body, and gives only secrets set as `remote`. Do not log or return them.",
        body=Attempt, answer=Given, errors=("LEASE_LOST", "NOT_FOUND", "REFUSED", "NO_SECRET_KEY"),
        example={"token": "weftt_eyJhbGciOiJIUzI1NiIs…"}, answer_example={"secrets": {"SMTP_PASSWORD": "…"}},
    ),
)  # fmt: skip
