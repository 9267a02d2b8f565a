"""What editors are told of a place in a program."""

from afl_programs import build

from weft.afl import editor
from weft.afl.compiling import Compiled
from weft.afl.source import Source

TEXT = """namespace n {
    /** Adds two numbers.
     * @param a The first,
     *   or only one.
     * @param b The second.
     * @returns sum What they come to. */
    event facet Add(a: Int, b: Int = 2) => (sum: Int)
    workflow W(all: [Json]) => (out: [Int]) andThen foreach item in $.all {
        x = Add(a = 1) andThen foreach deep in $.item.list { y = Add(a = $.deep) }
        z = Add(a = $.item.n)
    }
}"""


def at(text: str) -> tuple[Compiled, Source, int]:
    compiled = build(TEXT)
    return compiled, compiled.program.files[0].source, TEXT.index(text) + len(text)


def test_hovering_shows_what_is_said_of_params_and_returns() -> None:
    said = editor.hover(*at("x = Ad"))
    assert said.endswith(
        "Adds two numbers.\n\n- `a`: The first, or only one.\n- `b`: The second.\n- → `sum`: What they come to."
    )


def test_elements_of_the_loops_around_are_known() -> None:
    assert editor.completion(*at("y = Add(a = $.")) == [("item", "element"), ("deep", "element"), ("all", "param")]
    assert editor.completion(*at("z = Add(a = $.")) == [("item", "element"), ("all", "param")]
    found = editor.definition(*at("z = Add(a = $.it"))
    assert found is not None and TEXT[found.start : found.end] == "item" and found.start == TEXT.index("item")
