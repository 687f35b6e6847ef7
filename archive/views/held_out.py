"""Do accepted games teach more outside their family? Tables for people, and the answer in a
sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from archive.schema import GainKind
from archive.statistics.studies.captured_gains import Reference, Worth
from archive.statistics.studies.choice_tests import LEVEL, ChoiceTest, CoverageTest
from archive.statistics.studies.held_out import Contrast, HeldOut, SelectionResult
from archive.statistics.values.intervals import Interval
from archive.views.tables import SHORT, add, number, plain_text, plural, table


def show(result: HeldOut, console: Console) -> None:
    """Programs, lists, answers, and what the primary one means."""
    for kind, references in result.references.items():
        _show_programs(kind, references, console)
    _show_shares(result.references, console)
    _show_lists(result, console)
    for worth, answer in result.answers.items():
        _show_answer(f"{worth} gains", "captured value C", answer, console)
    for worth, answer in result.answers_in_bits.items():
        _show_answer(f"{worth} gains in bits a play", "bits a play", answer, console)
    for line in (*_noise_lines(result), sentence(result)):
        console.print(plain_text(line), soft_wrap=True)


def sentence(result: HeldOut) -> str:
    """The primary result, positive or negative."""
    primary = result.primary
    if primary is None:
        return (
            "Nothing can be said: on no held-out program are both gains of its own fine-tunes "
            "known well enough to divide by, and made by moves about the map."
        )
    answer = result.answers[Worth.PAID]
    is_shown = primary.test.p_value <= LEVEL
    beginning = (
        "Accepted games teach more outside their family than the refused playable games of their "
        "lists"
    )
    claim = beginning if is_shown else f"It is not shown that {beginning[0].lower()}{beginning[1:]}"
    power = "" if is_shown else f"; {_power(answer.detectable)}"
    return (
        f"{claim}: mean C {primary.accepted:.2f} against {primary.refused:.2f}, "
        f"difference {_bounds_text(primary.difference)}, one-sided p = {_p(primary.test)}{power}."
    )


def _power(difference: float) -> str:
    if not math.isfinite(difference):
        return "so few games cannot show any"
    return f"a difference of {difference:.2f} had a power of 0.8"


def _show_programs(kind: GainKind, references: tuple[Reference, ...], console: Console) -> None:
    title = f"{kind} gain on held-out programs, bits a play, 95 %"
    heads = ("its own, over maps", "and training seeds", "S − S′", "counts", "games, median")
    rows = table(title, "program", *heads)
    for reference in references:
        cells = map(_bounds_text, (reference.gain, reference.repeated, reference.score))
        counts = "yes" if reference.counts else "no"
        add(rows, reference.program, *cells, counts, number(reference.median))
    console.print(rows)


def _show_shares(references: Mapping[GainKind, tuple[Reference, ...]], console: Console) -> None:
    heads = [f"{kind}: {each}" for kind in references for each in ("accepted", "refused", "script")]
    rows = table("C: share of what programs' own fine-tunes gain", "program", *heads)
    for of_one in zip(*references.values(), strict=True):
        cells = [cell for each in of_one for cell in _shares(each)]
        add(rows, of_one[0].program, *cells)
    console.print(rows)


def _shares(reference: Reference) -> tuple[str, str, str]:
    """Empty if the gain is not known well enough to divide by."""
    if reference.script_share is None:
        return "", "", ""
    script = f"{number(reference.script_share)} {reference.script}"
    return number(reference.accepted), number(reference.refused), script


def _show_lists(result: HeldOut, console: Console) -> None:
    rows = table(
        f"Lists of proposals ({result.mixed_lists} of {len(result.lists)} hold accepted and "
        f"refused games; {len(result.candidates)} candidates are "
        f"{plural(result.games, 'different game')}); mean C, {Worth.PAID}",
        *("growth", "parent", "round", "playable", "accepted", "C accepted", "C refused"),
    )
    for row in result.lists:
        facts = (row.growth, row.parent_game_id[:SHORT], row.round, row.playable, row.accepted)
        add(rows, *facts, number(row.mean_accepted), number(row.mean_refused))
    console.print(rows)


def _show_answer(subject: str, unit: str, answer: SelectionResult, console: Console) -> None:
    title = (
        f"{subject}, mean over {plural(len(answer.programs), 'program')}; bounds over games, "
        "maps and references, p over choices of games"
    )
    rows = table(title, unit, "accepted", "others", "difference (95 %)", "p")
    _add_contrast(rows, "mean of a game", answer.taught)
    _add_contrast(rows, "the same beyond the best script", answer.beyond_scripts)
    _add_coverage(rows, "best of all accepted", answer.coverage)
    _add_coverage(rows, "the same beyond the best script", answer.coverage_beyond_scripts)
    console.print(rows)


def _add_contrast(rows: Table, name: str, contrast: Contrast) -> None:
    means = number(contrast.accepted), number(contrast.refused)
    add(rows, name, *means, _bounds_text(contrast.difference), _p(contrast.test))


def _add_coverage(rows: Table, name: str, coverage: CoverageTest) -> None:
    random = f"{coverage.expected:.2f} at random ({coverage.low:.2f} to {coverage.high:.2f})"
    lead = f"{coverage.observed - coverage.expected:+.2f}"
    add(rows, name, number(coverage.observed), random, lead, _p(coverage.test))


def _noise_lines(result: HeldOut) -> list[str]:
    lines = []
    if agreement := result.agreement:
        shares = ", ".join(f"{share:.0%}" for share in agreement.helping)
        lines.append(
            f"Between {plural(result.seeds, 'training seed')}: rank correlation of games "
            f"{_bounds_text(agreement.rank_correlation)}; “surely helps a program” ({shares} of "
            f"the games) agrees with κ {_bounds_text(agreement.kappa)}."
        )
    if steps := result.steps:
        span = " to ".join(f"{count:g}" for count in dict.fromkeys((steps.fewest, steps.most)))
        slope = (
            "which do not vary"
            if steps.slope.value is None
            else f"C a step within lists {_bounds_text(steps.slope, 4)}"
        )
        lines.append(f"The budget paid for {span} gradient steps: {slope}.")
    return lines


def _bounds_text(interval: Interval, digits: int = 2) -> str:
    if interval.value is None:
        return "not defined"
    low, high = (f"{bound:.{digits}f}" for bound in (interval.low, interval.high))
    return f"{interval.value:+.{digits}f} [{low}, {high}]"


def _p(test: ChoiceTest) -> str:
    of = "all" if test.exact else "drawn"
    return f"{test.p_value:.3g} ({test.choices:,} choices, {of})"
