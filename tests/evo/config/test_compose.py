"""Configuration: what composes, and what a mistake is told."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st
from omegaconf import OmegaConf

import evo.run
from evo.api import overrides
from evo.config import ALL_SETTINGS, BY_NAME, EXPERIMENTS, MODEL_RUNS, models
from evo.config.compose import from_archive, load, resume, setting_roles
from evo.config.measure import MeasureConfig, MeasureRunConfig
from evo.config.models import find_gpus, reward_settings, settings_for
from evo.config.schema import ClusterConfig, RunConfig
from evo.experiments.toy import ToyRunConfig
from xgl.errors import ConfigError
from xgl.settings import Role

Capsys = pytest.CaptureFixture[str]
RUN = "+experiment=scope_growth"
TOY = "+experiment=toy_growth"
MEASURE = ["+experiment=measure", "measure=OUT"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([], "mutate"),
        (["model=qwen3_8b"], "portfolio"),
        (["model=smollm2", "meta_sampler=local"], "local"),
        (["playability=few_shot", "finetune=reinforce"], "mutate"),
    ],
)
def test_every_variant_composes_and_a_model_of_size_takes_part_in_proposing(
    words: list[str], name: str
) -> None:
    assert load(RunConfig, [RUN, *words]).meta_sampler.name == name


MODELS = sorted(path.name.removesuffix(".yaml") for path in files("conf.model").iterdir())


@pytest.mark.parametrize("model", MODELS)
def test_with_every_model_the_triplet_is_the_papers(model: str) -> None:
    """What a model's preset says comes after ``finetune=reinforce``."""
    config = load(RunConfig, ["+experiment=transfer_triplet", f"model={model}"])
    assert (config.finetune.warm_start.maps, config.finetune.maps) == (0, 4)
    curriculum = load(RunConfig, ["+experiment=curriculum", f"model={model}"]).finetune
    own = load(RunConfig, [RUN, f"model={model}"]).finetune
    assert 0 < curriculum.learning_rate <= own.learning_rate


@pytest.mark.parametrize(
    "sampler",
    ["chat", "portfolio meta_sampler.settings.model=m meta_sampler.settings.base_url=http://u/v1"],
)
def test_a_budget_in_dollars_needs_the_prices_of_who_proposes(
    tmp_path: Path, capsys: Capsys, sampler: str
) -> None:
    words = f"{RUN} budget.dollars=1 archive.root={tmp_path} meta_sampler={sampler}".split()
    assert evo.run.main(words) == 2
    assert "expected meta_sampler.settings.price_prompt=" in capsys.readouterr().err


def test_composed_defaults_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "reward_settings", lambda words: ())
    for experiment in MODEL_RUNS:
        config = load(RunConfig, [f"+experiment={experiment}"])
        assert (config.experiment, config.name) == (experiment, f"{experiment}-seed0")
    assert load(RunConfig, [RUN]) == RunConfig(experiment="scope_growth", name="scope_growth-seed0")
    assert load(ToyRunConfig, [TOY]) == ToyRunConfig(
        experiment="toy_growth", name="toy_growth-seed0"
    )
    config = MeasureRunConfig(experiment="measure", measure=MeasureConfig(folder="OUT"))
    here = load(MeasureRunConfig, MEASURE)
    assert here == replace(config, measure=replace(config.measure, dtype="float32"))
    on_gpu = load(MeasureRunConfig, [*MEASURE, "measure.device=cuda"])
    assert on_gpu.measure.dtype == "bfloat16", "a run keeps the type that it began with"


def test_a_list_of_games_to_measure_is_read_as_every_other_list() -> None:
    games = '["my,game.xent", message:bob, single_text]'
    config = load(MeasureRunConfig, [MEASURE[0], f"measure={games}"])
    assert config.measure.games == ("my,game.xent", "message:bob", "single_text")
    with pytest.raises(ConfigError, match=r"measure\.games=\[single_text: cannot be read"):
        load(MeasureRunConfig, [MEASURE[0], "measure=[single_text"])


def test_where_a_run_is_done_is_no_science() -> None:
    config = load(RunConfig, [RUN])
    elsewhere = load(RunConfig, [RUN, "cluster.workers=7", "archive.root=/x", "name=other"])
    assert config.science_hash() == elsewhere.science_hash()
    for override in ("seed=1", "finetune.tokens=5", "growth.alpha1=0.4", "judge.model=smollm2"):
        assert load(RunConfig, [RUN, override]).science_hash() != config.science_hash()


MISTAKES = [
    (["growth.alfa1=0.3"], r"growth\.alfa1: unknown key, did you mean growth\.alpha1\?"),
    (["growth={alfa1:0.3}"], r"growth\.alfa1: unknown key, did you mean growth\.alpha1\?"),
    (["+growth.alpha1=0.4"], r"\+growth\.alpha1: expected growth\.alpha1=… without the sign"),
    (["seed=abc"], r"seed: found 'abc', expected a whole number"),
    (["finetune=none"], r"finetune: found 'none', expected one of"),
    (["seed=1,2"], r"seed: found '1,2', expected one value: a command is one run"),
    (["transfer.selection_plays=[16,63]"], r"_plays: found plays that end at 63 and 64 .*, exp"),
    (["transfer.acceptance_plays=[96,191]"], r"found plays that end at 191 and 192 .*, expected"),
    (["transfer.script_plays=6399999999999"], r"end at 6399999999999 and 6400000000000 .*, exp"),
    (["judge.second="], r"judge\.second: found '', expected a text that is not empty"),
    (
        ["meta_sampler=chat", "meta_sampler.settings.limit_parameter=messages"],
        r"settings\.limit_parameter: found 'messages', expected parameters that requests do not",
    ),
    (["meta_sampler=chat", "meta_sampler.settings.limit_parameter=top_p"], r"found 'top_p', exp"),
    (["judge.memory_mib=9223372036854775808"], r"memory_mib: found 9223372036854775808, expected"),
    (["finetune.rollouts=9223372036854775808"], r"finetune\.rollouts: found .*, expected"),
    (["growth.coverage_against=scope"], r"growth\.max_accepts_per_parent: found null"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=[m[0][-1] for m in MISTAKES])
def test_a_mistake_is_told_by_its_key(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        load(RunConfig, [RUN, *words])
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 300


@pytest.mark.parametrize(("price", "expected"), [("1", "more values"), ("1,2,3", "fewer values")])
def test_a_price_is_two_numbers(price: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=rf"prices\.m: found \[.*\], expected {expected}"):
        load(MeasureRunConfig, [*MEASURE, f"measure.chat.prices={{m: [{price}]}}"])


def test_a_missing_or_foreign_key_of_an_archived_configuration_is_named() -> None:
    values = asdict(load(RunConfig, [RUN]))
    del values["growth"]["alpha1"]
    with pytest.raises(ConfigError, match=r"^growth\.alpha1: missing.*older version.*new run"):
        from_archive(RunConfig, values)
    values = asdict(load(RunConfig, [RUN]))
    del values["transfer"]["rule"]
    with pytest.raises(ConfigError, match=r"^transfer\.rule: missing.*older version"):
        resume(RunConfig, values, ["growth.max_accepted=4"])
    with pytest.raises(ConfigError, match=r"^budget\.token: unknown key, .*budget\.tokens"):
        resume(RunConfig, asdict(load(RunConfig, [RUN])), ["budget.token=5"])
    values = {**asdict(load(RunConfig, [RUN])), "zebra": "red"}
    with pytest.raises(ConfigError, match=r"^zebra: unknown key in the archived.*older version"):
        from_archive(RunConfig, values)
    values = {**asdict(load(RunConfig, [RUN])), "judge": "embedded"}
    with pytest.raises(ConfigError, match=r"^judge: found 'embedded', expected a group"):
        from_archive(RunConfig, values)


def test_an_archived_configuration_may_lack_only_what_results_do_not_depend_on() -> None:
    config = load(RunConfig, [RUN, "meta_sampler=chat", "cluster.workers=3"])
    values = asdict(config)
    del values["cluster"], values["budget"]["dollars"]
    del values["meta_sampler"]["settings"]["concurrency"]
    assert from_archive(RunConfig, values) == replace(config, cluster=ClusterConfig())
    del values["meta_sampler"]["settings"]["max_lines"]
    with pytest.raises(ConfigError, match=r"^meta_sampler\.settings\.max_lines: missing"):
        from_archive(RunConfig, values)


FILES = files("conf").joinpath("experiment")


def test_every_file_has_an_entry_with_settings_and_a_plan_and_every_entry_a_file() -> None:
    names = [each.name.removesuffix(".yaml") for each in FILES.iterdir()]
    assert sorted(BY_NAME) == sorted(name for name in names if not name.startswith("_"))
    for entry in EXPERIMENTS:
        assert callable(resolve_name(entry.planner))
        kind, experiment = resolve_name(entry.settings), entry.variant_of or entry.name
        file = FILES.joinpath(f"{entry.name}.yaml").read_text(encoding="utf-8")
        assert OmegaConf.create(file).experiment == experiment
        with pytest.raises(ConfigError, match=f"experiment: found 'other'.*{experiment}"):
            kind(experiment="other")
        assert (entry.name in MODEL_RUNS) == (kind.__name__ == "RunConfig" and not entry.variant_of)


H100 = 1, 81559
"""GPUs, and MiB of each."""
ON_GPU = ["+experiment=scope_growth", "archive.root=runs", "name=x"]


@pytest.mark.parametrize("own", ["cluster.gpus_per_worker=0", "cluster.address=10.0.0.1:6379"])
def test_a_run_that_says_otherwise_is_left_alone(own: str) -> None:
    assert settings_for(*H100, [*ON_GPU, own]) == ()


def test_rewards_are_rounded_where_the_driver_s_processor_multiplies_in_bfloat16(
    tmp_path: Path,
) -> None:
    """Decided once: a worker on another processor rounds as the settings say."""
    cpuinfo = tmp_path / "cpuinfo"
    off = ("finetune.bfloat16_rewards=false",)
    assert reward_settings(ON_GPU, cpuinfo) == off
    cpuinfo.write_text("flags : fpu avx512f\n")
    assert reward_settings([RUN], cpuinfo) == off
    assert reward_settings(["finetune.bfloat16_rewards=true"], cpuinfo) == ()
    cpuinfo.write_text("flags : fpu avx512_bf16\n")
    assert reward_settings([RUN], cpuinfo) == ()


def test_workers_share_a_gpu_and_its_memory() -> None:
    own = ["cluster.gpus_per_worker=0.25", "judge.dtype=float32"]
    found = dict(word.split("=") for word in settings_for(*H100, own))
    assert found["cluster.workers"] == "4"
    assert found["player.memory_mib"] == str(int(81559 / 8 / 4))
    assert not {"cluster.gpus_per_worker", "judge.dtype"} & set(found)


@pytest.mark.parametrize(
    ("gpus", "workers", "share"), [(1, 4, "0.25"), (2, 7, "0.25"), (1, 6, "0.1666"), (4, 2, "1")]
)
def test_a_number_of_workers_finds_place_on_the_gpus(gpus: int, workers: int, share: str) -> None:
    found = dict(w.split("=") for w in settings_for(gpus, 81559, [f"cluster.workers={workers}"]))
    assert found["cluster.gpus_per_worker"] == share
    assert models.workers_of([gpus], float(share)) >= workers


def test_of_two_gpus_a_worker_the_judge_has_one_and_the_player_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_cluster = [*ON_GPU, "cluster.gpus_per_worker=2", "cluster.address=10.0.0.1:6379"]
    assert load(RunConfig, on_cluster).player.device == "cuda:1+0"
    monkeypatch.setattr(models, "find_gpus", lambda: (4, 81559))
    config = load(RunConfig, [*ON_GPU, "cluster.gpus_per_worker=2"])
    assert (config.cluster.workers, config.judge.device) == (2, "cuda:0")
    assert config.player.device == "cuda:1+0"
    assert config.player.memory_mib == 10194
    config = load(RunConfig, [*ON_GPU, "cluster.gpus_per_worker=4", "player.device=cuda:1+2+3"])
    assert (config.cluster.workers, config.player.device) == (1, "cuda:1+2+3")


def test_a_run_goes_on_with_its_own_settings_whatever_this_machine_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = asdict(load(RunConfig, [RUN]))
    monkeypatch.setattr(models, "find_gpus", lambda: (4, 81559))
    monkeypatch.setattr(models, "reward_settings", lambda words: ("finetune.bfloat16_rewards=x",))
    resumed = resume(RunConfig, values, ["growth.max_accepted=9", "budget={tokens: 7}"])
    assert (resumed.growth.max_accepted, resumed.budget.tokens) == (9, 7)
    expected = from_archive(RunConfig, values)
    growth = replace(expected.growth, max_accepted=9)
    assert resumed == replace(expected, growth=growth, budget=resumed.budget)
    with pytest.raises(ConfigError, match=r"budget.tokens=1,2: expected one value"):
        resume(RunConfig, values, ["budget.tokens=1,2"])
    with pytest.raises(ConfigError, match=r"^cluster\.address: "):  # null, no group
        resume(RunConfig, values, ["cluster.address.x=1"])
    with pytest.raises(ConfigError, match=r"growth\.max_acepted: unknown key, did you mean growth"):
        resume(RunConfig, values, ["growth.max_acepted=1"])
    with pytest.raises(ConfigError, match=r"constants\.z=1: a resumed run keeps its settings"):
        resume(RunConfig, values, ["game.constants.z=1"])


def test_a_run_stays_on_the_kind_of_device_that_chose_its_numbers() -> None:
    values = asdict(load(RunConfig, [RUN]))
    with pytest.raises(ConfigError, match=r"gpus_per_worker: found 1, expected 0, as the run"):
        resume(RunConfig, values, ["cluster.gpus_per_worker=1"])
    chosen = asdict(load(RunConfig, [RUN, "judge.dtype=float32", "player.dtype=float32"]))
    assert resume(RunConfig, chosen, ["cluster.gpus_per_worker=1"]).cluster.gpus_per_worker == 1


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (["player.device=gpu"], r"player\.device: found 'gpu', expected auto, cpu, cuda:N"),
        (
            ["cluster.gpus_per_worker=2", "player.device=cuda:0"],
            r"gpus_per_worker: found 2 GPUs .* do not use all",
        ),
        (["cluster.gpus_per_worker=1.5"], r"found 1\.5, expected at most 1, or a whole number"),
    ],
)
def test_devices_that_a_worker_has_not_are_refused(
    monkeypatch: pytest.MonkeyPatch, own: list[str], message: str
) -> None:
    monkeypatch.setattr(models, "find_gpus", lambda: (4, 81559))
    with pytest.raises(ConfigError, match=message):
        load(RunConfig, [*ON_GPU, *own])


@pytest.mark.parametrize(
    ("memory", "visible", "expected"),
    [
        *((["81559"], None, H100), (["9", "9"], "1", (1, 9)), (["9"], "", (0, 0))),
        *((["9"], "-1", (0, 0)), (["9", "9"], "GPU-1f, 1", (2, 9)), ([], None, (0, 0))),
    ],
)
def test_the_driver_says_what_is_here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory: list[str],
    visible: str | None,
    expected: tuple[int, int],
) -> None:
    command = tmp_path / "nvidia-smi"
    command.write_text("#!/bin/sh\n" + "".join(f"echo {each}\n" for each in memory))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    for build, found in (("2.11.0+cu130", expected), ("2.13.0+cpu", (0, 0))):
        monkeypatch.setattr(models, "version", lambda name, build=build: build)
        assert find_gpus() == found


def test_a_driver_that_fails_or_shares_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(models, "version", lambda name: "2.11.0+cu130")
    for text in ("echo No devices were found; exit 6", "echo '[N/A]'"):
        command.write_text(f"#!/bin/sh\n{text}\n")
        command.chmod(0o755)
        count, memory = find_gpus()
        assert (count > 0) == (memory > 0) == ("N/A" in text)


ROLES = {place: setting_roles(resolve_name(place)) for place in ALL_SETTINGS}
WHEN_RESUMED = """
budget.dollars budget.seconds budget.tokens cluster.address cluster.gpus_per_worker
cluster.workers curriculum.run ggbench.chat.prices
ggbench.players growth.generations growth.max_accepted judge.device measure.ceiling_calls
measure.chat.prices measure.device measure.folder measure.judge player.device
"""
"""Errors of resumed runs name these, so that a resumed run may change them."""


@pytest.mark.parametrize("key", WHEN_RESUMED.split())
def test_a_resumed_run_may_change_what_its_errors_name(key: str) -> None:
    assert {roles[key] for roles in ROLES.values() if key in roles} == {Role.RESUMABLE}


PRICES = "measure.chat.prices"


def composed(arguments: list[str], capsys: Capsys) -> tuple[int, Any, str]:
    """Exit code, configuration and error of a command line that is only composed."""
    capsys.readouterr()
    code = evo.run.main([*arguments, "--cfg", "job"])
    out, err = capsys.readouterr()
    return code, yaml.safe_load(out), err


@pytest.mark.parametrize("word", ["name=日本語", "name=it's", 'name=5"', "name=a=b"])
def test_the_answer_is_what_to_type(word: str, capsys: Capsys) -> None:
    code, _, error = composed([RUN, word], capsys)
    assert code == 2
    assert error.startswith(f"error: {word}: cannot be read without quotes, expected ")
    better = shlex.split(error.partition(", expected ")[2])
    code, config, error = composed([RUN, *better], capsys)
    assert code == 0, error
    assert config["name"] == word.partition("=")[2]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("growth.initial_scope=[a,(]", "cannot be read without quotes, expected each text"),
        ("archive.root=${HOME}/runs", r"root: no setting is called HOME; .* is written \$HOME"),
        ("name=2024", r"name: found 2024, expected a text, such as \"2024\""),
        ("finetune=3", "finetune: found '3', expected one of: "),
        ("model=null", "model: found 'null', expected one of: "),
        ("meta_sampler=[1]", r"meta_sampler: found '\[1\]', expected one of: "),
        ("seed=${oc.env:NOT_SET}", r"seed: found \$\{…\} without a value \(.*NOT_SET' not found"),
        ("seed=${seed}", r"seed: found \$\{…\} without a value \(Recursive"),
        ("meta_sampler.name=chat", "found 'chat', expected meta_sampler=chat, which chooses"),
    ],
)
def test_what_is_no_list_or_is_read_as_something_else_is_told(
    word: str, message: str, capsys: Capsys
) -> None:
    code, _, error = composed([RUN, word], capsys)
    assert (code, bool(re.search(message, error))) == (2, True), error
    assert error.count("\n") == 1


@pytest.mark.parametrize("value", ["~/日本 (1)/#2", "~", "~/it's"])
def test_a_path_below_home_needs_no_quotes(value: str) -> None:
    config = load(RunConfig, [RUN, f"archive.root={value}"])
    assert config.archive.root == value
    assert config.folder == Path(value).expanduser() / config.name


CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0$", exclude_categories=["Cs"])


@settings(max_examples=15)
@given(st.text(CHARACTERS, min_size=1))
def test_any_text_comes_through_from_python(text: str) -> None:
    words = overrides({"archive.root": text, "growth.initial_scope": [text, "b"]})
    config = load(RunConfig, [RUN, *words])
    assert (config.archive.root, config.growth.initial_scope) == (text, (text, "b"))


def test_mappings_whose_keys_are_no_settings_come_through_from_python() -> None:
    prices = {"gpt-3.5-turbo": (1.0, 2.0), "qwen2.5:7b": (0.0, 0.0), "a, {b} = c\\d": (1.0, 1.0)}
    words = overrides({"measure": {"folder": "OUT", "chat": {"prices": prices}}})
    assert load(MeasureRunConfig, ["+experiment=measure", *words]).measure.chat.prices == prices
    with pytest.raises(ConfigError, match="found a value of type set"):
        next(overrides({"name": {"a:b": {3}}}))


def test_the_page_shows_what_can_be_typed(capsys: Capsys) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| `('.+')` \|$", page.partition("**Quotes.**")[2], re.MULTILINE)
    assert len(rows) == 4
    for row in rows:
        base = MEASURE if PRICES in row else [RUN]
        assert composed([*base, *shlex.split(row)], capsys)[0] == 0, row
