"""Programs from a seeded grammar, within what both engines play."""

from __future__ import annotations

from random import Random

TEXTS = ("s", "s1", "t", "x", "y1", "p", "p1")
PLAYERS = ("black", "white", "alice", "bob", "carol", "env")
WORDS = ("the", "rain", "a", "boat", "key", "hen", "red")


def program(seed: int) -> str:
    """A program of some dozen lines: strings set, moves asked, demands, pay and perhaps a loop."""
    rng = Random(seed)
    lines = [f"assign(s=story(), t=story(), s1={_literal(rng)}, p={_literal(rng)})"]
    lines += [
        "elicit(x, 6)",
        f"elicit({rng.choice(PLAYERS)}, y1, 5)",
        f"assign(p1={_text(rng, 2)})",
    ]
    lines += [_line(rng) for _ in range(rng.randint(3, 7))]
    if rng.random() < 0.6:
        lines = _loop(rng, lines)
    return "\n".join([*lines, f"reward({_reward(rng)})"])


def _loop(rng: Random, lines: list[str]) -> list[str]:
    start, end = rng.randint(1, 4), rng.randint(5, len(lines))
    body = ["beacon(flag_1)", *lines[start:end], f"replay(flag_1, {rng.randint(0, 2)})"]
    if rng.random() < 0.5:
        inner = rng.randint(1, len(body) - 2)
        body[inner:inner] = ["beacon(flag_2)", f"reward({_reward(rng)})", "replay(flag_2, 2)"]
    return lines[:start] + body + lines[end:]


def _line(rng: Random) -> str:
    kind = rng.choice(
        ("assign", "assign", "list", "elicit", "ensure", "reward", "reward", "reveal")
    )
    player = rng.choice(PLAYERS)
    match kind:
        case "assign":
            names = rng.sample(TEXTS, rng.randint(1, 3))
            return f"assign({', '.join(f'{name}={_text(rng, 2)}' for name in names)})"
        case "list":
            return f"assign(l={_list(rng)})"
        case "elicit":
            return f"elicit({player}, {rng.choice(TEXTS)}, {rng.randint(1, 8)})"
        case "ensure":
            return f"ensure({', '.join(_condition(rng) for _ in range(rng.randint(1, 2)))})"
        case "reward":
            return f"reward({player}, {_reward(rng)})"
    return f"reveal({player}, {', '.join(rng.sample(TEXTS, rng.randint(1, 2)))})"


def _literal(rng: Random) -> str:
    return '"' + " ".join(rng.choices(WORDS, k=rng.randint(1, 4))) + '"'


def _text(rng: Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(TEXTS) if rng.random() < 0.7 else _literal(rng)
    one, other = _text(rng, depth - 1), _text(rng, depth - 1)
    forms = (
        f"({one}) + ({other})",
        f'({one} + "") // ({other})',  # that engine fails at cutting a move that was shortened
        f'({one} + "") % {_literal(rng)}',
        f"({one}) | ({other})",
        f"remove_common_words({one}, {other})",
        f"first_n_tokens({one}, {rng.randint(1, 9)})",
        f"sample([{one}, {other}])",
        f'"-".join(({one}).split())',  # a longer mark grows beyond our cap in a loop
    )
    return rng.choice(forms)


def _list(rng: Random) -> str:
    forms = (
        f"[{_text(rng, 1)}, ({_text(rng, 1)}) + {_literal(rng)}]",
        f"({_text(rng, 1)}).split()",
        "shuffle(l)",
        f"l + [{_literal(rng)}]",
    )
    return rng.choice(forms)


def _nonempty(rng: Random) -> str:
    """A string that is never empty: the authors' engine breaks down at an empty one."""
    return f"{_literal(rng)} + {rng.choice(TEXTS)}" if rng.random() < 0.6 else _literal(rng)


def _xent(rng: Random, target: str) -> str:
    condition = rng.choice(("", f" | {_text(rng, 1)}", f" | {_text(rng, 1)}", f", {_literal(rng)}"))
    return f"{rng.choice(('xent', 'nex', 'xed', 'dex'))}({target}{condition})"


def _reward(rng: Random) -> str:
    target = _nonempty(rng)
    terms = [_xent(rng, target) for _ in range(rng.randint(1, 2))]
    return rng.choice(("", "-")) + rng.choice((" + ", " - ")).join(terms)


def _condition(rng: Random) -> str:
    name = rng.choice(TEXTS)
    forms = (
        f"{_xent(rng, _nonempty(rng))} {rng.choice(('<', '>', '<=', '>='))} {rng.randint(-20, 60)}",
        f"{_xent(rng, _nonempty(rng))} < {_xent(rng, _nonempty(rng))}",
        f"num_words({name}) < {rng.randint(1, 12)}",
        f"len({name}) > {rng.randint(0, 12)}",
        f"{_literal(rng)} not in {name}",
        f"len(common_word_set({name}, {_literal(rng)})) <= 1 or is_true({name})",
        f"not ({name} == {rng.choice(TEXTS)})",
        f"is_true({name})",
    )
    return rng.choice(forms)
