"""Thirty-odd typical mistakes and what is said about them: `python tests/afl/mistakes_page.py` writes mistakes.txt, a test
compares it. Read the whole file when it changes: it is what people read when they are stuck.
"""

# ruff: noqa: E501

from pathlib import Path

from weft.afl import compiling, diagnostic
from weft.afl.source import Source

PAGE = Path(__file__).parent / "mistakes.txt"

BEFORE = """namespace geo {
    schema Place { lat: Double, lon: Double }
    event facet Geocode(city: String, limit: Int = 1) => (place: Place, names: [String])
    event facet Store(place: Place, tags: [String] = []) => (id: Int)
"""

MISTAKES: dict[str, str] = {
    "a misspelt facet": "workflow W() andThen { g = Geocod(city = \"Ulm\") }",
    "a misspelt argument": "workflow W() andThen { g = Geocode(town = \"Ulm\") }",
    "an argument without its name": "workflow W(city: String) andThen { g = Geocode($.city) }",
    "an argument that is only a name": "workflow W(city: String) andThen { g = Geocode(city) }",
    "a missing argument": "workflow W() andThen { g = Geocode() }",
    "a param without $": "workflow W(city: String) andThen { g = Geocode(city = city) }",
    "a misspelt param": "workflow W(city: String) andThen { g = Geocode(city = $.citi) }",
    "a misspelt attribute": "workflow W() andThen { g = Geocode(city = \"Ulm\") s = Store(place = g.plaze) }",
    "a field that a schema does not have": "workflow W() => (x: Double) andThen { g = Geocode(city = \"Ulm\") yield W(x = g.place.height) }",
    "a step used before it is written": "workflow W() andThen { s = Store(place = g.place) g = Geocode(city = \"Ulm\") }",
    "a step that refers to itself": "workflow W() andThen { g = Geocode(city = g.names[0]) }",
    "steps that wait for each other": "workflow W() andThen { g = Geocode(city = \"x\", limit = s.id) s = Store(place = g.place) }",
    "a step inside a loop used outside": "workflow W(all: [String]) => (id: Int) andThen foreach c in $.all { g = Geocode(city = c) } andThen { s = Store(place = g.place) }",
    "a text where a number is wanted": "workflow W() andThen { g = Geocode(city = \"Ulm\", limit = \"3\") }",
    "a number where a text is wanted": "workflow W() andThen { g = Geocode(city = 7) }",
    "one value where a list is wanted": "workflow W(p: Place) andThen { s = Store(place = $.p, tags = \"new\") }",
    "texts joined by +": "workflow W(city: String) andThen { g = Geocode(city = $.city + \", Germany\") }",
    "single quotes": "workflow W() andThen { g = Geocode(city = 'Ulm') }",
    "a text that is not closed": "workflow W() andThen { g = Geocode(city = \"Ulm) }",
    "a map without #": "workflow W() => (m: Json) andThen { yield W(m = {\"a\": 1}) }",
    "= instead of ==": "workflow W(n: Int) andThen when { case $.n = 1 => { } case _ => { } }",
    "a condition that is none": "workflow W(n: Int) andThen when { case $.n => { } case _ => { } }",
    "no case for everything else": "workflow W(n: Int) => (x: Int) andThen when { case $.n > 1 => { yield W(x = 1) } }",
    "a loop over a number": "workflow W(n: Int) andThen foreach i in $.n { g = Geocode(city = \"x\" ++ i) }",
    "a yield of something else": "workflow W() => (x: Int) andThen { yield V(x = 1) }",
    "a yield of an output that is not declared": "workflow W() => (id: Int) andThen { yield W(idd = 1) }",
    "a call inside an expression": "workflow W() andThen { s = Store(place = Geocode(city = \"Ulm\")) }",
    "a step without a name": "workflow W() andThen { Geocode(city = \"Ulm\") }",
    "a step that is no call": "workflow W(n: Int) andThen { x = $.n }",
    "a param without a type": "workflow W(city) andThen { }",
    "a type that is not there": "workflow W(city: Text) andThen { }",
    "a block that is not closed": "workflow W() andThen { g = Geocode(city = \"Ulm\")\n    facet After()",
    "an unknown namespace": "use geo.typs",
    "two steps of the same name": "workflow W() andThen { g = Geocode(city = \"Ulm\") g = Geocode(city = \"Bonn\") }",
    "a prompt with a misspelt placeholder": "event facet P(name: String) => (t: String) prompt { template \"Hello {nam}\" }",
    "retries by another name": "workflow W() andThen { g = Geocode(city = \"Ulm\") with Retry(max_attempt = 3) }",
    "an argument with a colon": "workflow W() andThen { g = Geocode(city: \"Ulm\") }",
    "a step that is a value": "workflow W() andThen { g = Geocode(city = \"Ulm\") p = g.place }",
    "a number without digits after the point": "workflow W() => (x: Double) andThen { yield W(x = 1.e3) }",
    "a namespace inside another": "namespace deep { facet F() }",
    "a script in another language": "workflow W() => (x: Int) script javascript { result.x = `1`; }",
    "a field without its type": "schema Route { from: , to: Place }\n    event facet Drive(route: Route)\n    workflow W(r: Route) andThen { d = Drive(route = $.r) }",
    "what a script adds, after it failed": "workflow W() => (x: Int) script { result[\"y\"] = 1 } andThen { g = Geocode(city = $.y) } catch { yield W(x = $.y) }",
    "a text among numbers": "workflow W(p: Place) andThen { s = Store(place = $.p, tags = [\"a\", 1]) }",
    "retries on a yield": "workflow W() => (x: Int) andThen { yield W(x = 1) with Retry(maxAttempts = 3) }",
    "retries by a text": "workflow W(often: String) andThen { g = Geocode(city = \"Ulm\") with Retry(maxAttempts = $.often) }",
    "what an earlier block found": "workflow W() => (x: [Int]) andThen { g = Geocode(city = \"Ulm\") } andThen foreach n in $.names { yield W(x = 1) }",
    "Python that is none": "workflow W() => (x: Int) script {\n        y = 1\n        result[\"x\"] = = y\n    }",
    "a comment as in Python": "# a comment\n    facet F()",
}  # fmt: skip


def render() -> str:
    found = []
    for title, text in MISTAKES.items():
        source = Source("flow.afl", f"{BEFORE}    {text}\n}}\n")
        told = compiling.compile_sources([source]).diagnostics
        said = "\n".join(f"{one}\n{diagnostic.excerpt(one)}" for one in told)
        found.append(f"## {title}\n{said}\n")
    return "\n".join(found)


if __name__ == "__main__":
    PAGE.write_text(render())
