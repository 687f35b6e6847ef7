"""Games to descend from: the default scope's, and the paper's with their typos mended."""

from __future__ import annotations

import xgl

SINGLE = "assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))"
CONTRAST = "assign(s=story(), t=story())\nelicit(x, 8)\nreward(xed(s | x) - xed(t | x))"

ALONE = {
    "single": SINGLE,
    "contrast": CONTRAST,
    "multi": "assign(s1=story(), s2=story(), s3=story())\nelicit(t, 10)\n"
    'ensure("no common words between"+s1+s2+s3+"&"+t)\n'
    "reward(xed(s1|t)+xed(s2|t)+xed(s3|t))",
    "figure 3.1 single": "assign(s=story())\nelicit(t, 10)\n"
    'ensure("no common words between"+s+"&"+t)\nreward(xed(s|t))',
    "dex": "assign(s1=story(), s2=story())\nelicit(t, 10)\n"
    'ensure("no common words between"+t+"&"+s1+s2)\nreward(xed(s1|t) + xed(s1|t) - xed(s2|t))',
    "cycle": "assign(s1=story(), s2=story())\nelicit(t, 10)\n"
    'ensure("no common words between"+t+"&"+s1+s2)\nreward(xed(t|s2+s1)+xed(s2|s1+t)+xed(s1|t+s2))',
    "cut": "assign(s=story())\nelicit(t, 10)\nassign(s1=s//t,s2=s%t)\nreward(xed(s1|s2)-xent(t))",
    "cut order": "assign(s=story())\nelicit(t, 10)\nassign(s1=s//t,s2=s%t)\n"
    "reward(xed(s1|s2)-xed(s2|s1))",
    "unrelated": "assign(s1=story(), s2=story())\nelicit(t1, 10)\n"
    'ensure("no common words between"+s1+s2+"&"+t1)\nelicit(t2, 10)\n'
    'ensure("no common words between"+s1+s2+"&"+t2)\n'
    "reward(xed(s1|t1)+xed(s2|t2)+xed(s1|t2)+xed(s2|t1)-xed(t1|t2)-xed(t2|t1))",
    "unlikely": "assign(s=story())\nelicit(t, 10)\nreward(xed(s|t)-xed(t|s)-xent(t))",
    "asymmetric": "assign(s1=story(), s2=story())\nelicit(t1, 10)\nelicit(t2, 10)\n"
    "reward(xed(t1|s1)-xed(s1|t1)+xed(t2|s2)-xed(s2|t2))\n"
    "reward(xed(t2|s1)-xed(s1|t2)+xed(t1|s2)-xed(s2|t1))\nreward(xed(t2|t1)-xed(t1|t2))",
    "loop": "assign(s=story())\nbeacon(flag_1)\nelicit(t, 4)\nreward(xed(s | t))\n"
    "replay(flag_1, 3)",
    "gather": 'assign(s=story())\nassign(x="")\nbeacon(flag_1)\nelicit(t, 4)\nassign(x=x + t)\n'
    "replay(flag_1, 2)\nreward(xed(s | x))",
    "demand": "assign(s=story(), t=story())\nelicit(x, 8)\nensure(xent(x | t) < xent(x))\n"
    "reward(xed(s | x))",
    "guess": "assign(s=story(8))\nbeacon(flag_1)\nelicit(t, 8)\nreward(xed(t|s))\n"
    "replay(flag_1, 100)",
}

TOGETHER = {
    "interception": "assign(s=story())\nelicit(white, t, 20)\nelicit(black, t1, 10)\n"
    'ensure("No common words between" + t + "&" + t1)\nreward(black, xed(s|t1)+xed(t1|s))',
    "derail": "assign(s1=story(), s2=story())\nelicit(white, t1, 10)\nelicit(white, t2, 10)\n"
    "elicit(black, t, 10)\n"
    "reward(white, xent(s1+t1+t+t2+s2)-xent(s1+t1+t)-xent(t+t2+s2)+xent(t))",
    "message": "assign(s=story())\nelicit(t, 8)\nreveal(bob, t)\nelicit(bob, t1, 8)\n"
    "reward(bob, xed(s|t1))\nreward(xed(s|t+t1))",
}


def games(texts: dict[str, str], dialect: str) -> list[xgl.Game]:
    return [xgl.game(xgl.parse(text, dialect, name)) for name, text in texts.items()]


EVERY = [game for dialect in ("paper", "xent") for game in games(ALONE | TOGETHER, dialect)]
SCOPE = {dialect: games({"a": SINGLE, "b": CONTRAST}, dialect) for dialect in ("paper", "xent")}
