"""A page of docs as HTML that opens without a network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from string import Template
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from sifu.docs.flowchart import draw_flowchart
from sifu.docs.sequence_diagram import draw_sequence

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
_PASSES = re.compile(  # of HTML: a picture in two widths, and what folds a part of a page
    r'<picture>\s*<source media="[^"<>]*" srcset="[^"<>]*">\s*<img alt="[^"<>]*" src="[^"<>]*">\s*</picture>\s*'
    r"|<details><summary>[^<>]*</summary>\s*|</details>\s*"
)
_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; img-src 'self' file: data:">
<title>$title</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; display: block; overflow-x: auto; overflow-wrap: normal; font-size: 0.9em; }
td, th { border: 1px solid #8888; padding: 0.25rem 0.5rem; text-align: left; vertical-align: top; }
img { max-width: 100%; height: auto; }
.diagram { overflow-x: auto; margin: 1rem 0; }
@media (min-width: 62rem) {
  .diagram { margin: 1rem calc(50% - 50vw + 2rem); text-align: center; }
  .diagram svg { max-width: 100%; }
}
pre { overflow-x: auto; background: #8882; padding: 0.75rem; }
blockquote { border-left: 4px solid #8888; margin: 0; padding-left: 1rem; }
</style>
</head>
<body>
$navigation
$body
</body>
</html>
""")


def markdown_page(text: str, navigation: str = "") -> str:
    """The whole page; HTML inside of the text stays text, but for pictures and folded parts; comments are left out."""
    title = _TITLE.search(text)
    return html_page(title[1] if title else "", _rendered(_COMMENT.sub("", text)), navigation)


def html_page(title: str, body: str, navigation: str = "") -> str:
    return _PAGE.substitute(title=escape(title), body=body, navigation=navigation)


def _rendered(text: str) -> str:
    """The text as HTML; headings have the names that GitHub gives them."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.add_render_rule("html_block", _block)
    parser.add_render_rule("html_inline", _inline)
    parser.add_render_rule("fence", _fence)
    tokens = parser.parse(text.replace("<picture><", "<picture>\n<"))  # on one line its tags would come one by one
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", slug(inline.content))
    return str(parser.renderer.render(tokens, parser.options, {}))


def _block(_: Any, tokens: Sequence[Token], place: int, *rest: Any) -> str:
    """HTML on lines of its own."""
    text = tokens[place].content
    return text if _PASSES.fullmatch(text) else f"<p>{escape(text)}</p>\n"


def _inline(_: Any, tokens: Sequence[Token], place: int, *rest: Any) -> str:
    """HTML within a line is text."""
    return escape(tokens[place].content)


def _fence(renderer: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """Code as it is; a diagram is drawn."""
    token = tokens[place]
    if token.info != "mermaid":
        return str(RendererHTML.fence(renderer, tokens, place, options, env))
    draw = draw_sequence if token.content.startswith("sequenceDiagram") else draw_flowchart
    return f'<div class="diagram">{draw(token.content)}</div>\n'


def slug(heading: str) -> str:
    """The name of a heading: small letters, no signs, a dash for a space."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
