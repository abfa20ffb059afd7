"""What `make docs` changes of the pages, which are written to be read in the repository, too.

Pages outside docs/ become pages of the site. A link to a source file becomes its name: the site has no copy of it.
A link that leads nowhere is left alone, so that the strict build fails.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
FROM_ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "readme.md",
    "SECURITY.md": "reporting.md",
    "tests/heldout/README.md": "heldout.md",
}
_SELDOM_WANTED = "adr/", "changelog", "model-log", "scheduler"  # come last where a search finds others
# Python-Markdown wants a blank line before a list, and four blanks before what belongs to an item.
_LIST_AFTER_A_LINE = re.compile(r"^((?![-*#|>`]|\d+\. | )\S.*)\n(- )", re.M)
_FENCE_IN_A_LIST = re.compile(r"^ {2,3}```.*?^ {2,3}```$", re.M | re.S)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    for source, page in FROM_ELSEWHERE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    sources = {place: name for name, place in FROM_ELSEWHERE.items()}
    if page.file.src_uri.startswith(_SELDOM_WANTED):
        page.meta["search"] = {"boost": 0.2}
    written = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    markdown = _FENCE_IN_A_LIST.sub(lambda block: re.sub(r"^ {2,3}(?=\S| )", "    ", block[0], flags=re.M), markdown)
    markdown = _LIST_AFTER_A_LINE.sub(r"\1\n\n\2", markdown).replace("<details>", '<details markdown="1">')
    return _LINK.sub(lambda link: _of_site(link, posixpath.dirname(written), page.file.src_uri), markdown)


def _of_site(link: re.Match[str], folder: str, page: str) -> str:
    mark, text, target = link.groups()
    name, hash_, anchor = target.partition("#")
    if not name or "://" in target or name.startswith("mailto:"):
        return link[0]
    path = posixpath.normpath(posixpath.join(folder, name))
    place = FROM_ELSEWHERE.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
    if place and (path in FROM_ELSEWHERE or (ROOT / path).is_file()):
        return f"{mark}[{text}]({posixpath.relpath(place, posixpath.dirname(page) or '.')}{hash_}{anchor})"
    return text if (ROOT / path).exists() else link[0]
