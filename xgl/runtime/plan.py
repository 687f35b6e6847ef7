"""What all instances of one game share: its lines, prepared to run, and the texts it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import children, descendants, find, parts, rebuild
from xgl.runtime.requests import StoryRequest
from xgl.runtime.values import REQUEST_FUNCTIONS


def story_request(game: Game, site: int, story: syn.Story) -> StoryRequest:
    """The text that the ``site``-th story of a game asks for."""
    usual, count = game.metadata.story_tokens, game.metadata.story_count
    if not DIALECTS[game.dialect].story_arguments:
        return StoryRequest(site, usual, count=count)
    # A longer text than the cap on characters could not be stored.
    tokens = min(story.tokens or usual, game.metadata.max_characters)
    return StoryRequest(site, tokens, story.prompt, count)


def asked_stories(game: Game) -> tuple[StoryRequest, ...]:
    """The texts of a map of the game, in the order of their sites: its stories, then the constants
    that the metadata fill by prompts, in the order of their names."""
    stories = find(game.program, syn.Story)
    asked = [story_request(game, site, story) for site, story in enumerate(stories)]
    return (*asked, *constant_requests(game, len(stories)).values())


def constant_requests(game: Game, sites: int) -> dict[str, StoryRequest]:
    """The texts of the constants that are filled by prompts, by register; ``sites``: number of
    stories of the program."""
    facts = game.metadata
    tokens = min(facts.story_tokens, facts.max_characters)
    return {
        name: StoryRequest(site, tokens, facts.prompts[name], facts.story_count)
        for site, name in enumerate(sorted(facts.prompts), sites)
    }


@dataclass(frozen=True, slots=True)
class PreparedProgram:
    """A program prepared to run, shared by all instances of its game."""

    lines: tuple[syn.Instruction, ...]
    """Equal to the program's; no line holds a node twice, so a call is known by its identity."""
    cast: frozenset[str]
    stories: tuple[tuple[tuple[int, syn.Story], ...], ...]
    """The ``story()`` calls of each line, numbered through the program."""
    sizes: tuple[int, ...]
    """Parts of each line."""
    calls_by_node: dict[int, tuple[syn.Function, ...]] = field(default_factory=dict)
    labels: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, program: syn.Program) -> PreparedProgram:
        sites = count()
        lines = tuple(map(_unshare, program.instructions))
        return cls(
            lines,
            frozenset(line.player for line in lines if isinstance(line, syn.Elicit)),
            tuple(tuple((next(sites), story) for story in find(line, syn.Story)) for line in lines),
            tuple(map(parts, lines)),
        )

    def calls(self, node: Any) -> tuple[syn.Function, ...]:
        """The calls in a node of a line that ask something, in the order of their evaluation."""
        calls = self.calls_by_node.get(id(node))
        if calls is None:
            calls = self.calls_by_node[id(node)] = tuple(_request_calls(node))
        return calls

    def label(self, node: Any) -> str:
        """The text of a node of a line."""
        text = self.labels.get(id(node))
        if text is None:
            text = self.labels[id(node)] = expression_text(node)
        return text


# The parser makes every node once, but a program built by edits may hold one call in two places,
# and each place needs its own answer.
def _unshare(line: syn.Instruction) -> syn.Instruction:
    return _copy(line) if any(map(_has_answer, descendants(line))) else line


def _has_answer(node: Any) -> bool:
    return isinstance(node, syn.Story) or _makes_request(node)


def _makes_request(node: Any) -> bool:
    return isinstance(node, syn.Function) and node.name in REQUEST_FUNCTIONS


def _copy(node: Any) -> Any:
    return replace(rebuild(node, _copy))


def _request_calls(node: Any) -> Iterator[syn.Function]:
    for child in children(node):
        yield from _request_calls(child)
    if _makes_request(node):
        yield node
