"""The example programs run in memory, with agents that answer at once, and come to what they should."""

# ruff: noqa: E501

from pathlib import Path
from typing import Any

import pytest
from afl_programs import Failure, run

FOLDER = Path(__file__).parent.parent.parent / "examples" / "afl"


class Declined(Failure):
    pass


def fails(error: Exception) -> Any:
    def do(_args: Any) -> Any:
        raise error

    return do


def geocode(args: Any) -> Any:
    if args["address"] == "Atlantis":
        raise Failure("nowhere")
    return {"place": {"lat": 1.5, "lon": 2.5, "label": args["address"] + args["country"]}}


def place(label: str) -> dict[str, Any]:
    return {"lat": 1.5, "lon": 2.5, "label": label}


def suites(args: Any) -> Any:
    return {"report": {"passed": args["suite"] == "unit", "total": 4, "failed": 0 if args["suite"] == "unit" else 3}}


CI: dict[str, Any] = {
    "Checkout": {"workspace": "/w", "commit": "c0ffee"}, "Build": {"artifact": "a.jar", "version": "1.2"},
    "Deploy": {"url": "https://x"}, "Tell": None,
}  # fmt: skip
GOOD = {"report": {"passed": True, "total": 4, "failed": 0}}
MEASURE = {"a": {"value": 50.0, "unit": "C"}, "b": {"value": 20.0, "unit": "C"}}

RUNS: list[tuple[str, str, dict[str, Any], dict[str, Any], Any]] = [
    ("hello", "hello.SayHello", {}, {"Greet": lambda args: {"greeting": f"Hello, {args['name']}"}}, {"message": "Hello, world"}),
    ("geocoding", "geo.Locate", {"address": "Ulm"}, {"Geocode": geocode}, {"place": place("Ulmde")}),
    ("geocoding", "geo.LocateAll", {"addresses": ["Ulm", "Atlantis", "Bonn"], "country": "x"}, {"Geocode": geocode},
     {"places": [place("Ulmx"), place("Bonnx")], "missing": ["Atlantis: nowhere"]}),
    ("documents", "docs.Digest", {"url": "u"},
     {"Fetch": {"path": "p", "kind": "pdf"}, "ReadPdf": {"pages": [{"number": 3, "text": "abc"}]},
      "Summarise": lambda args: {"summary": f"{args['text']} in {args['words']}"}}, {"summary": "abc in 100", "pages": 3}),
    ("documents", "docs.Digest", {"url": "u"},
     {"Fetch": {"path": "p", "kind": "markdown"}, "ReadText": {"text": "t"},
      "Summarise": lambda args: {"summary": f"{args['text']} in {args['words']}"}}, {"summary": "t in 50", "pages": 0}),
    ("documents", "docs.Digest", {"url": "u"}, {"Fetch": {"path": "p", "kind": "gif"}}, {"summary": "cannot read gif", "pages": 0}),
    ("pipeline", "ci.Ship", {"repo": "r"}, {**CI, "Test": GOOD}, {"status": "deployed 1.2", "url": "https://x"}),
    ("pipeline", "ci.Ship", {"repo": "r"}, {**CI, "Test": suites}, {"status": "rejected", "url": ""}),
    ("pipeline", "ci.Ship", {"repo": "r"}, {**CI, "Test": GOOD, "Deploy": fails(Failure("no"))},
     {"status": "failed", "url": ""}),
    ("tools", "tools.Ask", {"question": "Why? "},
     {"Plan": {"queries": ["q1", "q2"]}, "Search": lambda args: {"hits": args["query"] + str(args["limit"])},
      "Answer": lambda args: {"answer": args["question"] + "!", "sources": []}},
     {"answer": "Why?!", "found": ["q13", "q23"], "note": "2 results"}),
    ("etl", "etl.Copy", {"sources": ["a", "b"], "target": "t"},
     {"Extract": {"records": [1], "rows": 5}, "Transform": {"records": [1], "dropped": 2},
      "Load": lambda args: {"result": {"target": args["target"], "rows": len(args["records"])}}}, {"rows": [1, 1]}),
    ("genomics", "genomics.Study", {"samples": ["s1", "s2"]},
     {"Align": lambda args: {"bam": args["sample"] + ".bam"}, "CallVariants": lambda args: {"vcf": args["bam"] + args["reference"]},
      "JointGenotype": lambda args: {"cohort": ",".join(args["vcfs"]), "variants": 2}},
     {"cohort": "s1.bamhg38,s2.bamhg38", "variants": 2}),
    ("approvals", "orders.Order", {"id": "o", "amount": 5, "card": "c", "mail": "m"}, {"Charge": {"receipt": "r1"}},
     {"state": "paid", "receipt": "r1", "note": ""}),
    ("approvals", "orders.Order", {"id": "o", "amount": 20000, "card": "c", "mail": "m"},
     {"Charge": {"receipt": "r1"}, "Approve": {"approved": True}},
     {"state": "paid", "receipt": "r1", "note": "approved by finance: true"}),
    ("approvals", "orders.Order", {"id": "o", "amount": 0, "card": "c", "mail": "m"}, {},
     {"state": "nothing to pay", "receipt": "", "note": ""}),
    ("approvals", "orders.Order", {"id": "o", "amount": 5, "card": "c", "mail": "m"},
     {"Charge": fails(Declined("poor")), "Mail": {}}, {"state": "declined", "receipt": "", "note": ""}),
    ("census", "census.History", {"state": "NY", "area": 2.0},
     {"Download": lambda args: {"path": str(args["year"]), "rows": 1}, "Density": lambda args: {"density": int(args["path"]) / 1000}},
     {"densities": [2.0, 2.01, 2.02], "title": "NY, 2000 to 2020"}),
    ("monitoring", "sensors.Watch", {"sensors": ["a", "b"]},
     {"Measure": lambda args: MEASURE[args["sensor"]], "Alert": lambda args: {"id": f"{args['sensor']} {args['details']['limits']}"}},
     {"alerts": ["a [-10.0, 40.0]"], "checked": ["a = 50.0C", "b = 20.0C"]}),
    ("debate", "debate.Debate", {"topic": "T"},
     {"Argue": lambda args: {"text": args["side"] + str(len(args["before"]))}, "Judge": lambda args: {"winner": args["texts"][2][:9]}},
     {"winner": "pro: pro2", "transcript": ["pro: pro7\ncon: con7", "pro: pro19\ncon: con19", "pro: pro21\ncon: con21"]}),
    ("backups", "backups.Backup", {"databases": ["a", "b"], "bucket": "k", "who": "me"},
     {"Dump": lambda args: {"file": args["database"] + ".sql", "bytes": 1}, "Store": lambda args: {"url": args["file"] + args["bucket"]},
      "Tell": {"sent": True}}, {"urls": ["a.sqlk", "b.sqlk"]}),
    ("backups", "backups.Backup", {"databases": ["a"], "bucket": "k", "who": "me"},
     {"Dump": fails(Failure("disk")), "Tell": {"sent": True}}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("file", "name", "params", "agents", "out"), RUNS, ids=[f"{one[0]}-{n}" for n, one in enumerate(RUNS)])
def test_it_comes_to_what_it_should(file: str, name: str, params: Any, agents: Any, out: Any) -> None:
    assert run((FOLDER / f"{file}.afl").read_text(), params, name=name, **agents) == out


def test_every_example_is_run() -> None:
    assert {one[0] for one in RUNS} == {path.stem for path in FOLDER.glob("*.afl")}
