"""A grammar of XGL for constrained decoding: every text of it is a valid program
(docs/meta_samplers.md).

Beyond validity it states, by the bits of :class:`~meta_sampler.constrained.grammar.State`, what
makes a program playable: registers are set before they are read, an ensure stands behind an elicit,
flags are placed in order before they are jumped to, a player is paid after it has moved, and a text
ends only after the main player was paid for a move. A blank line may end a text.
"""

from __future__ import annotations

from functools import lru_cache

from meta_sampler.base import SamplerError
from meta_sampler.constrained.grammar import (
    Grammar,
    Pattern,
    Ref,
    State,
    Symbol,
    both,
    either,
    repetitions,
)
from meta_sampler.constrained.xgl_expressions import add_expressions
from meta_sampler.settings import GrammarSettings
from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS


@lru_cache(maxsize=64)
def xgl_grammar(
    dialect: str, settings: GrammarSettings, constants: tuple[str, ...] = ()
) -> Grammar:
    """The grammar of a dialect's programs within ``settings``.

    ``constants``: registers of types a, b, c that hold a text before play. Raises
    :class:`SamplerError` if the settings allow lines that are too long for the language.
    """
    state = State(DIALECTS[dialect], constants)
    grammar = Grammar("opening" if settings.stories else "line")
    add_expressions(grammar, state, settings)
    _flow(grammar, state, settings)
    _assign(grammar, state, settings)
    _elicit(grammar, state, settings)
    _ensure(grammar, state)
    _reward(grammar, state, settings)
    _reveal(grammar, state, settings)
    if settings.loops and settings.max_jumps > 0:
        _loops(grammar, state, settings)
    longest = grammar.longest("line", stop="next")
    if longest > syn.MAX_LINE_CHARACTERS:
        bound = f"at most {syn.MAX_LINE_CHARACTERS} characters of the language"
        raise SamplerError(f"the grammar admits lines of {longest} characters, expected {bound}")
    return grammar


def _flow(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """The order of lines; room is kept for a move and its reward while they are missing."""
    most, main_moved = settings.max_lines, state.holds(f"moved {syn.MAIN_PLAYER}")
    room_for_one = either(state.holds("paid"), state.fewer_lines(most - 1))
    room = either(
        both(main_moved, room_for_one), either(state.holds("paid"), state.fewer_lines(most - 2))
    )
    grammar.add("line", [Ref("assign")], [Ref("elicit_other")], when=room)
    grammar.add("line", [Ref("ensure")], [Ref("reveal")], when=both(room, state.readable_strings()))
    grammar.add("line", [Ref("reward_other")], when=room)
    if settings.loops and settings.max_jumps > 0:
        grammar.add("line", [Ref("beacon")], [Ref("replay")], when=room)
    grammar.add("line", [Ref("elicit_main")], when=room_for_one)
    grammar.add("line", [Ref("reward_main")], when=main_moved)
    grammar.add("next", ["\n", Ref("line", state.next_line)], when=state.fewer_lines(most - 1))
    grammar.add("next", [], ["\n\n"], when=state.holds("paid"))
    if settings.ends_at_reward:
        grammar.add("end", [], ["\n\n"])


def _assign(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    most = settings.max_targets
    for remaining in range(1, most + 1):
        rest = _rest_rule("targets", remaining)
        for name in state.strings:
            for value in ("value", "story", "moved_value"):
                _store(grammar, state, f"targets_{remaining}", name, value, rest)
        for name in state.lists if settings.helpers else ():
            _store(grammar, state, f"targets_{remaining}", name, "list_0", rest)
        if remaining > 1:
            grammar.add(rest, [", ", Ref(f"targets_{remaining - 1}")])
        grammar.add(rest, [Ref("end_assign")])
    grammar.add("end_assign", [")", Ref("next", state.after_assign)])
    grammar.add("assign", ["assign(", Ref(f"targets_{most}")])
    _assign_alone(grammar, state)
    for name in state.strings if settings.stories else ():
        _store(grammar, state, "first_target", name, "story", _rest_rule("targets", most))
    if settings.stories:
        grammar.add("opening", ["assign(", Ref("first_target")])


def _assign_alone(grammar: Grammar, state: State) -> None:
    """Values so long that each is the only one of its line."""
    names = {"rich_value": state.strings, "rich_list": state.lists}
    for value in names.keys() & grammar.rules.keys():
        for name in names[value]:
            _store(grammar, state, "alone", name, value, "end_assign")
    if "alone" in grammar.rules:
        grammar.add("assign", ["assign(", Ref("alone")])


def _rest_rule(name: str, remaining: int) -> str:
    return f"after_{name}_{remaining}"


def _store(grammar: Grammar, state: State, rule: str, name: str, value: str, rest: str) -> None:
    """``name=value``; a register that was not set before is new in its line."""
    holds_move = value == "moved_value"
    facts = [f"set {name}", *([f"moved {name}"] if holds_move else [])]
    when = state.someone_moved if holds_move else ""
    form: tuple[Symbol, ...] = (f"{name}=", Ref(value))
    again = Ref(rest, state.note(*facts))
    if not state.dialect.parallel_assign:
        grammar.add(rule, [*form, again], when=when)
        return
    fresh = Ref(rest, state.note(*facts, f"spent {name}"))
    grammar.add(rule, [*form, fresh], when=both(when, state.fails(f"set {name}")))
    grammar.add(rule, [*form, again], when=both(when, state.holds(f"set {name}")))


def _elicit(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    limits = "|".join(map(str, range(1, settings.max_limit + 1)))
    limit = Pattern(limits, len(str(settings.max_limit)))
    for remaining in range(1, settings.max_targets + 1):
        rest = _rest_rule("moves", remaining)
        for name in state.strings:
            changes = state.note(f"set {name}", f"moved {name}")
            grammar.add(f"moves_{remaining}", [name, Ref(rest, changes)])
        if remaining > 1:
            grammar.add(rest, [", ", Ref(f"moves_{remaining - 1}")])
        grammar.add(rest, [", ", limit, ")", Ref("next")], [")", Ref("next")])
    first = f"moves_{settings.max_targets}"
    for player in dict.fromkeys((syn.MAIN_PLAYER, *settings.players)):
        registers = Ref(first, state.note(f"moved {player}"))
        main = player == syn.MAIN_PLAYER
        name = "" if main else f"{player}, "
        grammar.add("elicit_main" if main else "elicit_other", [f"elicit({name}", registers])
    if "elicit_other" not in grammar.rules:
        _empty_rule(grammar, state, "elicit_other")


def _empty_rule(grammar: Grammar, state: State, rule: str) -> None:
    """A rule without a text."""
    fact = state.holds("paid")
    grammar.add(rule, [")"], when=both(fact, f"not({fact})"))


def _ensure(grammar: Grammar, state: State) -> None:
    form = ["ensure(", Ref("conditions"), ")", Ref("next")]
    grammar.add("ensure", form, when=state.someone_moved)
    grammar.add("conditions", *repetitions(Ref("condition"), ", ", 1, 2))
    if state.dialect.python_conditions:
        grammar.add("conditions", [Ref("logic")])


def _reward(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """Rewards of players that have moved; ``env`` keeps a reward in one dialect only."""
    for player in dict.fromkeys((syn.MAIN_PLAYER, *settings.players)):
        if player == "env" and not state.dialect.env_rewarded:
            continue
        name = "" if player == syn.MAIN_PLAYER else f"{player}, "
        main = player == syn.MAIN_PLAYER
        after = _after_pay(state, settings) if main else Ref("next")
        rule = "reward_main" if main else "reward_other"
        form = [f"reward({name}", Ref("sum"), ")", after]
        when = state.holds(f"moved {player}")
        if player == "white":
            when = both(when, state.fails(f"moved {syn.MAIN_PLAYER}"))
        grammar.add(rule, form, when=when)
    if "white" in settings.players:
        _pay_by_white(grammar, state, settings)
    if "reward_other" not in grammar.rules:
        _empty_rule(grammar, state, "reward_other")


def _after_pay(state: State, settings: GrammarSettings) -> Ref:
    """What follows the pay of the main player."""
    return Ref("end") if settings.ends_at_reward else Ref("next", state.note("paid"))


def _pay_by_white(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """A gain of white is a loss of the main player, so this pays the main player too."""
    form = ["reward(white, ", Ref("sum"), ")", _after_pay(state, settings)]
    both_moved = both(state.holds("moved white"), state.holds(f"moved {syn.MAIN_PLAYER}"))
    grammar.add("reward_other", form, when=both_moved)


def _reveal(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """Reveals to players who do not see everything."""
    grammar.add("values", *repetitions(Ref("shown"), ", ", 1, settings.max_targets))
    for player in settings.players:
        if player not in syn.OMNISCIENT:
            form = [f"reveal({player}, ", Ref("values"), ")", Ref("next")]
            grammar.add("reveal", form)
    if "reveal" not in grammar.rules:
        _empty_rule(grammar, state, "reveal")


def _loops(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """Each flag is placed once and jumped to by one replay behind it."""
    first, second = syn.FLAGS
    times = Pattern("|".join(map(str, range(1, settings.max_jumps + 1))), 4)
    for flag in syn.FLAGS:
        free = state.fails(f"placed {flag}")
        if flag == first and state.dialect.flag_order:
            free = both(free, state.fails(f"placed {second}"))
        grammar.add(
            "beacon", [f"beacon({flag})", Ref("next", state.note(f"placed {flag}"))], when=free
        )
        ready = both(state.holds(f"placed {flag}"), state.fails(f"taken {flag}"))
        form = [f"replay({flag}, ", times, ")", Ref("next", state.note(f"taken {flag}"))]
        grammar.add("replay", form, when=ready)
