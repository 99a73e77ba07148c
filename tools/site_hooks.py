"""Hooks of MkDocs (./dev site) in addition to mkdocs.yml: the navigation comes from the tables of docs/README.md, lists are nested as on GitHub, and links to
files that are not pages are replaced by their names."""

import os
import pathlib
import re

from markdown.extensions import Extension

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)
SECTION = re.compile(r"^(##+) (.+)\n", re.MULTILINE)


class NestedLists(Extension):
    """Two blanks nest a list; Python-Markdown requires four."""

    def extendMarkdown(self, md):  # noqa: N802
        md.tab_length = 2


def navigation(index):
    """[{section: [{title: page}]}] from the index page's tables."""
    nav = [{"Manual": "README.md"}]
    parts = SECTION.split(index)
    for level, title, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        rows = [{name: page} for name, page in ROW.findall(text)]
        if not rows:
            continue
        if level == "##":
            nav.append({title: rows})
        else:
            nav[-1][next(iter(nav[-1]))].append({title: rows})
    return nav


def on_config(config):
    index = pathlib.Path(config.docs_dir, "README.md").read_text(encoding="utf-8")
    config.nav = navigation(index)
    config.markdown_extensions.append(NestedLists())
    return config


def on_page_markdown(markdown, page, config, files):
    def link(match):
        picture, text, target = match.groups()
        path = os.path.normpath(os.path.join(os.path.dirname(page.file.src_uri), target.split("#")[0]))
        if re.match(r"[a-z]+:|#", target) or not path.startswith(".."):
            return match.group()
        return f"`{text.strip('`')}`"

    pieces = re.split(r"(^```.*?^```|`[^`\n]*`)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if number % 2 else LINK.sub(link, piece) for number, piece in enumerate(pieces))


def on_page_content(html, **_):
    # A bar in code within a table is escaped for GitHub.
    return html.replace("\\|", "|")
