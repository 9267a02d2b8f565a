"""`python -m bench`: prepare the contenders, start the server, measure, report."""

import dataclasses
import signal
import sys
import time

import click
from rich.console import Console

from bench import plan, report, server, source, summary, system
from bench.errors import BenchError
from bench.system import SCENARIOS, Contender, Scenario

WIDE = 140


@click.command()
@click.option("--quick", is_flag=True, help="Fewer tasks and shorter runs.")
@click.option("--only", metavar="SYSTEMS", help="Comma-separated systems; all by default.")
@click.option("--scenario", metavar="SCENARIOS", help=f"Comma-separated, of {', '.join(SCENARIOS)}; all by default.")
@click.option(
    "--repeats", type=click.IntRange(min=1), default=3, show_default=True,
    help="Rounds. Three are for a look, ten decide: below five a verdict has no confidence.",
)
@click.option("--size", "resized", multiple=True, metavar="NAME=N", help="Change one of the sizes in plan.py. Repeatable.")
def main(quick: bool, only: str | None, scenario: str | None, repeats: int, resized: tuple[str, ...]) -> None:
    """Measure Weft, its peers and the floor on one durable PostgreSQL."""
    # A file has no width to fit into: a table must not be folded there.
    console = Console(width=None if sys.stdout.isatty() else WIDE, soft_wrap=True)
    # The same way out as Ctrl-C: every `with` block closes and stops what it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        began, weft = time.monotonic(), source.digest()
        sizes = _sizes(plan.QUICK if quick else plan.FULL, resized)
        wanted = _scenarios(scenario)
        chosen = plan.variants(wanted, sizes=sizes, repeats=repeats)
        systems = [item for item in system.choose(_names(only)) if set(item.scenarios) & set(wanted)]
        contenders = [_prepare(item, console=console) for item in systems]
        with server.running() as url:
            outcomes = _measure(plan.steps(contenders, chosen=chosen, repeats=repeats), url=url, console=console)
            described = server.describe(url)
    except BenchError as error:
        console.print(f"error: {error}", style="red", markup=False)
        sys.exit(2)
    except KeyboardInterrupt:
        console.print("stopped; nothing saved")
        sys.exit(130)
    found = summary.summarise(outcomes, chosen=chosen)
    report.show(console, found, chosen=chosen, contenders=contenders)
    sources = (weft, source.digest())
    if len(set(sources)) > 1:
        console.print("Weft's source changed during this run: its numbers are not those of one version", style="red")
    saved = report.save(
        found, outcomes, contenders=contenders, server=described, sizes=sizes, sources=sources
    )
    console.print(f"saved {saved} after {(time.monotonic() - began) / 60:.1f} minutes")
    sys.exit(1 if any(outcome.error for outcome in outcomes) else 0)


def _measure(todo: list[plan.Step], *, url: str, console: Console) -> list[plan.Outcome]:
    outcomes = []
    for number, (step, found, seconds) in enumerate(plan.execute(todo, server_url=url), start=1):
        outcomes += found
        for outcome in found:
            label = f"[{number}/{len(todo)}] {outcome.variant:<13} {outcome.system:<16} repeat {outcome.repeat}"
            if outcome.error:
                console.print(f"{label}  failed: {outcome.error}", style="red", markup=False)
                continue
            headline = step.variant.headline
            shown = f"{outcome.values[headline]:>12,.1f} {headline}  ({seconds:.0f} s in all)"
            console.print(f"{label}  {shown}", markup=False, highlight=False)
    return outcomes


def _prepare(item: system.System, *, console: Console) -> Contender:
    console.print(f"preparing {item.name}", highlight=False)
    runtime = item.prepare()
    versions = ", ".join(f"{package} {version}" for package, version in runtime.versions.items())
    console.print(f"  {versions}; {item.settings}", highlight=False)
    return Contender(system=item, runtime=runtime)


def _sizes(sizes: plan.Sizes, resized: tuple[str, ...]) -> plan.Sizes:
    names = [field.name for field in dataclasses.fields(sizes)]
    for item in resized:
        name, _, number = item.partition("=")
        if name not in names or not number.isdecimal() or int(number) < 1:
            raise BenchError(f"--size takes NAME=N, not {item!r}; names are {', '.join(names)}")
        sizes = dataclasses.replace(sizes, **{name: int(number)})
    return sizes


def _names(option: str | None) -> list[str] | None:
    return [name.strip() for name in option.split(",") if name.strip()] if option else None


def _scenarios(option: str | None) -> list[Scenario]:
    names = _names(option)
    if names is None:
        return list(SCENARIOS)
    unknown = sorted(set(names) - set(SCENARIOS))
    if unknown:
        raise BenchError(f"no such scenario: {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    return [scenario for scenario in SCENARIOS if scenario in names]


if __name__ == "__main__":
    main()
