"""The chain of a journal, as values: what was sealed fits, and whatever was done to it since shows."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.journal import chain
from weft.journal.chain import Content, Head, Link

ORG = "00000000-0000-7000-8000-000000000001"


def content(n: int, at: str = "2026-01-05T09:30:00.000000") -> Content:
    return (f"id {n}", ORG, at, "actor", "action", "type", f"object {n}", None, '{"n": 1}', None)


def sealed(contents: list[Content]) -> tuple[list[Link], Head]:
    head, links = chain.root(ORG), []
    for one in contents:
        head = chain.after(head, one)
        links.append(Link(head.number, head.hash, one))
    return links, head


def faults(links: list[Link], head: Head | None) -> list[tuple[int, str]]:
    found = list(chain.check(chain.root(ORG), links))
    last = Head(links[-1].number, links[-1].hash) if links else chain.root(ORG)
    return [(one.number, one.fault) for one in [*found, *chain.check_end(last, head)]]


def test_what_nobody_touched_is_whole() -> None:
    links, head = sealed([content(n) for n in range(10)])
    assert faults(links, head) == [] and faults([], None) == []


def test_chains_of_two_orgs_are_unlike_from_the_start() -> None:
    assert chain.root(ORG) != chain.root(ORG[:-1] + "2")


Tamper = Callable[[list[Link]], None]


def changed(links: list[Link]) -> None:
    links[4] = Link(5, links[4].hash, content(99))


def deleted(links: list[Link]) -> None:
    del links[4]


def cut_off(links: list[Link]) -> None:
    del links[8:]


def deleted_and_renumbered(links: list[Link]) -> None:
    del links[4]
    links[:] = [Link(n, link.hash, link.content) for n, link in enumerate(links, 1)]


def inserted(links: list[Link]) -> None:
    links.insert(4, Link(5, b"x" * 32, content(99)))
    links[:] = [Link(n, link.hash, link.content) for n, link in enumerate(links, 1)]


def inserted_with_the_right_hash(links: list[Link]) -> None:
    forged = chain.after(Head(4, links[3].hash), content(99))
    links.insert(4, Link(5, forged.hash, content(99)))
    links[:] = [Link(n, link.hash, link.content) for n, link in enumerate(links, 1)]


def swapped(links: list[Link]) -> None:
    links[4], links[5] = Link(5, links[5].hash, links[5].content), Link(6, links[4].hash, links[4].content)


def contents_swapped(links: list[Link]) -> None:
    links[4], links[5] = Link(5, links[4].hash, links[5].content), Link(6, links[5].hash, links[4].content)


@pytest.mark.parametrize(
    ("tamper", "expected"),
    [
        (changed, [(5, "changed")]),
        (deleted, [(5, "missing")]),
        (cut_off, [(9, "cut off")]),
        (deleted_and_renumbered, [(n, "changed") for n in range(5, 10)] + [(10, "cut off")]),
        (inserted, [(n, "changed") for n in range(5, 12)] + [(11, "beyond the end")]),
        (inserted_with_the_right_hash, [(n, "changed") for n in range(6, 12)] + [(11, "beyond the end")]),
        (swapped, [(5, "changed"), (6, "changed"), (7, "changed")]),
        (contents_swapped, [(5, "changed"), (6, "changed")]),
    ],
)
def test_what_was_done_to_it_shows_and_where(tamper: Tamper, expected: list[tuple[int, str]]) -> None:
    links, head = sealed([content(n) for n in range(10)])
    tamper(links)
    assert faults(links, head) == expected


def test_an_end_that_was_moved_shows() -> None:
    links, head = sealed([content(n) for n in range(3)])
    assert faults(links, Head(3, b"y" * 32)) == [(3, "changed")]
    assert faults(links, None) == [(3, "beyond the end")]
    assert faults([], head) == [(1, "cut off")]


def test_an_entry_of_long_before_its_neighbours_shows() -> None:
    times = ("2026-01-05T09:30:00.000000", "2026-01-05T07:00:00.000000", "2026-01-05T09:10:00.000000")
    links, head = sealed([content(n, at) for n, at in enumerate(times)])
    assert faults(links, head) == [(2, "backdated")]


@given(st.lists(st.tuples(*[st.text(max_size=5) | st.none()] * 3), min_size=2, max_size=8), st.data())
def test_no_two_entries_are_hashed_alike(texts: list[tuple[str | None, ...]], data: st.DataObject) -> None:
    """However texts are split over fields: `a, bc` and `ab, c` are not the same."""
    first, second = data.draw(st.sampled_from(texts)), data.draw(st.sampled_from(texts))
    same = chain.after(chain.root(ORG), first).hash == chain.after(chain.root(ORG), second).hash
    assert same == (first == second)
