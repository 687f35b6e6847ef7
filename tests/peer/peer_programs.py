"""Programs by hand: each instruction, player and loop at its edges."""

from __future__ import annotations

from peer_expressions import case

USUAL_MOVES = {
    "assign all at once": 'assign(s="a", t=s+"b", x=t+"c")',
    "assign aliases": 'assign(s="a", t="b")\nassign(s=t, t=s, x=s, y=s+"!")',
    "assign twice": 'assign(s="a", t=s, s="b")\nassign(t1=s+"c", t1=t, x=t1)',
    "assign a swap": 'assign(s="a", t="b")\nassign(s=t+"", t=s+"")',
    "assign keeps a prefix": "assign(s=story()|story())\nassign(t=s)\nreward(xed(s))\n"
    "reward(xed(t))",
    "a cat drops a prefix": 'assign(s="a b c"|"a b")\nassign(t=s+"")\nreward(xed(s))\n'
    "reward(xed(t))",
    "a named prefix wins": 'assign(s="a b c"|"a b")\nreward(xed(s | "zz"))\nreward(xent(s))\n'
    'reward(xent(s, "o"))',
    "a move drops a prefix": 'assign(s="a"|"b")\nelicit(s, 9)\nreward(xed(s))\nreward(xent(s))',
    "a list holds registers": 'assign(s="a", l=[s, "b", s+"!"])\nassign(s="c")\n'
    'assign(t="".join(l))',
    "a drawn register": 'assign(s="a" | "b")\nassign(l=[s])\nassign(t=sample(l), s="z")\n'
    'assign(x=sample(l))\nreward(xent("a " + t))',
    "lists alias": 'assign(l=["a"])\nassign(l1=l, l=["b"], l2=l)\nassign(l=l+l1, l3=l)\n'
    'assign(s=" ".join(l + l1 + l2 + l3))',
    "a list through a loop": 'beacon(flag_1)\nelicit(x, 2)\nassign(l=l + [x + ""])\n'
    'replay(flag_1, 4)\nreward(xent(",".join(l)))',
    "story draws": 'assign(s=story(), t=story(5))\nassign(x=story() // " ", y=story("hint"))\n'
    "assign(l=[story(), story()])",
    "story in a loop": "beacon(flag_1)\nassign(s=s + story())\nreplay(flag_1, 2)",
    "elicit several": "elicit(s, t, x, 3)\nreward(xent(s + t + x))",
    "elicit one register twice": "elicit(s, s, 3)\nreward(xent(s))",
    "every player": "\n".join(
        f"elicit({p}, s, 4)\nreward({p}, xent(s))\nreveal({p}, s)"
        for p in ("black", "white", "alice", "bob", "carol", "env")
    ),
    "env is rewarded": "elicit(env, s, 4)\nreward(env, xent(s))\nelicit(t, 4)\n"
    "reward(env, xed(t | s))",
    "white plays nowhere": "elicit(s, 4)\nreward(xent(s))\nreward(white, xent(s))",
    "reward kinds": "assign(s=story())\nelicit(x, 6)\n"
    + "\n".join(
        f"reward({k}({a}))"
        for k in ("xent", "nex", "xed", "dex")
        for a in ("s", "s | x", 's | x, "So: "', "s, x")
    ),
    "reward sums": "assign(s=story())\nelicit(x, 6)\nreward(xent(s) - xent(s | x))\n"
    "reward(-xed(s | x) + dex(s | x) - nex(s))\nreward(-(xent(s) - xed(s, x)))",
    "a difference without a prefix is zero": "assign(s=story())\nreward(xed(s))\nreward(dex(s))\n"
    'reward(xed(s, "o"))',
    "one token scores nothing": 'reward(xent("a"))\nreward(xent("" | "abc"))\n'
    'reward(xent("a" | "b"))',
    "context is joined as text": 'reward(xent("boat" | " the red ", "rain on"))\n'
    'reward(xent("boat" | "", "rain on the red "))\nreward(xent(" a boat", "rain"))',
    "reveal forms": "assign(s=story(), t=story())\nreveal(s)\nreveal(alice, s, t)\n"
    "reveal(black, t)\nelicit(alice, x, 3)\nelicit(y, 3)",
    "reveal stays live": 'assign(s="one")\nreveal(alice, s)\nelicit(alice, x, 3)\nassign(s="two")\n'
    "elicit(alice, x, 3)\nelicit(bob, s, 3)\nelicit(alice, x, 3)\nelicit(bob, y, 3)",
    "reveal before it is set": 'reveal(bob, t)\nelicit(bob, x, 3)\nassign(t="now")\n'
    "elicit(bob, x, 3)",
    "reveal a list": 'assign(l=["a", "b"], s="c")\nreveal(carol, l)\nelicit(carol, x, 3)\n'
    'assign(l=l + [s + ""])\nelicit(carol, x, 3)',
    "reveal an expression": 'assign(s="one", t="two")\nreveal(alice, s + t)\nelicit(alice, x, 3)',
    "public and private": 'assign(p="all", p1=story(), s="secret", l=["hidden"])\n'
    + "\n".join(f"elicit({q}, x, 3)" for q in ("alice", "bob", "carol", "white", "env"))
    + "\nelicit(alice, p2, 3)\nelicit(bob, y, 3)",
    "a move is private": "elicit(alice, s, 3)\nelicit(bob, t, 3)\nelicit(bob, x, 3)\n"
    "reveal(bob, s)\nelicit(bob, y, 3)",
    "a hidden story pays": "assign(s=story())\nelicit(alice, x, 5)\nreward(alice, xed(s | x))\n"
    "elicit(alice, x, 5)\nreward(alice, xed(s | x))",
    "a loop": "beacon(flag_1)\nelicit(s, 3)\nreward(xent(s))\nreplay(flag_1, 3)",
    "no jump": "beacon(flag_1)\nelicit(s, 3)\nreplay(flag_1, 0)\nreward(xent(s))",
    "nested loops": "beacon(flag_1)\nelicit(s, 2)\nbeacon(flag_2)\nelicit(t, 2)\n"
    "reward(xed(t | s))\nreplay(flag_2, 2)\nreward(xent(s))\nreplay(flag_1, 2)",
    "loops that cross": "beacon(flag_1)\nelicit(s, 2)\nbeacon(flag_2)\nreward(xent(s))\n"
    "replay(flag_1, 1)\nelicit(t, 2)\nreplay(flag_2, 1)\nreward(xent(t))",
    "one flag, two replays": "beacon(flag_1)\nelicit(s, 2)\nreplay(flag_1, 1)\nreplay(flag_1, 2)\n"
    "reward(xent(s))",
    "a flag moves": "beacon(flag_1)\nelicit(s, 2)\nreplay(flag_1, 1)\nbeacon(flag_1)\n"
    "elicit(t, 2)\nreplay(flag_1, 2)\nreward(xed(s | t))",
    "flag 1 after flag 2": "beacon(flag_2)\nelicit(s, 2)\nbeacon(flag_1)\nelicit(t, 2)\n"
    "replay(flag_2, 1)\nreplay(flag_1, 1)\nreward(xent(t))",
    "comments and blanks": '# a comment\n\nassign(s="# no comment")  # a comment\n   \n'
    "elicit(x, 3) # another\nreward(xed(s | x))",
    "spacing": ' assign( s = "a" , t="b" ) \nelicit( x,3 )\nreward( xed( s|x ) )',
    "single quotes": "assign(s='it\"s', t=\"it's\")\nreward(xent(s + t))",
    "all registers": "\n".join(
        f'assign({kind}{i}="{kind}{i}")' for kind in "stxyp" for i in ("", 1, 2, 3)
    )
    + "\n"
    + "\n".join(f'assign(l{i}=["{i}"])' for i in ("", 1, 2, 3))
    + '\nreward(xent(s + s1 + t2 + x3 + y + p + " ".join(l + l1 + l2 + l3)))',
    "constants are empty": 'assign(s=a + b1 + c2 + "x")\nreward(xent("y" + s))',
    "rewards add up": "assign(s=story())\nbeacon(flag_1)\nelicit(x, 4)\nreward(xed(s | x))\n"
    "reward(xed(x | s))\nreplay(flag_1, 4)",
    "a game with everything": 'assign(s=story(), t=story(), l=["red", "boat"])\nreveal(alice, t)\n'
    "beacon(flag_1)\nelicit(x, 6)\n"
    'assign(x1=remove_common_words(x, s), l=l + [x1 + ""])\n'
    "ensure(num_words(x) > 1, len(l) < 9)\nelicit(alice, y, 4)\n"
    "reward(xed(s | x1))\nreward(alice, xed(t | y) - xent(t))\nreplay(flag_1, 2)\n"
    'reward(xed(s | " ".join(l)))',
}
"""Played with the moves that every player has where a case gives none."""

INSTRUCTIONS = [
    *(case(name, code) for name, code in USUAL_MOVES.items()),
    case(
        "a list of one register through a loop",
        "beacon(flag_1)\nelicit(x, 2)\nassign(l=l + [x])\nreplay(flag_1, 3)\n"
        'reward(xent(",".join(l)))',
        "a",
        "b",
        "c",
    ),
    case(
        "elicit cuts",
        "elicit(s, 1)\nelicit(t, 2)\nelicit(x, 100)\nreward(xent(t + x))",
        "unbelievable indeed, é😀 boats",
    ),
    case(
        "elicit cuts inside a letter",
        "elicit(s, 1)\nelicit(s1, 2)\nelicit(t, 3)\nelicit(t1, 4)",
        *("😀🦊 fox", "☃☃☃", "naïveté"),
    ),
    case(
        "elicit keeps space",
        "elicit(s, 3)\nelicit(t, 3)\nreward(xent(s + t))",
        *("  two  spaces ", "\tTab\nline"),
    ),
    case("an empty move", 'elicit(s, 3)\nreward(xent("x" + s))\nreward(xent(s | "y"))', ""),
    case("a long move", "elicit(s, 40)\nreward(xent(s))", "word " * 200),
    case(
        "zero sum both ways",
        "elicit(s, 4)\nelicit(white, t, 4)\nreward(xent(s))\nreward(white, xent(t))\n"
        "reward(alice, xent(t))",
        white=("boat", "key"),
    ),
    case(
        "ensure to the last allowed failure",
        'elicit(s, 3)\nensure(s == "good")\nreward(xent(s))',
        *(["bad"] * 10 + ["good"]),
    ),
    case(
        "ensure beyond the limit",
        'elicit(s, 3)\nreward(xent(s))\nensure(s == "good")\nreward(xent(s))',
        "bad",
    ),
    case(
        "ensure counts by line",
        'elicit(s, 3)\nensure(len(s) > 2)\nensure(s == "good")\nreward(xent(s))',
        *(["a", "bad"] * 9 + ["good"]),
    ),
    case(
        "ensure forgets when it passes",
        'beacon(flag_1)\nelicit(s, 3)\nensure(s == "good")\nreplay(flag_1, 2)',
        *(["bad"] * 9 + ["good"]),
    ),
    case(
        "ensure goes to the elicit that ran last",
        "beacon(flag_1)\nelicit(s, 3)\nensure(len(s) < 4)\nelicit(t, 3)\n"
        "replay(flag_1, 1)\nreward(xent(s + t))",
        "abc",
        "long one",
        "many words",
        "x",
        "y",
    ),
    case(
        "ensure after a later elicit in a loop",
        'elicit(s, 2)\nbeacon(flag_1)\nensure(t == "" or t == "go")\nelicit(t, 2)\n'
        "replay(flag_1, 2)",
        "s",
        "no",
        "stop",
        "go",
    ),
    case(
        "ensure asks another player",
        "elicit(s, 3)\nelicit(alice, t, 3)\nensure(t != s)\nreward(alice, xed(t | s))",
        "same",
        alice=("same", "same", "other"),
    ),
    case(
        "ensure with several registers",
        "elicit(s, t, 3)\nensure(s != t, len(s) > 1)\nreward(xent(s + t))",
        *("a", "a", "bb", "bb", "cc", "dd"),
    ),
    case(
        "ensure keeps rewards",
        'elicit(s, 3)\nreward(xent(s))\nensure(s == "good")',
        *("bad", "worse", "good"),
    ),
]
