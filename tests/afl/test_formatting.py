"""The formatter: one style, comments kept, nothing changed but space."""

import pytest

from weft.afl.formatting import format_text

UGLY = """
// head
namespace   a.b{ use c ; use d

/** Doc
      * more
   * @param x y */
event facet F(a:Int,b:[String]=["x"  ,"y"])=>(c:Int)   with Retry( maxAttempts=3 )
// trailing


workflow W(x:Int)=>(y:Int)
andThen {  s=F(a=-1,b=[ "q" ]) ; t = F(a = s.c,
b = ["z"]) andThen foreach v in $.b { q = F(a = 1, b=[]) } catch { yield W(y=0) } // why
    yield W(y = t.c+1*2)
} andThen script python {
      x = 1

      if x: # }
          result["a"] = "}"
} andThen when { case !(s.c>1)&&true => { }
 case _=>{
 z = F(a = #{"a":1, b:[1,2]}["a"],b=[])}}
 schema P{a:Int,b:String}
 event facet Q(a:Int) prompt{system "x"
 template "y"}
}
"""

FINE = """\
// head
namespace a.b {
    use c
    use d

    /** Doc
     * more
     * @param x y */
    event facet F(a: Int, b: [String] = ["x", "y"]) => (c: Int) with Retry(maxAttempts = 3)
    // trailing

    workflow W(x: Int) => (y: Int)
        andThen {
            s = F(a = -1, b = ["q"])
            t = F(a = s.c,
                b = ["z"]) andThen foreach v in $.b { q = F(a = 1, b = []) } catch { yield W(y = 0) } // why
            yield W(y = t.c + 1 * 2)
        } andThen script python {
            x = 1

            if x: # }
                result["a"] = "}"
        } andThen when {
            case !(s.c > 1) && true => {}
            case _ => {
                z = F(a = #{"a": 1, b: [1, 2]}["a"], b = [])
            }
        }
    schema P { a: Int, b: String }
    event facet Q(a: Int) prompt {
        system "x"
        template "y"
    }
}
"""


def test_the_style() -> None:
    assert format_text(UGLY) == FINE
    assert format_text(FINE) == FINE


@pytest.mark.parametrize("text", ["", "\n\n", "// only this", "/* a\n b */", "facet F(", '"never closed', "} ) ]"])
def test_what_is_odd_stays_or_is_stable(text: str) -> None:
    made = format_text(text)
    assert format_text(made) == made


def test_a_text_of_several_lines_stays_as_it_is() -> None:
    text = 'namespace n {\n    facet F(x: String = "a\n  b\n      c")\n}\n'
    assert format_text(text) == text
