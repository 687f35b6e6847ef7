"""How a game is presented to a player of the `xent` package. All that is the game's own is the data
in GAME; the rest of this file is the same for every game."""

import json
from typing import Any

GAME = json.loads("{}")

SEES_ALL = ("black", "white", "env")
SIGNS = (
    "Texts are joined by +, without a space. A // B is what stands in A before the first B, "
    "A % B what stands after it. Bits are measured by the judge; the first token of a predicted "
    "text does not count."
)


def present_turn(
    state: Any, since_events: Any, metadata: Any, full_history: Any = None, ctx: Any = None
) -> Any:
    """Messages for one move, and what to remember of them."""
    ctx = dict(ctx or {})
    history = full_history if full_history is not None else since_events
    request = next((e for e in reversed(since_events) if e["type"] == "elicit_request"), None)
    player = request["player"] if request else GAME["role"]
    lines = [] if ctx.get("introduced") else _introduction(player, metadata)
    ctx["introduced"] = True
    for event in since_events:
        lines += _event(event, player)
    lines += _texts(state, ctx)
    lines += _best(history, player)
    lines += _request(request)
    return [{"role": "user", "content": "\n".join(lines)}], ctx


def _introduction(player: Any, metadata: Any) -> Any:
    rounds = metadata["num_rounds_per_game"]
    return [
        "You play a text game in which a language model, the judge "
        f"({metadata['judge_model']}), measures how well texts predict each other. "
        f"You are {player}.",
        "",
        "The program of the game:",
        "<gameCode>",
        GAME["code"],
        "</gameCode>",
        "",
        "Its rules, line by line:",
        *(f"{number}. {rule}" for number, rule in enumerate(GAME["rules"], 1)),
        SIGNS,
        "",
        f"The game is played {rounds} times on the same texts, and your best round counts: "
        "use what you learn. More bits are better.",
        "Write each move between <move> and </move>; nothing else of your answer is read.",
        "",
    ]


def _event(event: Any, player: Any) -> Any:
    kind = event["type"]
    if kind == "round_started":
        return [f"Round {event['round_index'] + 1} begins."]
    if kind == "elicit_response":
        return [f"You wrote: {event['response']}"]
    if kind == "reveal":
        return [f"You are shown {name}: {_text(value)}" for name, value in event["values"].items()]
    if kind == "failed_ensure":
        return ["A condition did not hold: write again."]
    if kind == "reward":
        return [f"You got {_bits(event):.1f} bits ({_tokens(event, player)})."]
    return []


def _bits(event: Any) -> Any:
    return event["value"].total_xent()


def _tokens(event: Any, player: Any) -> Any:
    """Bits of each token; the tokens themselves for those only who may read every text."""
    value = event["value"]
    named = player in SEES_ALL
    return " ".join(
        f"{token}|{bits * value.scale:.1f}" if named else f"{bits * value.scale:.1f}"
        for token, bits in value.pairs
    )


def _texts(state: Any, ctx: Any) -> Any:
    """Texts in sight that are new or have changed."""
    shown = ctx.setdefault("shown", {})
    new = {name: _text(value) for name, value in state.items()}
    changed = {name: text for name, text in new.items() if text and shown.get(name) != text}
    ctx["shown"] = {**shown, **changed}
    return [f"{name}: {text}" for name, text in changed.items()]


def _text(value: Any) -> Any:
    items = getattr(value, "items", None)
    if isinstance(items, list):
        return json.dumps([str(item) for item in items], ensure_ascii=False) if items else ""
    return str(value)


def _best(history: Any, player: Any) -> Any:
    """The best of the rounds that are over."""
    totals, total = [], None
    for event in history:
        if event["type"] == "round_started":
            total = 0.0
        elif event["type"] == "reward" and event["player"] == player and total is not None:
            total += _bits(event)
        elif event["type"] == "round_finished" and total is not None:
            totals.append(total)
            total = None
    return [f"Your best round so far: {max(totals):.1f} bits."] if totals else []


def _request(request: Any) -> Any:
    if request is None:
        return ["Write your move between <move> and </move>."]
    limit = request["max_len"]
    return [f"Write {request['var_name']} (at most {limit} tokens) between <move> and </move>."]
