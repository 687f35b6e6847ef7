"""``python -m xgl play``: rounds of one game on one map, by a person, a script or a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from math import inf
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter

from xgl.analysis.static_facts import analyse, learning_roles
from xgl.cli.narration import Narrator, Screen, signed_text
from xgl.console import Console
from xgl.errors import ConfigError, ModelNotFoundError, OversizeError, PlayerError, excerpt
from xgl.escaping import json_text, printable, well_formed
from xgl.files import read_json, user_path
from xgl.judge.stories import check_prompts, check_source
from xgl.language import syntax as syn
from xgl.language.canonical import NAME, RESERVED, Game, check_names
from xgl.library import Source, read_text
from xgl.players import FixedMovesPlayer
from xgl.runtime.lockstep import Cast, Instance, machines_of, play_all, visible_items
from xgl.runtime.predicates import CHANCE_JUDGES, free_statements
from xgl.runtime.requests import Event, Move, Moved, Play, Player, Seeds, Turn

if TYPE_CHECKING:
    from xgl.lm.language_model import LanguageModel
    from xgl.players.chat import ChatPlayer

with suppress(ImportError):  # arrow keys and a history of moves, where the platform has them
    import readline  # noqa: F401


def run(
    source: Source,
    judge: str,
    stories: str,
    other: list[str] | None,
    role: str | None,
    seed: int,
    rounds: int | None,
    moves: str | None,
    local: str | None,
    json: bool,
    **endpoint: str | None,
) -> int:
    """The command, with its options; ``endpoint``: those of a chat model. Raises
    :class:`~xgl.errors.XGLError` for what the user got wrong."""
    if [moves, endpoint["chat"], local].count(None) < 2:
        raise ConfigError("found several of --moves, --chat and --local, expected one")
    whole, others = source.game(), _others(other or [])
    check_prompts(whole, stories, source.origin, "--stories")
    check_names(whole, others, source.origin, "--other {}=MODEL")
    players, role = _seats(whole, role)
    chat = chat_player(**endpoint)
    model = endpoint["chat"] or local
    if source.path is None and moves is None and model is None:
        raise ConfigError(
            "a game from standard input leaves none for your moves; use --moves, --chat or --local"
        )
    script = read_script(moves, role, players) if moves is not None else []
    rounds = rounds or len(script) or 1
    alone = bool(model) or (rounds <= len(script) and all(role in each for each in script))
    console = Console(stderr=json, quiet=json and alone)
    table, policy = _table(judge, stories, others, whole.metadata.npc, local)
    session = Session(whole, role, table, console, seed, script, chat or policy)
    session.screen.open(source.title, f"{f'{model} is' if model else 'You are'} {role}")
    if judge in CHANCE_JUDGES and free_statements(whole.program):
        session.screen.say(
            f"{judge} decides statements by chance: python -m xgl judge {judge}", "dim"
        )
    session.play(rounds)
    record = {"judge": judge, **session.record()}
    if chat is not None:
        usage = asdict(chat.usage)
        requests, tokens = usage["requests"], f"{usage['prompt_tokens']} + {usage['new_tokens']}"
        cost = f"{requests} request{'s' * (requests != 1)}, {tokens} tokens"
        session.screen.say(f"\n{chat.settings.model}: {cost}", "dim")
        del usage["dollars"]  # the command knows no prices
        url = chat.settings.base_url
        record["chat"] = {"model": chat.settings.model, "base_url": url, "usage": usage}
    if json:
        print(json_text(record, 1))
    if script and session.left_at:
        raise ConfigError(f"--moves {moves}: no moves of {role} in {session.left_at}")
    return 0


Script = Sequence[Mapping[str, Sequence[str]]]
"""For each round a mapping from players to their moves."""
_Texts = Annotated[list[str], Field(min_length=1)]
_ROUNDS = TypeAdapter(
    Annotated[list[_Texts | Annotated[dict[str, _Texts], Field(min_length=1)]], Field(min_length=1)]
)


def read_script(path: str, role: str, players: Sequence[str]) -> Script:
    """The rounds of a file; a plain list of texts has ``role``'s moves. Raises :class:`ConfigError`
    for another shape, and for a player that is not among ``players``."""
    text = read_text(user_path(path))
    try:
        rounds = _ROUNDS.validate_python(read_json(text))
    except ValueError:
        raise ConfigError(
            f"--moves {path}: found no rounds, expected a list in JSON, each round as "
            '["a move", …] or {"player": ["a move", …], …}'
        ) from None
    script = [each if isinstance(each, dict) else {role: each} for each in rounds]
    if unknown := [name for each in script for name in each if name not in players]:
        expected = ", ".join(players)
        raise ConfigError(f"--moves {path}: no {excerpt(unknown[0])!r}; expected {expected}")
    return script


def _seats(whole: Game, name: str | None) -> tuple[Sequence[str], str]:
    """The players that are asked for a move, and the role ``name``, by default black or the first
    of them that may learn something; raises for a game that cannot be played, and for an unknown
    role."""
    report = analyse(whole.program)
    players = report.players
    if report.faults:
        raise ConfigError(f"this game cannot be played: {report.faults[0]}")
    if not players:
        raise ConfigError("this game asks nobody for a move; expected an elicit")
    if name is None:
        able = learning_roles(whole.program) or players
        name = syn.MAIN_PLAYER if syn.MAIN_PLAYER in players else able[0]
    if name not in players:
        raise ConfigError(f"--role {excerpt(name)}: the game asks {', '.join(players)}")
    return players, name


def _others(options: Sequence[str]) -> dict[str, str]:
    """References of the models under the judge by name, from NAME=MODEL."""
    pairs = [option.partition("=")[::2] for option in options]
    for option, (name, reference) in zip(options, pairs, strict=True):
        if not NAME.fullmatch(name) or name in RESERVED or not reference:
            other = ", another NAME than those of the judge itself" * (name in RESERVED)
            expected = f"NAME=MODEL, as weak=FOLDER{other}"
            raise ConfigError(f"--other {excerpt(option)}: expected {expected}")
    return dict(pairs)


def _table(
    reference: str, stories: str, others: Mapping[str, str], npc: str, local: str | None
) -> tuple[Cast, Player | None]:
    """The judge of a model reference with the ``others`` under it, the source of stories, and as
    the other players the judge's model, or the one under it that ``npc`` names; and the player of
    the reference ``local``."""
    from xgl.judge.loading import load_judge, load_model, load_stories
    from xgl.players.local import LocalPolicy

    def policy(lm: LanguageModel) -> LocalPolicy:
        return LocalPolicy(lm, count=None if lm is judge.lm else judge.count)

    check_source(stories, "--stories")
    with _named("--judge or --other"):
        judge = load_judge(reference, others=others)
    players = dict.fromkeys(syn.PLAYERS, policy(judge.others.get(npc, judge).lm))
    table = Cast(judge, load_stories(stories, judge), dict[str, Player](players))
    if local is None:
        return table, None
    with _named("--local"):  # the judge's own model is not loaded twice
        return table, policy(judge.lm if local == reference else load_model(local))


@contextmanager
def _named(option: str) -> Iterator[None]:
    """Puts the option before what a model that is not found says."""
    try:
        yield
    except ModelNotFoundError as error:
        raise ModelNotFoundError(f"{option}: {error}") from None


class Session:
    """Rounds of one game on one map, as in repeated play (§4.1.3): seeds stay, and the player of
    ``role`` sees its earlier rounds, the others none. It is that player itself: it shows what is
    new before each move, and reads the move.

    ``script``: moves of players by name, for each round. ``player`` makes the moves of ``role``
    instead of the person.
    """

    def __init__(
        self,
        whole: Game,
        role: str,
        table: Cast,
        console: Console,
        seed: int = 0,
        script: Script = (),
        player: Player | None = None,
    ) -> None:
        self.game, self.role, self.table = whole, role, table
        self.seeds, self.script, self.player = Seeds(seed, 0), script, player
        self.screen = Screen(console, table.judge, whole)
        self.rounds: list[Play] = []
        self.left_at = ""
        """The round in which the person left the game; empty if it was played to the end."""

    def score(self, play: Play) -> float | None:
        """Bits of the role; None if its play did not finish, or an answer of it held no move."""
        score = play.score_for(self.role, -inf)
        return None if score == -inf else score

    def play(self, count: int) -> None:
        """Play rounds; stops early when the person leaves."""
        for name, text in Narrator(self.game, self.role).given.items():
            if text:
                self.screen.say(printable(f"{name}: {text}"))
        for number in range(1, count + 1):
            if count > 1:
                self.screen.say(f"\nRound {number} of {count}", "bold")
            try:
                self.rounds.append(self._round(number))
            except EOFError:
                self.screen.say("\nYou have left the game.", "dim")
                self.left_at = f"round {number} of {count}, and the input has ended"
                break

    def _round(self, number: int) -> Play:
        shown = tuple(visible_items(self.game, play, self.role) for play in self.rounds)
        instance = Instance(self.game, self.seeds, memory={self.role: shown})
        # The events are read while the play goes on, so the machine is made here.
        [self.machine] = machines_of([instance])
        self.narrator, self.typed = Narrator(self.game, self.role), ""
        players = {**self.table.players, self.role: self}
        if number <= len(self.script):
            lines = self.script[number - 1]
            players |= {n: FixedMovesPlayer({self.seeds: moves}) for n, moves in lines.items()}
        [play] = play_all([instance], replace(self.table, players=players), [self.machine])
        self._catch_up()
        if play.outcome == "forfeit":
            self.screen.say(f"{play.forfeiter} has failed too often: a forfeit.", "bold red")
        elif play.outcome == "oversize":
            reason = play.reason or "the judge or a player cannot read so much at once"
            self.screen.say(f"The game ends here, for its size: {reason}.", "bold red")
        score = self.score(play)
        text = "none" if score is None else f"{signed_text(score)} bits"
        self.screen.say(f"Score of {self.role}: {text}", "bold")
        return play

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """Raises EOFError when the input has ended."""
        self._catch_up()
        if self.player:
            return self.player.moves(turns)
        [turn] = turns
        self.typed = well_formed(self.screen.ask(turn.request.view, turn.request.max_len).strip())
        return [Move(self.typed)]

    def _catch_up(self) -> None:
        """Show the events since the last call, unless the console is quiet."""
        if self.screen.console.quiet:
            return
        first = len(self.narrator.history)
        log = zip(self.machine.lines[first:], self.machine.events[first:], strict=True)
        for position, event, items, terms in self.narrator.tell(log):
            own = isinstance(event, Moved) and event.player == self.role
            if own and items[0].text == self.typed:
                self.typed = ""  # it stands on the screen as it was typed
            else:
                self.screen.show(position, event, items, terms)

    def record(self) -> dict[str, Any]:
        """The outcome for programs; unlike the screen it holds everything that happened."""
        return {
            "game_id": self.game.game_id,
            "dialect": self.game.dialect,
            "code": self.game.code,
            "role": self.role,
            "seed": self.seeds.map_seed,
            "rounds": [
                {
                    "round": number,
                    "outcome": play.outcome,
                    "forfeiter": play.forfeiter,
                    "reason": play.reason,
                    "score": self.score(play),
                    "scores": play.scores,
                    "moves": play.accepted_moves(self.role),
                    "events": [_event_record(event) for event in play.events],
                }
                for number, play in enumerate(self.rounds, 1)
            ],
            "left": self.left_at or None,
        }


def _event_record(event: Event) -> dict[str, Any]:
    fields = asdict(event)
    if isinstance(event, Moved):
        fields["move"] = event.move.text
    fields.pop("xents", None)  # what the terms are made of
    return {"event": type(event).__name__.lower(), **fields}


def chat_player(chat: str | None, **options: str | None) -> ChatPlayer | None:
    """The player that the options name; None without ``--chat``. Raises
    :class:`~xgl.errors.PlayerError`, for a key that is not set too, before anything is loaded."""
    if chat is None:
        if alone := next((name for name, value in options.items() if value is not None), ""):
            option = f"--{alone.replace('_', '-')}"
            raise PlayerError(f"{option} belongs to a model; expected --chat MODEL with it")
        return None
    from xgl.chat.client import read_key
    from xgl.chat.settings import OPENAI, ChatSettings
    from xgl.players.chat import ChatPlayer

    body = options["body"] or "{}"
    try:
        extra = TypeAdapter(dict[str, Any]).validate_python(read_json(body))
    except ValueError:
        raise PlayerError(f"--body: found {excerpt(body, 60)}, expected a JSON object") from None
    try:
        settings = ChatSettings(
            model=chat,
            base_url=OPENAI if options["base_url"] is None else options["base_url"],
            key_variable=options["key_variable"],
            temperature=extra.pop("temperature", 1.0),
            extra_body=extra,
        )
    except ConfigError as error:
        named = str(error).replace("temperature", "--body: temperature", 1)
        for name, option in _OPTIONS.items():
            named = named.replace(name, option)
        raise ConfigError(named.replace("model:", "--chat:", 1)) from None
    read_key(settings)
    return ChatPlayer(settings)


_OPTIONS = {"base_url": "--base-url", "key_variable": "--key-variable", "extra_body": "--body"}
