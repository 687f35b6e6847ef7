"""Programs of hidden information: somebody acts without seeing what another one sees."""

HIDDEN = {
    "note": """assign(s=story())
reveal(alice, s)
elicit(alice, t, 6)
reveal(bob, t)
elicit(bob, x, 6)
reward(bob, xed(s | x))
reward(alice, xed(s | x))""",
    "whisper": """assign(s=story())
reveal(alice, s)
elicit(alice, t, 5)
reveal(bob, t)
elicit(bob, x, 5)
reveal(carol, x)
elicit(carol, y, 5)
reward(alice, xed(s | y))
reward(bob, xed(t | x))
reward(carol, xed(s | y))""",
    "two_views": """assign(s=story(), t=story())
reveal(alice, s)
reveal(bob, t)
elicit(alice, x, 6)
elicit(bob, y, 6)
reward(alice, xed(t | x) + xed(x | y))
reward(bob, xed(s | y) + xed(y | x))""",
    "public": """assign(s=story())
elicit(p, 6)
elicit(alice, x, 6)
reward(alice, xed(s | x))
reward(xed(s | p) - xed(s | x))""",
    "relay_with_a_rule": """assign(s=story())
reveal(alice, s)
elicit(alice, t, 6)
ensure("no common words between" + s + "&" + t)
reveal(bob, t)
elicit(bob, x, 6)
reward(alice, xed(s | x))
reward(bob, xed(s | x))""",
    "rounds_of_hints": """assign(s=story())
reveal(alice, s)
beacon(flag_1)
elicit(alice, t, 3)
reveal(bob, t)
elicit(bob, x, 3)
reward(alice, xed(s | x))
reward(bob, xed(s | x))
replay(flag_1, 1)""",
}
