"""Agents for all programs of this folder. They need nothing but themselves: what they find is made up, but always the same.

    weft afl run geocoding.afl --workflow LocateAll --params '{"addresses": ["Ulm", "Atlantis"]}' --agent agents
"""

import zlib
from typing import Any

from weft import App
from weft.sdk.prompting import Prompt

app = App(name="agents")


class Nowhere(Exception):
    pass


class Declined(Exception):
    pass


def number(text: str, most: int) -> int:
    """A number that looks random and is always the same for a text."""
    return zlib.crc32(text.encode()) % most


@app.task(name="hello.Greet")
async def greet(name: str) -> dict[str, str]:
    return {"greeting": f"Hello, {name}"}


@app.task(name="geo.Geocode", fail_on=Nowhere)
async def geocode(address: str, country: str) -> dict[str, Any]:
    if address == "Atlantis":
        raise Nowhere(f"there is no {address} in {country}")
    place = {"lat": number(address, 90) + 0.5, "lon": number(country, 180) + 0.25, "label": f"{address}, {country}"}
    return {"place": place}


@app.task(name="docs.Fetch")
async def fetch(url: str) -> dict[str, str]:
    return {"path": f"/tmp/{number(url, 1000)}", "kind": url.rpartition(".")[2]}


@app.task(name="docs.ReadPdf")
async def read_pdf(path: str) -> dict[str, Any]:
    return {"pages": [{"number": 2, "text": f"What {path} says at some length."}]}


@app.task(name="docs.ReadText")
async def read_text(path: str) -> dict[str, str]:
    return {"text": f"What {path} says."}


@app.task(name="ci.Checkout")
async def checkout(repo: str, branch: str, credentials: str) -> dict[str, str]:
    assert credentials, "the worker fills in the secret GIT_TOKEN"
    return {"workspace": f"/work/{repo}", "commit": f"{number(repo + branch, 2**24):06x}"}


@app.task(name="ci.Build")
async def build(workspace: str, goals: str, label: str = "any", **_more: Any) -> dict[str, str]:
    return {"artifact": f"{workspace}/{goals}-{label}.jar", "version": "1.2"}


@app.task(name="ci.Test")
def test(workspace: str, suite: str, **_more: Any) -> dict[str, Any]:
    return {"report": {"passed": True, "total": len(workspace) + len(suite), "failed": 0}}


@app.task(name="ci.Deploy")
async def deploy(artifact: str, environment: str, **_more: Any) -> dict[str, str]:
    return {"url": f"https://{environment}.example.com/{artifact.rpartition('/')[2]}"}


@app.task(name="ci.Tell")
async def tell(text: str, **_more: Any) -> None:
    return None


@app.task(name="tools.Search")
async def search(query: str, limit: int) -> dict[str, Any]:
    return {"hits": [f"{query} #{hit}" for hit in range(1, limit + 1)]}


@app.provider
async def model(prompt: Prompt) -> str:
    """Stands for a language model. With WEFT_PROMPT_URL and without this, a real one is asked."""
    match prompt.facet.rpartition(".")[2]:
        case "Plan":
            return '{"queries": ["first", "second"]}'
        case "Answer":
            return '{"answer": "It depends.", "sources": []}'
        case _:
            return f"{len(prompt.text.split())} words, in short"


@app.task(name="etl.Extract")
async def extract(source: str, format: str) -> dict[str, Any]:
    return {"records": [{"source": source, "format": format}], "rows": 1}


@app.task(name="etl.Transform")
async def transform(records: list[Any], rules: dict[str, Any]) -> dict[str, Any]:
    return {"records": records, "dropped": 0}


@app.task(name="etl.Load")
async def load(records: list[Any], target: str, mode: str) -> dict[str, Any]:
    return {"result": {"target": target, "rows": len(records)}}


@app.task(name="genomics.Align")
async def align(sample: str, reference: str) -> dict[str, str]:
    return {"bam": f"{sample}.{reference}.bam"}


@app.task(name="genomics.CallVariants")
async def call_variants(bam: str, reference: str) -> dict[str, str]:
    return {"vcf": f"{bam}.vcf"}


@app.task(name="genomics.JointGenotype")
async def joint_genotype(vcfs: list[str]) -> dict[str, Any]:
    return {"cohort": "+".join(vcfs), "variants": len(vcfs) * 1000}


@app.task(name="orders.Charge", fail_on=Declined)
async def charge(amount: float, card: str) -> dict[str, str]:
    if card == "stolen":
        raise Declined("the bank says no")
    return {"receipt": f"receipt {number(card, 1000)} over {amount:g}"}


@app.task(name="orders.Approve")
async def approve(order: str, who: str) -> dict[str, bool]:
    return {"approved": True}


@app.task(name="orders.Mail")
async def mail(to: str, text: str) -> None:
    return None


@app.task(name="census.Download")
async def download(state: str, year: int) -> dict[str, Any]:
    return {"path": f"{state}-{year}.csv", "rows": 100 + year}


@app.task(name="census.Density")
async def density(path: str, area: float) -> dict[str, float]:
    return {"density": number(path, 1000) / area}


@app.task(name="sensors.Measure")
async def measure(sensor: str) -> dict[str, Any]:
    return {"value": {"oven": 200.0, "fridge": 4.0}.get(sensor, 20.0), "unit": "C"}


@app.task(name="sensors.Alert")
async def alert(sensor: str, details: dict[str, Any]) -> dict[str, str]:
    return {"id": f"alert for {sensor}"}


@app.task(name="debate.Judge")
async def judge(topic: str, texts: list[str]) -> dict[str, str]:
    return {"winner": max(texts, key=len)[:3]}


@app.task(name="backups.Dump")
async def dump(database: str) -> dict[str, Any]:
    return {"file": f"{database}.sql", "bytes": number(database, 10**6)}


@app.task(name="backups.Store")
async def store(file: str, bucket: str) -> dict[str, str]:
    return {"url": f"s3://{bucket}/{file}"}


@app.task(name="shared.notify.Tell")
async def notify(who: str, text: str) -> dict[str, bool]:
    return {"sent": True}
