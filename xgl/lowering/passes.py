"""Lowering of one game to the authors' engine: the passes in their order, and their refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from xgl.analysis.static_facts import analyse
from xgl.errors import ProgramError, XGLError
from xgl.language import syntax as syn
from xgl.language.canonical import Game, Metadata, canonicalise, names_of
from xgl.language.dialects import PAPER
from xgl.language.parser import parse
from xgl.language.unparse import expression_text, instruction_text
from xgl.language.visitors import find, reads, writes
from xgl.lowering import terms
from xgl.lowering.terms import Account, Guard, RevealRewriter, conditions, rewards

FAILURES = 10
"""Failed ensures that the authors' engine allows for each line."""
Lines = list[syn.Instruction]


class LoweringError(XGLError):
    """A game that the authors' engine cannot play; ``reasons`` name each line at fault."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(self.reasons))


class LoweredProgram(NamedTuple):
    """A program in the xent dialect, and its text as the authors' engine reads it.

    ``changes`` keep the meaning, ``inexact`` changes do not, ``notes`` are differences of the
    engines that no program can express. ``metadata``: the metadata to play it with here.
    """

    program: syn.Program
    text: str
    metadata: Metadata
    changes: tuple[str, ...]
    inexact: tuple[str, ...]
    notes: tuple[str, ...]


def lower(game: Game, role: str = syn.MAIN_PLAYER, allow_inexact: bool = False) -> LoweredProgram:
    """``game``, measured in ``role``, for the authors' engine.

    Raises :class:`LoweringError` with every reason. ``allow_inexact`` accepts changes that leave
    the game nearly the same.
    """
    account = Account(lenient=allow_inexact)
    program = _lower_program(game, account)
    _note(game, account)
    if account.refusals:
        raise LoweringError(account.refusals)
    text = _text_read_back(program, role)
    return LoweredProgram(
        program=program,
        text=text,
        metadata=_metadata(game),
        changes=tuple(account.changes),
        inexact=tuple(account.inexact),
        notes=tuple(account.notes),
    )


def _lower_program(game: Game, account: Account) -> syn.Program:
    program = game.program
    _refuse_worlds(game, account)
    lines: Lines = [_constants(line, game, account) for line in program.instructions]
    lines = _map_lines(lines, lambda line: _conditions(line, program.dialect, account))
    if program.dialect == PAPER.name:
        lines = _lower_paper_dialect(lines, account)
    lines = _map_lines(lines, lambda line: terms.drop_overwritten(line, account))
    reveal_rewriter = RevealRewriter(syn.Program(tuple(lines), program.dialect), account)
    lines = _map_lines(lines, lambda line: _rewrite_line(line, game, reveal_rewriter, account))
    if terms.has_cut_or_join(syn.Program(tuple(lines))):
        lines = _map_lines(lines, lambda line: terms.store_moves_again(line, account))
    lines = [Guard(lines, account)(line) for line in lines]
    lines = _replace_david(lines, account)
    renamed = canonicalise(syn.Program(tuple(lines), "xent"))
    names = {n for line in renamed.instructions for n in (*reads(line), *writes(line))}
    if over := sorted(name for name in names if name.endswith("0")):
        account.refuse(None, f"more registers than there are there: {', '.join(over)}")
    return renamed


def _refuse_worlds(game: Game, account: Account) -> None:
    """Refuse what that engine has no place for: models under one judge, constants by prompts."""
    for line in game.program.instructions:
        if names := names_of(line):
            account.refuse(line, f"that engine has one judge, and no model {names[0]!r} under it")
    if name := game.metadata.judge:
        account.refuse(None, f"that engine has one judge, and no model {name!r} under it")
    if game.metadata.prompts:
        account.refuse(None, "its constants are written for each map by prompts")


def _map_lines(lines: Lines, change: Callable[[syn.Instruction], Lines]) -> Lines:
    return [new for line in lines for new in change(line)]


def _constants(line: syn.Instruction, game: Game, account: Account) -> syn.Instruction:
    values = {n: v for n, v in game.metadata.constants.items() if v}
    hidden = {name for name in reads(line) if name[0] == "c"} & values.keys()
    players = analyse(game.program).players
    if hidden and not set(players) <= set(syn.OMNISCIENT):
        account.refuse(line, "a private constant would be read in the program")
    new_line: syn.Instruction = terms.replace_constants(line, values, account)
    return new_line


def _conditions(line: syn.Instruction, dialect: str, account: Account) -> Lines:
    return [conditions(line, dialect, account) if isinstance(line, syn.Ensure) else line]


def _lower_paper_dialect(lines: Lines, account: Account) -> Lines:
    """Rewrite what has another meaning in the paper's dialect."""
    new_lines: Lines = []
    for line in lines:
        if any(xent.outer is not None for xent in find(line, syn.Xent)):
            account.loss(line, "a pre-instruction is joined to the prefix as text there")
        new_line: Any = terms.remove_story_arguments(line, account)
        for change in (terms.add_spaces, terms.copy_list_items):
            new_line = change(new_line, account)
        if isinstance(new_line, syn.Reward) and new_line.player == "env":
            account.change("rewards to env, which count for nothing, were left out")
        else:
            is_assign = isinstance(new_line, syn.Assign)
            new_lines += terms.split_assign(new_line, account) if is_assign else [new_line]
    return _place_early_flags(new_lines, account)


def _place_early_flags(lines: Lines, account: Account) -> Lines:
    """Place a flag that is replayed before it is placed at line 1."""
    placed_flags: set[str] = set()
    early: dict[str, None] = {}
    for line in lines:
        if isinstance(line, syn.Beacon):
            placed_flags.add(line.flag)
        elif isinstance(line, syn.Replay) and line.flag not in placed_flags:
            early[line.flag] = None
    if early:
        account.change("a flag that was never placed is placed at line 1")
    return [*(syn.Beacon(flag) for flag in early), *lines]


def _rewrite_line(
    line: syn.Instruction, game: Game, reveal_rewriter: RevealRewriter, account: Account
) -> Lines:
    calls = [call for call in find(line, syn.Function) if call.name == "split"]
    if any(call.arguments[1:] == (terms.NOTHING,) for call in calls):
        account.refuse(line, "a text cannot be split by an empty one there")
    match line:
        case syn.Reward():
            return rewards(line, account)
        case syn.Reveal():
            return reveal_rewriter.lower(line)
        case syn.Elicit(max_len=None):
            account.change("elicits name their limit")
            return [replace(line, max_len=game.metadata.max_len)]
    return [line]


def _replace_david(lines: Lines, account: Account) -> Lines:
    """Give david's part, whom that engine lacks, to a free private player, or refuse."""
    players = {line.player for line in lines if hasattr(line, "player")}
    if "david" not in players:
        return lines
    first = next(line for line in lines if getattr(line, "player", "") == "david")
    free = next((name for name in ("carol", "bob", "alice") if name not in players), None)
    if free is None:
        account.refuse(first, "there is no player david there, and no other chair is free")
        return lines
    account.loss(first, f"there is no player david there; {free} would play his part")
    return [_reassign_david(line, free) for line in lines]


def _reassign_david(line: syn.Instruction, player: str) -> syn.Instruction:
    """The line with david's part played by another."""
    if isinstance(line, syn.Elicit | syn.Reward | syn.Reveal) and line.player == "david":
        return replace(line, player=player)
    return line


def _note(game: Game, account: Account) -> None:
    """Note the differences of the engines that remain."""
    if game.dialect == PAPER.name:
        account.note("no BOS stands before a scored string, and its first token does not count")
        account.note("a move beyond its limit keeps its first tokens")
    if find(game.program, syn.Ensure):
        account.note(
            f"an ensure line may fail {FAILURES} times in a row, the next failure is an error; "
            f"here a player may fail {game.metadata.max_failures} times"
            + (" in a game" if game.dialect == PAPER.name else " a line")
        )
    if name := game.metadata.npc:
        account.note(
            f"who plays the other roles, here the model {name!r}, is named elsewhere there"
        )
    if any(call.name in ("sample", "shuffle") for call in find(game.program, syn.Function)):
        account.note("sample and shuffle draw otherwise there, whatever the seed")


def _metadata(game: Game) -> Metadata:
    calls = find(game.program, syn.Story)
    usual = game.metadata.story_tokens
    longest = max((story.tokens or usual for story in calls), default=usual)
    tokens = longest if game.dialect == PAPER.name else usual
    return replace(game.metadata, story_tokens=tokens, constants={}, npc="", story_count=0)


def _text_read_back(program: syn.Program, role: str) -> str:
    """The text, after a check that it parses to the program. Raises :class:`LoweringError`."""
    text = "\n".join(_line(line, role) for line in program.instructions)
    try:
        parsed_program = canonicalise(parse(text, "xent"))
    except ProgramError as error:
        raise LoweringError(
            f"lowered, line {p.line}: {p.found}; expected {p.expected}" for p in error.problems
        ) from error
    if faults := analyse(parsed_program).faults:
        raise LoweringError(faults)
    if parsed_program != program:
        raise LoweringError(["its lowered text reads otherwise"])
    return text


def _line(line: syn.Instruction, role: str) -> str:
    """A line in that engine's text, with statements as ``is_true`` and black named if another role
    is measured, since there the unnamed player is the measured one."""
    text = instruction_text(line)
    if isinstance(line, syn.Ensure):
        text = f"ensure({', '.join(map(_condition_text, line.conditions))})"
    if role != syn.MAIN_PLAYER and getattr(line, "player", "") == syn.MAIN_PLAYER:
        text = text.replace("(", f"({syn.MAIN_PLAYER}, ", 1)
    return text


def _condition_text(condition: syn.Condition) -> str:
    if isinstance(condition, syn.Truth):
        return expression_text(syn.Logic("and", (condition,)))  # named, where to_text names it not
    return expression_text(condition)
