"""What the documentation's site has beside its pages: MkDocs calls these, ``make docs``."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from posixpath import normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.MULTILINE | re.DOTALL)
_LIST = re.compile(r"^(?![ \t]|[-*] |\d+\. )(.+)\n(?=(?:[-*]|\d+\.) )", re.MULTILINE)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)

BEHIND = 0.2
"""Weight in the search of pages that say why: those that say what to do come first."""


def folders(config: MkDocsConfig) -> list[str]:
    """Return the folders that the navigation names, each with a slash at its end."""
    named = [entry for part in config.nav or [] if isinstance(part, dict) for entry in part.values()]
    return [entry for entry in named if isinstance(entry, str) and entry.endswith("/")]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put each folder's pages into its place in the navigation, its README or a list of them first."""
    for folder in folders(config):
        pages = sorted(one.src_uri for one in files.documentation_pages() if one.src_uri.startswith(folder))
        index = files.get_file_from_path(f"{folder}README.md")
        if index is None:
            index = File.generated(config, f"{folder}index.md", content=listed(files, folder, pages))
            files.append(index)
        pages = [page for page in pages if page != index.src_uri]
        config.nav = [
            {title: [index.src_uri, *pages] if entry == folder else entry}
            for part in config.nav or []
            for title, entry in part.items()
        ]
    return files


def listed(files: Files, folder: str, pages: list[str]) -> str:
    """Return a page of links to pages, each by its title."""
    lines = [f"# {folder.rstrip('/').title()}\n"]
    for path in pages:
        file = files.get_file_from_path(path)
        title = _TITLE.search(file.content_string) if file else None
        lines.append(f"- [{title[1] if title else path}]({path.removeprefix(folder)})")
    return "\n".join(lines)


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: MkDocsConfig) -> str:
    """Return a page's text as Markdown in Python reads it, where GitHub reads it otherwise.

    A link to a file outside ``docs/`` becomes its words and the path in the repository, one to a folder leads
    to the folder's list. A list needs no empty line before it,
    nor after an example.
    """
    here = PurePosixPath(page.file.src_uri).parent
    if here.parts:  # a decision, a result or the lab
        page.meta.setdefault("search", {"boost": BEHIND})

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        path = target.partition("#")[0]
        if "://" in target or target.startswith("mailto:") or not path:
            return found[0]
        whole = normpath(here / path)
        if whole.startswith("../"):
            outside = whole.removeprefix("../")
            return words if outside in words else f"{words} (`{outside}`)"
        if files.get_file_from_path(f"{whole}/index.md"):
            return f"[{words}]({path.rstrip('/')}/index.md)"
        return found[0]

    def shown(text: str) -> str:
        return _LIST.sub(r"\1\n\n", _LINK.sub(link, text))

    parts, at = [], 0
    for fence in _FENCED.finditer(markdown):
        parts += [shown(markdown[at : fence.start()]), fence[0], "\n"]
        at = fence.end()
    return "".join((*parts, shown(markdown[at:])))
