"""Operators on programs: on whole lines, where a new player is shown something and earns something;
on the kind, the operands and the terms of scores; and the moves in game space that the paper's
axioms name (§2.3), with line crossover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random

from meta_sampler import program_editor as edit
from meta_sampler.program_editor import EditContext, Lines, needed, one_of, replace_node
from meta_sampler.soundness import WITH_PLAYER, splice
from xgl.language import syntax as syn
from xgl.language.visitors import mentions, of_type, reads, rename, writes


def retarget_player(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A move, a reward or a reveal goes to another player; a new mover is paid for its move."""
    position, line = one_of(rng, of_type(lines, *WITH_PLAYER))
    new = rng.choice([name for name in context.players if name != line.player])
    new_lines = splice(lines, position, replace(line, player=new))
    if isinstance(line, syn.Elicit):
        shown = with_reveal(new_lines, position, new, context, rng)
        return with_reward(shown, new, line.registers[0], context, rng)
    return new_lines


def with_reveal(
    lines: Lines, position: int, player: str, context: EditContext, rng: Random
) -> Lines:
    """``lines`` in which a player that does not see everything is shown a string before its
    move."""
    live = edit.registers_at(lines, position, context).live
    is_informed = any(isinstance(x, syn.Reveal) and x.player == player for x in lines[:position])
    if player in syn.OMNISCIENT or is_informed or not live:
        return lines
    return edit.insert(lines, position, syn.Reveal(player, (syn.Register(rng.choice(live)),)))


def with_reward(
    lines: Lines,
    player: str,
    register: str,
    context: EditContext,
    rng: Random,
    sides: Sequence[int] = (1, -1),
) -> Lines:
    """``lines`` in which a mover shares a reward that reads its move, or is paid the negative of
    it.

    Nothing is added for the main player, for whom an earner's partner is, since the language pays
    black and white each other's negative, or for env, which earns nothing.
    """
    rewards = of_type(lines, syn.Reward)
    earns = {line.player for _, line in rewards}
    reading = [(i, line) for i, line in rewards if register in reads(line)]
    coupled = {player, syn.PARTNERS.get(player, player)}
    if player == "env" or coupled & {context.main, *earns} or not reading:
        return lines
    position, reward = rng.choice(reading)
    return edit.insert(lines, position + 1, signed_reward(reward, player, rng.choice(sides)))


def signed_reward(reward: syn.Reward, player: str, side: int) -> syn.Reward:
    """A reward, or its negative, to a player."""
    return syn.Reward(player, syn.Sum(tuple((side * s, term) for s, term in reward.amount.terms)))


def add_reveal(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Show a string, before some move, to a player that does not see everything."""
    players = [name for name in context.others if name not in syn.OMNISCIENT]
    moves = [(i, line) for i, line in of_type(lines, syn.Elicit) if line.player in players]
    position, move = one_of(rng, moves)
    string = edit.string(rng, edit.registers_at(lines, position, context))
    return edit.insert(lines, position, syn.Reveal(move.player, (string,)))


def swap_players(lines: Lines, other: str, context: EditContext, rng: Random) -> Lines:
    """``lines`` with the main player and another exchanged, who is shown what it needs."""
    names = {context.main: other, other: context.main}
    new_lines = lines
    for position, line in of_type(lines, *WITH_PLAYER):
        swapped = replace(line, player=names.get(line.player, line.player))
        new_lines = splice(new_lines, position, swapped)
    moves = [i for i, line in of_type(new_lines, syn.Elicit) if line.player == other]
    return with_reveal(new_lines, moves[0], other, context, rng) if moves else new_lines


def insert_reward(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A new reward of the main player anywhere after its first move."""
    first, _ = needed(of_type(lines, syn.Elicit))[0]
    position = rng.randint(first + 1, len(lines))
    amount = edit.amount(rng, edit.registers_at(lines, position, context))
    return edit.insert(lines, position, syn.Reward(context.main, amount))


def insert_assign(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A new register for a cat or cut of live ones, read by a later score instead of one."""
    position = rng.randint(1, len(lines))
    here, name = edit.registers_at(lines, position, context), edit.a_free_name(lines)
    source = one_of(rng, here.live)
    value = edit.combine(rng, here, source)
    uses = [s for s in edit.operands(lines, position) if source in set(reads(s.node))]
    new_lines = replace_node(lines, one_of(rng, uses), syn.Register(name))
    return edit.insert(new_lines, position, syn.Assign(((name, value),)))


def insert_elicit(
    lines: Lines,
    context: EditContext,
    rng: Random,
    players: Sequence[str] = (),
    sides: Sequence[int] = (1, -1),
) -> Lines:
    """One more move by one of ``players``, or of all, and a reward term or an operand that uses it;
    if it was paid nothing, it shares the reward, or is paid the negative of it, by one of
    ``sides``."""
    name = edit.a_free_name(lines)
    reward, _ = one_of(rng, of_type(lines, syn.Reward))
    position = rng.randint(min(1, reward), reward)
    player, limit = rng.choice(players or context.players), rng.choice(edit.LIMITS)
    longer = edit.insert(lines, position, syn.Elicit(player, (name,), limit))
    if rng.random() < 0.5:
        with_move = _with_term(longer, reward + 1, name, context, rng)
    else:
        site = rng.choice([s for s in edit.operands(longer) if s.position == reward + 1])
        pair = [site.node, syn.Register(name)]
        operand = rng.choice((pair[1], syn.Cat(*pair), syn.Cat(*reversed(pair))))
        with_move = replace_node(longer, site, operand)
    shown = with_reveal(with_move, position, player, context, rng)
    return with_reward(shown, player, name, context, rng, sides)


def insert_story(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """One more text on the map, and a reward term about it."""
    name, first = edit.a_free_name(lines), lines[0]
    (reward, _), target = one_of(rng, of_type(lines, syn.Reward)), (name, syn.Story())
    if isinstance(first, syn.Assign) and all(isinstance(v, syn.Story) for _, v in first.targets):
        longer = splice(lines, 0, replace(first, targets=(*first.targets, target)))
    else:
        longer, reward = edit.insert(lines, 0, syn.Assign((target,))), reward + 1
    return _with_term(longer, reward, name, context, rng)


def insert_distractor(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """One more text on the map, anywhere among the others, that no reward uses."""
    name, first = edit.a_free_name(lines), lines[0]
    if not isinstance(first, syn.Assign):
        raise edit.NothingError
    index = rng.randrange(len(first.targets) + 1)
    targets = (*first.targets[:index], (name, syn.Story()), *first.targets[index:])
    return splice(lines, 0, replace(first, targets=targets))


def permute_stories(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Rewards use other stories than before: from one line on, or everywhere, the stories that they
    read are exchanged."""
    stories, rewards = edit.story_registers(lines), [i for i, _ in of_type(lines, syn.Reward)]
    needed(len(stories) > 1)
    first, others = one_of(rng, rewards), rng.sample(stories, len(stories))
    names = dict(zip(stories, others, strict=True))
    new_lines = lines
    for position in rewards[rewards.index(first) :]:
        live = edit.registers_at(lines, position, context).live
        live_names = {old: new for old, new in names.items() if new in live}
        new_lines = splice(new_lines, position, rename(lines[position], live_names))
    return new_lines


def _with_term(lines: Lines, position: int, about: str, context: EditContext, rng: Random) -> Lines:
    """The reward at ``position`` with one more term about a register."""
    term = edit.term(rng, edit.registers_at(lines, position, context), about)
    site = next(each for each in edit.sites(lines, syn.Sum, position))
    return replace_node(lines, site, syn.Sum((*site.node.terms, term)))


def delete_line(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """One line less."""
    needed(len(lines) > 1)
    return edit.rebind_reads(splice(lines, rng.randrange(len(lines))), context, rng)


def replace_line(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A fresh draw in place of a reward, a condition, a cut or a cat."""
    position = rng.randrange(len(lines))
    line, here = lines[position], edit.registers_at(lines, position, context)
    match line:
        case syn.Reward():
            line = replace(line, amount=edit.amount(rng, here))
        case syn.Ensure():
            line = syn.Ensure((edit.condition(rng, here, context),))
        case syn.Assign(((name, value), *rest)) if here.live and reads(value):
            new = edit.combine(rng, here, rng.choice(here.live))
            line = syn.Assign(((name, new), *rest))
        case _:
            raise edit.NothingError
    return splice(lines, position, line)


def swap_lines(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Two lines exchanged."""
    needed(len(lines) > 1)
    i, j = sorted(rng.sample(range(len(lines)), 2))
    return edit.rebind_reads(splice(splice(lines, i, lines[j]), j, lines[i]), context, rng)


def retarget_register(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A move or a value is stored in another register of the program and replaces its value."""
    register_writes = [(i, name) for i, line in enumerate(lines) for name in writes(line)]
    names = sorted({name for _, name in register_writes})
    needed(len(names) > 1)
    position, old = rng.choice(register_writes)
    new = rng.choice([name for name in names if name != old])
    line = lines[position]
    if isinstance(line, syn.Assign):
        line = replace(line, targets=tuple((new if n == old else n, v) for n, v in line.targets))
    elif isinstance(line, syn.Elicit):
        line = replace(line, registers=tuple(new if n == old else n for n in line.registers))
    return edit.rebind_reads(splice(lines, position, line), context, rng)


def change_bound(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Another limit of an elicit, count of a replay or bound of a comparison."""
    candidates = of_type(lines, syn.Elicit, syn.Replay)
    numbers = [site for site in edit.sites(lines, syn.Number) if site.node.value]
    pick = rng.randrange(max(1, len(candidates) + len(numbers)))
    if pick < len(candidates):
        position, line = candidates[pick]
        if isinstance(line, syn.Replay):
            return splice(lines, position, replace(line, times=rng.randint(1, 4)))
        return splice(lines, position, replace(line, max_len=rng.choice(edit.LIMITS)))
    site = needed(numbers)[pick - len(candidates)]
    return replace_node(lines, site, syn.Number(rng.choice(edit.BOUNDS)))


def wrap_loop(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Repeat a stretch that holds a move; its moves are used one by one or gathered into one."""
    used_flags = {line.flag for line in lines if isinstance(line, syn.Beacon | syn.Replay)}
    flag = needed(next((flag for flag in syn.FLAGS if flag not in used_flags), None))
    move, elicit = one_of(rng, of_type(lines, syn.Elicit))
    times = rng.choice((1, 1, 2, 3))
    if rng.random() < 0.5:
        return _gather_in_loop(lines, move, elicit, flag, times)
    start, end = rng.randint(min(1, move), move), rng.randint(move + 1, len(lines))
    with_replay = edit.insert(lines, end, syn.Replay(flag, times))
    return edit.insert(with_replay, start, syn.Beacon(flag))


def _gather_in_loop(lines: Lines, move: int, elicit: syn.Elicit, flag: str, times: int) -> Lines:
    """Later lines read the moves of all rounds joined, in place of one move."""
    old, new = elicit.registers[0], edit.a_free_name(lines)
    empty = syn.Assign(((new, syn.Literal("")),))
    gather = syn.Assign(((new, syn.Cat(syn.Register(new), syn.Register(old))),))
    for site in edit.sites(lines, syn.Register, move + 1):
        if site.node.name == old:
            lines = replace_node(lines, site, syn.Register(new))
    return splice(lines, move, empty, syn.Beacon(flag), elicit, gather, syn.Replay(flag, times))


def add_ensure(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A demand on a move, made before the next one."""
    move, _ = one_of(rng, of_type(lines, syn.Elicit))
    condition = edit.condition(rng, edit.registers_at(lines, move + 1, context), context)
    return edit.insert(lines, move + 1, syn.Ensure((condition,)))


def negate_reward(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Turn the sign of a whole reward or of one of its terms."""
    site = edit.random_reward_sum(lines, rng, 1)
    terms = site.node.terms
    indices = rng.choice((range(len(terms)), [rng.randrange(len(terms))]))
    new_terms = tuple((-s if i in indices else s, t) for i, (s, t) in enumerate(terms))
    return replace_node(lines, site, syn.Sum(new_terms))


def split_reward(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Pay some terms of a reward on their own, and earlier where their registers are set."""
    site = edit.random_reward_sum(lines, rng, 2)
    terms = list(site.node.terms)
    early = [terms.pop(rng.randrange(len(terms))) for _ in range(rng.randint(1, len(terms) - 1))]
    first = replace_node(lines, site, syn.Sum(tuple(early)))[site.position]
    rest = replace_node(lines, site, syn.Sum(tuple(terms)))
    possible = [
        position
        for position in range(1, site.position + 1)
        if set(reads(first)) <= set(edit.registers_at(lines, position, context).live)
    ]
    return edit.insert(rest, one_of(rng, possible), first)


# -- scores ----------------------------------------------------------------------------------------


def _random_term(
    lines: Lines, rng: Random, fits: Callable[[syn.Xent], bool] = lambda _: True
) -> edit.Site:
    return one_of(rng, [site for site in edit.sites(lines, syn.Xent) if fits(site.node)])


def change_kind(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """xent, nex, xed or dex in place of another; without a prefix only the first two differ."""
    site = _random_term(lines, rng)
    kinds = syn.XENT_KINDS if site.node.prefix else ("xent", "nex")
    kind = rng.choice([kind for kind in kinds if kind != site.node.kind])
    return replace_node(lines, site, replace(site.node, kind=kind))


def swap_target_prefix(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Swap the target of a score and its prefix."""
    site = _random_term(lines, rng, lambda term: term.prefix is not None)
    term = site.node
    return replace_node(lines, site, replace(term, target=term.prefix, prefix=term.target))


def replace_operand(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Another live register, or a cat or cut of live ones, in place of a scored string."""
    site = one_of(rng, edit.operands(lines))
    here = edit.registers_at(lines, site.position, context)
    return replace_node(lines, site, edit.string(rng, here))


def add_term(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """One more term in a reward."""
    position = edit.random_reward_sum(lines, rng, 1).position
    return _with_term(lines, position, "", context, rng)


def drop_term(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """One term less in a reward of several."""
    site = edit.random_reward_sum(lines, rng, 2)
    terms = list(site.node.terms)
    del terms[rng.randrange(len(terms))]
    return replace_node(lines, site, syn.Sum(tuple(terms)))


def add_prefix(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A prefix where there is none, another string joined with it, or one before both scores."""
    site = _random_term(lines, rng)
    term = site.node
    extra = syn.Register(one_of(rng, edit.registers_at(lines, site.position, context).live))
    if term.prefix is None:
        return replace_node(lines, site, replace(term, prefix=extra))
    if term.outer is None and rng.random() < 0.4:
        return replace_node(lines, site, replace(term, outer=extra))
    pair = rng.sample([term.prefix, extra], 2)
    return replace_node(lines, site, replace(term, prefix=syn.Cat(*pair)))


def drop_prefix(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Without its prefix a difference is zero, so it becomes the plain score."""
    site = _random_term(lines, rng, lambda term: term.prefix is not None)
    term = site.node
    if term.outer is not None:
        return replace_node(lines, site, replace(term, outer=None))
    if isinstance(term.prefix, syn.Cat):
        prefix = rng.choice((term.prefix.left, term.prefix.right))
        return replace_node(lines, site, replace(term, prefix=prefix))
    plain = {"xed": "xent", "dex": "nex"}.get(term.kind, term.kind)
    return replace_node(lines, site, replace(term, kind=plain, prefix=None))


# -- the axioms' moves in game space, and crossover ------------------------------------------------

_ZERO = syn.Sum(((1, syn.Number(0)),))


def compose(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Play a game, then another, on separate maps or on one map; with players swapped or not."""
    second = context.donor or lines
    if context.others and rng.random() < 0.5:
        second = swap_players(second, rng.choice(context.others), context, rng)
    elif not context.donor:
        raise edit.NothingError
    share = rng.random() < 0.6
    stories = zip(*map(edit.story_registers, (second, lines)), strict=False) if share else ()
    renamed_lines = _rename_apart(lines, second, dict(stories))
    drawn = edit.story_registers(lines) if share else []

    def is_new(_: int, name: str, value: object) -> bool:
        return name not in drawn or not isinstance(value, syn.Story)

    return lines + edit.keep_targets(renamed_lines, is_new)


def _rename_apart(first: Lines, second: Lines, names: dict[str, str]) -> Lines:
    """``second`` with registers that ``first`` does not use, except those in ``names``. Raises
    :class:`NothingError` if there are too few."""
    names = dict(names)
    pools = {public: iter(edit.free_names(first, public=public)) for public in (False, True)}
    for line in second:
        for name in mentions(line):
            if name in names or name[0] in syn.CONSTANT_TYPES:
                continue
            names[name] = needed(next(pools[name[0] == "p"], None))
    return tuple(rename(line, names) for line in second)


def add_turn(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """One more turn: a move of the main player, paid like another of its moves, but with the
    stories exchanged."""
    name, stories, main = edit.a_free_name(lines), edit.story_registers(lines), context.main
    moves = (line for _, line in of_type(lines, syn.Elicit) if line.player == main)
    turns = [x for x in moves if len(x.registers) == 1 and _rewards_of(lines, x, main)]
    needed(len(stories) > 1)
    turn = one_of(rng, turns)
    others = rng.sample(stories, len(stories))
    names = dict(zip(stories, others, strict=True)) | {turn.registers[0]: name}
    rewards = _rewards_of(lines, turn, main)
    new_rewards = tuple(rename(line, names) for line in rewards)
    needed({rename(line, {name: turn.registers[0]}) for line in new_rewards} != set(rewards))
    return (*lines, replace(turn, registers=(name,)), *new_rewards)


def _rewards_of(lines: Lines, turn: syn.Elicit, player: str) -> list[syn.Reward]:
    """A player's rewards that read the register of one of its moves."""
    rewards = (line for _, line in of_type(lines, syn.Reward) if line.player == player)
    return [line for line in rewards if turn.registers[0] in reads(line)]


def crossover(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """The head of the parent and the tail of another game, registers shared or apart."""
    donor = needed(context.donor)
    head = lines[: rng.randint(1, len(lines))]
    tail = donor[rng.randrange(min(1, len(donor) - 1), len(donor)) :]
    if rng.random() < 0.5:
        tail = _rename_apart(head, tail, {})
    return edit.rebind_reads(head + tail, context, rng)


def rescale(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """Adversarial rescaling: a reward becomes the demand that it be at least 0. A program's only
    reward keeps some terms, or a new reward takes its place, so that the game still pays."""
    rewards = of_type(lines, syn.Reward)
    position, reward = one_of(rng, rewards)
    demanded_terms, paid = list(reward.amount.terms), list[syn.Sum]()
    if len(rewards) == 1 and len(demanded_terms) > 1:
        paid = [syn.Sum((demanded_terms.pop(rng.randrange(len(demanded_terms))),))]
    elif len(rewards) == 1:
        with suppress(edit.NothingError):
            paid = [edit.amount(rng, edit.registers_at(lines, position, context))]
    ensure = syn.Ensure((syn.Comparison(syn.Sum(tuple(demanded_terms)), ">=", _ZERO),))
    return splice(lines, position, ensure, *(replace(reward, amount=amount) for amount in paid))


def zero_sum(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A reward is followed by its negative to another player who makes moves; where only one does,
    a second player enters, whose move the reward reads, and is paid the negative.

    Black and white are left out together: the language itself couples them.
    """
    movers = dict.fromkeys(line.player for _, line in of_type(lines, syn.Elicit))
    cast = [player for player in movers if player != "env"]
    rewards = [
        (position, line, player)
        for position, line in of_type(lines, syn.Reward)
        for player in cast
        if player not in (line.player, syn.PARTNERS.get(line.player))
    ]
    if not rewards and len(cast) < 2:
        return insert_elicit(lines, context, rng, context.others, (-1,))
    position, reward, player = one_of(rng, rewards)
    return edit.insert(lines, position + 1, signed_reward(reward, player, -1))


def update(lines: Lines, context: EditContext, rng: Random) -> Lines:
    """A register is joined with, or cut at, another before it is used again."""
    use = one_of(rng, edit.sites(lines, syn.Register, 1))
    position = rng.randint(1, use.position)
    here = edit.registers_at(lines, position, context)
    name = use.node.name
    needed(name in here.live and name not in context.constants)
    marks = [mark for mark in here.move_registers if mark != name]
    if marks and rng.random() < 0.5:
        value = edit.cut(rng, name, rng.choice(marks))
    else:
        value = edit.join(rng, name, one_of(rng, here.other_registers(name)))
    return edit.insert(lines, position, syn.Assign(((name, value),)))
