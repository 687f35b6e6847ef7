"""Prompts: to play a game, to write games, and to sort them into kinds (App. B, D)."""

from __future__ import annotations

from collections.abc import Sequence

from evo.ggbench.game import ProgramGame
from evo.ggbench.guest.main import STANDARD
from xgl.chat.client import Message

PLAY = """Play this game for two as well as you can.

{rules}

Moves are numbers. {moves}"""

TURN = """{board}

Allowed moves: {legal}
Answer with the number of your move, and nothing else."""


def play_messages(game: ProgramGame, board: str, legal: Sequence[int]) -> list[Message]:
    """One turn: the rules and moves as the system's message, the position as the user's."""
    system = PLAY.format(rules=game.rules.strip(), moves=game.moves.strip())
    user = TURN.format(board=board.strip("\n"), legal=", ".join(map(str, sorted(legal))))
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def play_text(game: ProgramGame, board: str, legal: Sequence[int]) -> str:
    """The same for a model without roles; its answer begins where the text ends."""
    system, user = play_messages(game, board, legal)
    return f"{system['content']}\n\n{user['content']}\nMove: "


# -- what a model is asked to write (appendices B.1 to B.3) ----------------------------------------

RULES = """Invent a game for two players who take turns, to be played in a terminal, and write its \
rule book.

Conditions:
- It is easy to program, nothing is hidden from either player, and every game ends, soon, with a \
winner: there are no draws.
- Skill decides: a player who thinks ahead beats one who does not nearly always, whoever moves \
first.
- It is new. Do not retell a known game (Nim, Tic-Tac-Toe, Connect Four, Go, Chess and the like), \
and no known game under another name.

The first line of the rule book is the game's name. Then say, under headings of your own: what \
wins and what loses; how the game stands at the start; of what parts it consists (board, cards, \
tokens, numbers) and what each is for; what a turn is and how turns follow each other; every rule \
on moves and their effects; how points are counted, if there are any. Close with a few turns as \
they would look in a terminal.

Be complete and exact: somebody who has only your text will program the game. Answer with the rule \
book alone."""

PROGRAM = """These are the rules of a game for two players:

{rules}

Write the game as an environment for Gymnasium, in Python, as a class with the name CustomEnv:

- action_space is spaces.Discrete(n): one number for every move that can ever be possible.
- observation_space is a spaces.Box that fits every observation.
- reset(self, seed=None, options=None) begins a game and returns (observation, info). It calls \
super().reset(seed=seed); all chance comes from self.np_random.
- step(self, action) makes the move of the player whose turn it is, passes the turn to the other \
player, and returns (observation, reward, terminated, truncated, info). The reward is that of the \
player who moved: 1 if the move wins, 0 otherwise, and -10 with the game at its end if the move \
was not allowed. truncated is False.
- valid_moves(self) returns the list of the numbers that are allowed now; it is not empty before \
the end.
- render(self) returns the position as a text, with all that a player needs to know and whose turn \
it is. It prints nothing.

For example, a game in which two players take 1 to 3 of 15 sticks and the last stick wins:

```python
import gymnasium as gym
import numpy as np
from gymnasium import spaces


class CustomEnv(gym.Env):
    def __init__(self):
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(0, 15, (1,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.sticks, self.current_player = 15, 1
        return self._observation(), {{}}

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {{}}
        self.sticks -= action + 1
        self.current_player = 3 - self.current_player
        over = self.sticks == 0
        return self._observation(), int(over), over, False, {{}}

    def valid_moves(self):
        return [take - 1 for take in (1, 2, 3) if take <= self.sticks]

    def render(self):
        return f"Sticks: {{self.sticks}}. Player {{self.current_player}} to move."

    def _observation(self):
        return np.array([self.sticks], np.float32)
```

These modules are there, and no others: numpy, gymnasium, {modules}. Files, network and threads \
are not. The program is whole: nothing is left to be filled in, nothing makes an environment or \
tests it. Answer with one block of Python."""

MOVES = """These are the rules of a game for two players:

{rules}

And this is its program:

```python
{program}
```

A move is a number of its action space. Say which number stands for which move, briefly and so \
that a player who does not see the program can choose: a few sentences or a formula, and no list \
where a formula does. Answer with that explanation alone."""


CATEGORY = """The rule book of a game for two players:

{rules}

Which of these kinds fits it best?
number: numbers are chosen or changed, mostly by arithmetic
board: pieces or marks on squares
card: a hand or a row of cards
chance: dice or other luck decide much
combat: the players' lives, attacks and defences

Answer with one of these five words and nothing else."""


def _message(template: str, **texts: object) -> list[Message]:
    parts = {name: str(text).strip() for name, text in texts.items()}
    return [{"role": "user", "content": template.format(**parts)}]


def rules_messages() -> list[Message]:
    """The request for a rule book."""
    return _message(RULES)


def program_messages(rules: str) -> list[Message]:
    """The request for an environment."""
    return _message(PROGRAM, rules=rules, modules=", ".join(STANDARD.split()))


def moves_messages(rules: str, program: str) -> list[Message]:
    """The request for what moves' numbers mean."""
    return _message(MOVES, rules=rules, program=program)


def category_messages(rules: str) -> list[Message]:
    """The request for one of the categories of Table 2."""
    return _message(CATEGORY, rules=rules)


# -- what a model is asked about many rule books (appendix D.1) ------------------------------------

PROPOSE = """Here are the rule books of some games for two players:

{rules}

I want to sort such games by their kind: what they are about, and how one wins them. Kinds may be \
as general as "card game" or "number game". Propose {count} kinds, each with a name, a colon and a \
sentence from which somebody can decide whether a game belongs to it. Answer with a numbered list \
and nothing else."""

MERGE = """Here are proposals of kinds into which games can be sorted:

{kinds}

Several of them say the same, or one is a part of another. Leave out what says nothing new, so \
that those that stay are different, and answer with them, word for word, as a numbered list and \
nothing else."""

ASSIGN = """A kind of games:

{kind}

The rule book of a game:

{rules}

Does the game belong to this kind? Answer with Yes or No and nothing else."""


def propose_messages(rules: Sequence[str], count: int) -> list[Message]:
    """The request for kinds of these games."""
    return _message(PROPOSE, rules="\n\n---\n\n".join(map(str.strip, rules)), count=count)


def merge_messages(kinds: Sequence[str]) -> list[Message]:
    """The request for those that differ."""
    lines = (f"{index}. {kind}" for index, kind in enumerate(kinds, start=1))
    return _message(MERGE, kinds="\n".join(lines))


def assign_messages(rules: str, kind: str) -> list[Message]:
    """The request whether a game is of a kind."""
    return _message(ASSIGN, rules=rules, kind=kind)
