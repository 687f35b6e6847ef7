"""docs/specification.md holds what the repository cites, and a reader can open every citation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("xgl", "archive", "meta_sampler", "evo", "conf", "tests", "benchmarks", "docs")
SUFFIXES = {".py", ".md", ".yaml", ".toml", ".xgl", ".xent"}
SPECIFICATION = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^#+ (.+)$", SPECIFICATION, re.MULTILINE)

SECTION = re.compile(r"specification\.md,\s+\"([^\"]+)\"")
"""A citation by heading: ``(docs/specification.md, "Truth")``; it may go over a line's end."""
ANCHOR = re.compile(r"specification\.md#([^)\s]+)\)")
NUMBERS = re.compile(
    r"(§|Def|Remark|Claim|Fig|Algorithm)[.s]?\s?(\d[\d.]*(?:(?:,|\sand)\s\d[\d.]*)*)"
)
"""One or several of the paper's own: ``Def. 43, 47``, ``§6.1.2``, ``Fig. 4.2 and 4.3``."""
OTHER_PAPERS = re.compile(r"ratings|ggbench")
"""Modules and pages about the two other papers, whose own numbers they cite."""
UNOPENABLE = re.compile(r"\b(?:[S]PEC|[A]RCHITECTURE|[F]ACTS)\b")
"""Documents that are not in the repository; the brackets keep this line from being a citation."""


def texts() -> Iterator[tuple[Path, str]]:
    """Every source, test, setting and document, by its path in the repository."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in sorted([*paths, *ROOT.glob("*.md"), *ROOT.glob("*.toml")]):
        if path.suffix in SUFFIXES:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def anchor(heading: str) -> str:
    """The link target that Markdown makes of a heading.

    >>> anchor("One candidate's way")
    'one-candidates-way'
    """
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def numbers(text: str) -> set[tuple[str, str]]:
    """The paper's numbers that a text cites, each by itself.

    >>> sorted(numbers("(Def. 43, 47; paper §6.3.)"))
    [('Def', '43'), ('Def', '47'), ('§', '6.3')]
    """
    citations = NUMBERS.findall(text)
    return {
        (kind, number.rstrip("."))
        for kind, number_list in citations
        for number in re.split(r",\s|\sand\s", number_list)
    }


TEXTS = dict(texts())


@pytest.mark.parametrize("pattern", [SECTION, ANCHOR], ids=["headings", "anchors"])
def test_a_cited_section_is_a_heading(pattern: re.Pattern[str]) -> None:
    targets = {*HEADINGS, *map(anchor, HEADINGS)}
    citations = {
        (str(path), " ".join(name.split()))
        for path, text in TEXTS.items()
        for name in pattern.findall(text)
    }
    assert citations
    assert not {(path, name) for path, name in citations if name not in targets}


def test_a_cited_number_of_the_paper_is_explained() -> None:
    explanations = numbers(SPECIFICATION)
    citations = {
        number: path
        for path, text in TEXTS.items()
        if not OTHER_PAPERS.search(str(path))
        for number in numbers(text)
    }
    assert ("Def", "37") in explanations
    assert not {number: path for number, path in citations.items() if number not in explanations}


def test_no_two_sections_have_the_same_name() -> None:
    sections = [*map(anchor, HEADINGS)]
    assert len(sections) == len(set(sections))


def test_nothing_cites_a_document_that_is_not_here() -> None:
    assert not [str(path) for path, text in TEXTS.items() if UNOPENABLE.search(text)]
