"""A stand-in for a cluster: scripted incidents and an agent that follows rules, so that everything runs on a laptop.

Nothing here is AIOpsLab: no cluster, no model. A problem's id names the incident and what is asked of the agent, as
AIOpsLab's ids do: `pod-crash-detection-1`, `port-misconfig-localization-1`, `…-analysis-1`, `…-mitigation-1`.
"""

import asyncio
import dataclasses

from weft.contrib.aiopslab.executors.problem import CannotRun, Json, Outcome, Problem, Say

PACE = 0.2
"""Seconds that a step takes; `agent_config.pace` says otherwise."""

ASKED = ("detection", "localization", "analysis", "mitigation")


@dataclasses.dataclass(frozen=True)
class Incident:
    """What is wrong, where, why, and what would help; and what one sees when one looks."""

    service: str
    cause: str
    remedy: str
    sights: dict[str, str]


INCIDENTS = {
    "port-misconfig": Incident(
        "user-service", "the service's targetPort is 9999, its container listens on 9090",
        'patch service user-service targetPort=9090',
        {
            "get pods": "all pods are Running and Ready",
            "get logs": "frontend: connection refused by user-service:9090",
            "describe service": "user-service: port 9090, targetPort 9999, endpoints none",
        },
    ),
    "pod-crash": Incident(
        "geo", "the container is killed: it needs more memory than its limit", "set resources geo memory=256Mi",
        {
            "get pods": "geo-7c9f: CrashLoopBackOff, 14 restarts",
            "get logs": "geo: killed",
            "describe service": "geo-7c9f: last state OOMKilled, limit 32Mi",
        },
    ),
    "auth-missing": Incident(
        "mongodb-rate", "the database user has no password since its secret was changed", "apply secret mongodb-rate",
        {
            "get pods": "all pods are Running and Ready",
            "get logs": "rate: SCRAM authentication failed against mongodb-rate",
            "describe service": "mongodb-rate: secret mongodb-rate has no key password",
        },
    ),
    "no-fault": Incident(
        "", "", "",
        {"get pods": "all pods are Running and Ready", "get logs": "nothing unusual", "describe service": "as it should be"},
    ),
}  # fmt: skip

PROBLEMS = tuple(f"{name}-{asked}-1" for name in INCIDENTS for asked in ASKED if name != "no-fault" or asked == "detection")

_SIGNS = ("refused", "CrashLoopBackOff", "failed", "killed")


async def run(problem: Problem, say: Say) -> Outcome:
    incident, asked = _read(problem.problem_id)
    pace = problem.agent_config.get("pace", PACE)
    pace = float(pace) if isinstance(pace, int | float) and 0 <= pace <= 60 else PACE
    say.log(f"the stand-in environment has begun {problem.problem_id}", action="init_problem", details={"simulated": True})
    say.said("system", f"Something may be wrong with the application. Your task: {asked}.")
    seen: list[str] = []
    steps = 0
    for look, sight in incident.sights.items():
        if steps >= problem.max_steps:
            break
        steps += 1
        await asyncio.sleep(pace)
        say.said("assistant", f'exec_shell("kubectl {look}")')
        say.said("user", sight)
        say.log(f"kubectl {look}: {sight}", step=steps, action="exec_shell")
        seen.append(sight)
        if asked == "detection" and any(sign in sight for sign in _SIGNS):
            break
    answer = conclude(asked, seen=seen, incident=incident)
    if steps < problem.max_steps:
        steps += 1
        await asyncio.sleep(pace)
        say.said("assistant", f"submit({answer!r})")
        say.log(f"submitted {answer!r}", step=steps, action="submit")
        right = answer == truth(asked, incident)
    else:
        right, answer = False, ""
    results: Json = {"success": right, "submitted": answer}
    if asked == "detection":
        results["Detection Accuracy"] = "Correct" if right else "Incorrect"
    return Outcome(right, {"results": results, "simulated": True, "task": asked}, {"steps": steps})


def conclude(asked: str, *, seen: list[str], incident: Incident) -> str:
    """What the agent makes of what it has seen, by rules: no more than that."""
    wrong = any(sign in sight for sight in seen for sign in _SIGNS)
    if asked == "detection":
        return "yes" if wrong else "no"
    # whoever has seen all of it knows; who has not can only guess
    complete = len(seen) == len(incident.sights)
    return truth(asked, incident) if wrong and complete else "unknown"


def truth(asked: str, incident: Incident) -> str:
    match asked:
        case "detection":
            return "yes" if incident.service else "no"
        case "localization":
            return incident.service
        case "analysis":
            return incident.cause
        case _:
            return incident.remedy


def _read(problem_id: str) -> tuple[Incident, str]:
    for name, incident in INCIDENTS.items():
        for asked in ASKED:
            if problem_id.startswith(f"{name}-{asked}"):
                return incident, asked
    raise CannotRun(f"the stand-in has no problem {problem_id!r}; it has {', '.join(PROBLEMS)}")
