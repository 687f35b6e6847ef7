"""Configuration: what composes, and what a mistake is told."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path

import pytest

from evo.config.compose import OPTIONS, from_archive, has_choices, load, resume
from evo.config.measure import MeasureConfig, MeasureRunConfig
from evo.config.registry import MODEL_RUNS
from evo.config.schema import ClusterConfig, RunConfig
from evo.experiments.toy import ToyRunConfig
from meta_sampler.settings import SETTINGS
from xgl.errors import ConfigError

RUN = "+experiment=scope_growth"
TOY = "+experiment=toy_growth"
MEASURE = ["+experiment=measure", "measure=OUT"]
VARIANTS = [
    "model=embedded",
    "model=smollm2",
    "playability=few_shot",
    "finetune=deep",
    "cluster=local",
    *(f"meta_sampler={name}" for name in SETTINGS),
]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([], "mutate"),
        (["model=smollm2"], "portfolio"),
        (["model=qwen3_8b"], "portfolio"),
        (["model=smollm2", "meta_sampler=local"], "local"),
    ],
)
def test_a_language_model_takes_part_in_proposing_where_one_of_size_plays(
    words: list[str], name: str
) -> None:
    assert load(RunConfig, [RUN, *words]).meta_sampler.name == name


def test_a_long_growth_has_two_rungs_of_deep_fine_tunes_and_a_portfolio() -> None:
    config = load(RunConfig, ["+experiment=long_growth"])
    assert (config.meta_sampler.name, config.growth.first_rung) == ("portfolio", 0.1)
    assert (config.finetune.steps or 0) >= 96


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_composes(variant: str) -> None:
    assert load(RunConfig, [RUN, variant]).experiment == "scope_growth"


@pytest.mark.parametrize("experiment", MODEL_RUNS)
def test_every_experiment_composes(experiment: str) -> None:
    config = load(RunConfig, [f"+experiment={experiment}", "finetune=reinforce"])
    assert (config.experiment, config.name) == (experiment, f"{experiment}-seed0")


def test_composed_defaults_are_those_of_python() -> None:
    assert load(RunConfig, [RUN]) == RunConfig(experiment="scope_growth", name="scope_growth-seed0")
    assert load(ToyRunConfig, [TOY]) == ToyRunConfig(
        experiment="toy_growth", name="toy_growth-seed0"
    )
    config = MeasureRunConfig(experiment="measure", measure=MeasureConfig(folder="OUT"))
    assert load(MeasureRunConfig, MEASURE) == config


@pytest.mark.parametrize(
    "group", [each.name for each in fields(RunConfig) if has_choices(each.name)]
)
def test_a_groups_defaults_can_be_named(group: str) -> None:
    default = getattr(RunConfig(experiment="scope_growth"), group)
    if is_dataclass(default):
        option = OPTIONS.get(group, "default")
        assert getattr(load(RunConfig, [RUN, f"{group}={option}"]), group) == default


@pytest.mark.parametrize("name", SETTINGS)
def test_a_samplers_defaults_are_those_of_python(name: str) -> None:
    sampler = load(RunConfig, [RUN, f"meta_sampler={name}"]).meta_sampler
    assert (sampler.name, sampler.settings) == (name, SETTINGS[name]())


def test_overrides_reach_their_fields() -> None:
    config = load(
        RunConfig,
        [
            RUN,
            "seed=7",
            "name=mine",
            "archive.root=/somewhere",
            "growth.initial_scope=[a.xent,b.xent]",
            "growth.max_candidates=null",
            "growth.alpha1=1",
            "transfer.acceptance_plays=[4,8]",
            "meta_sampler.settings.max_lines=5",
        ],
    )
    assert config.folder == Path("/somewhere/mine")
    assert (config.seed, config.growth.max_candidates) == (7, None)
    assert config.growth.initial_scope == ("a.xent", "b.xent")
    assert config.growth.alpha1 == 1.0
    assert isinstance(config.growth.alpha1, float)
    assert config.transfer.acceptance_plays == (4, 8)
    assert config.meta_sampler.settings.max_lines == 5


def test_a_model_group_sets_judge_and_player() -> None:
    config = load(RunConfig, [RUN, "model=smollm2"])
    assert (config.judge.model, config.player.model) == ("smollm2", "smollm2")


def test_an_archived_configuration_reads_back() -> None:
    config = load(RunConfig, [RUN, "seed=3"])
    assert from_archive(RunConfig, asdict(config)) == config


def test_where_a_run_is_done_is_no_science() -> None:
    config = load(RunConfig, [RUN])
    elsewhere = load(RunConfig, [RUN, "cluster.workers=7", "archive.root=/x", "name=other"])
    assert config.science_hash() == elsewhere.science_hash()
    for override in ("seed=1", "finetune.tokens=5", "growth.alpha1=0.4", "judge.model=smollm2"):
        assert load(RunConfig, [RUN, override]).science_hash() != config.science_hash()


MISTAKES = [
    (["growth.alfa1=0.3"], r"growth\.alfa1: unknown key, did you mean growth\.alpha1\?"),
    (["finetune.token=5"], r"finetune\.token: unknown key, did you mean finetune\.tokens\?"),
    (["+growth.alpha1=0.4"], r"\+growth\.alpha1: expected growth\.alpha1=… without the sign"),
    (["growth.initial_scope=rival"], r"found 'rival', expected a list such as \[rival\]"),
    (["sed=3"], r"sed: unknown key, did you mean seed\?"),
    (["seed=abc"], r"seed: found 'abc', expected a whole number"),
    (["seed=1.5"], r"seed: found 1\.5, expected a whole number"),
    (["seed=true"], r"seed: found true, expected a whole number"),
    (["seed=null"], r"seed: found null, expected a whole number"),
    (["seed=-1"], r"seed: found -1, expected at least 0"),
    (["judge=5"], r"^judge: found 5, expected a group of settings"),
    (["finetune=5"], r"finetune=5: .*must be a string"),
    (["model=null"], r"model=null: .*must be a string"),
    (["cluster=none"], r"cluster: found 'none', expected one of"),
    (["seed=1,2"], r"seed: found '1,2', expected one value: a command is one run"),
    (["~growth.alpha1"], r"growth\.alpha1: missing$"),
    (["name=${nope}"], r"nope"),
    (["finetune.learning_rate=fast"], r"finetune\.learning_rate: found 'fast', expected a number"),
    (["finetune.learning_rate=0"], r"finetune\.learning_rate: found 0, expected more than 0"),
    (["finetune.learning_rate=nan"], r"finetune\.learning_rate: found nan"),
    (["finetune.scale_advantages=1"], r"scale_advantages: found 1, expected true or false"),
    (
        ["finetune.baseline=mean"],
        r"finetune\.baseline: found 'mean', expected group_mean, leave_one_out",
    ),
    (["finetune.tokens=-1"], r"finetune\.tokens: found -1, expected at least 0"),
    (["judge.dtype=int8"], r"judge\.dtype: found 'int8', expected auto, float32 or bfloat16"),
    (["judge.stories=embedded@0.1"], r"judge\.stories: .*expected no temperature"),
    (
        ["judge.model=vllm:m@http://gpu:8000/v1", "judge.stories=chat:m", "judge.key_variable=K"],
        r"judge\.key_variable: found one key for http://gpu:8000/v1 and https://api\.openai\.com",
    ),
    (["judge.stories=web"], r"judge\.stories: found 'web', expected corpus, a file of texts"),
    (["player.lora_rank=0"], r"player\.lora_rank: found 0, expected at least 1"),
    (["player.lora_layers=0"], r"player\.lora_layers: found 0, expected at least 1"),
    (["game.story_tokens=0"], r"game\.story_tokens: found 0"),
    (["game.dialect=perl"], r"game\.dialect: found 'perl', expected xent or paper"),
    (["transfer.definition=def38"], r"transfer\.definition: found 'def38'"),
    (["transfer.gain=net"], r"transfer\.gain: found 'net', expected total or specific"),
    (
        ["transfer.confidence=1"],
        r"transfer\.confidence: found 1, expected more than 0\.5",
    ),
    (["transfer.selection_plays=[1]"], r"transfer\.selection_plays: found \[1\], expected rising"),
    (["transfer.scan=0"], r"transfer\.scan: found 0, expected at least 1"),
    (["transfer.acceptance_plays=[]"], r"acceptance_plays: found \[\], expected rising"),
    (["transfer.acceptance_plays=[8,8]"], r"acceptance_plays: found \[8, 8\], expected rising"),
    (["transfer.acceptance_plays=[1]"], r"acceptance_plays: found \[1\]"),
    (["transfer.acceptance_plays=[a]"], r"acceptance_plays: found 'a', expected a whole number"),
    (["transfer.acceptance_plays=8"], r"acceptance_plays: found 8, expected a list"),
    (["transfer.confirmations=0"], r"confirmations: found 0, expected at least 1"),
    (["transfer.min_steps=-1"], r"min_steps: found -1, expected at least 0"),
    (
        ["transfer.max_forfeit_rate=2"],
        r"max_forfeit_rate: found 2, expected at least 0 and at most 1",
    ),
    (["growth.initial_scope=[]"], r"growth\.initial_scope: found \[\], expected a list with at"),
    (["growth.initial_scope=contrast"], r"initial_scope: found 'contrast', expected a list"),
    (["growth.alpha2=0"], r"growth\.alpha2: found 0, expected more than 0 and less than 1"),
    (["growth.list_size=0"], r"growth\.list_size: found 0"),
    (["growth.coverage_against=all"], r"growth\.coverage_against: found 'all'"),
    (["growth.coverage_against=scope"], r"growth\.max_accepts_per_parent: found null"),
    (["growth.unplayable_initial=go"], r"growth\.unplayable_initial: found 'go'"),
    (["archive.keep=none"], r"archive\.keep: found 'none', expected scope or all"),
    (["cluster.workers=0"], r"cluster\.workers: found 0, expected at least 1"),
    (["cluster.gpus_per_worker=-1"], r"cluster\.gpus_per_worker: found -1"),
    (["model=gpt9"], r"gpt9"),
    (["growth.alpha1"], r"growth\.alpha1"),
    (["growth.initial_scope=[a"], r"\S"),
]


@pytest.mark.parametrize(("overrides", "message"), MISTAKES, ids=[m[0][0] for m in MISTAKES])
def test_a_mistake_is_told_by_its_key(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        load(RunConfig, [RUN, *overrides])
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 300


@pytest.mark.parametrize("arguments", [["seed=3"], ["+experiment=grow"], ["experiment=toy"]])
def test_an_experiment_must_be_known(arguments: list[str]) -> None:
    with pytest.raises(ConfigError, match="experiment"):
        load(RunConfig, arguments)


def test_a_missing_or_foreign_key_of_an_archived_configuration_is_named() -> None:
    values = asdict(load(RunConfig, [RUN]))
    del values["growth"]["alpha1"]
    with pytest.raises(ConfigError, match=r"^growth\.alpha1: missing.*older version.*new run"):
        from_archive(RunConfig, values)
    values = asdict(load(RunConfig, [RUN]))
    del values["transfer"]["rule"]
    with pytest.raises(ConfigError, match=r"^transfer\.rule: missing.*older version"):
        resume(RunConfig, values, ["growth.max_accepted=4"])
    values = {**asdict(load(RunConfig, [RUN])), "zebra": "red"}
    with pytest.raises(ConfigError, match=r"^zebra: unknown key in the archived.*older version"):
        from_archive(RunConfig, values)
    values = {**asdict(load(RunConfig, [RUN])), "judge": "embedded"}
    with pytest.raises(ConfigError, match=r"^judge: found 'embedded', expected a group"):
        from_archive(RunConfig, values)


def test_values_are_checked_however_they_are_made() -> None:
    config = load(RunConfig, [RUN])
    with pytest.raises(ConfigError, match=r"^alpha1: found 0\.0, expected more than 0"):
        replace(config.growth, alpha1=0.0)
    with pytest.raises(ConfigError, match=r"seed: found"):
        replace(config, seed=2**63)


def test_an_archived_configuration_may_lack_only_what_results_do_not_depend_on() -> None:
    config = load(RunConfig, [RUN, "meta_sampler=chat", "cluster.workers=3"])
    values = asdict(config)
    del values["cluster"], values["budget"]["dollars"]
    del values["meta_sampler"]["settings"]["first_backoff"]
    assert from_archive(RunConfig, values) == replace(config, cluster=ClusterConfig())
    del values["meta_sampler"]["settings"]["max_lines"]
    with pytest.raises(ConfigError, match=r"^meta_sampler\.settings\.max_lines: missing"):
        from_archive(RunConfig, values)


def test_a_setting_of_the_sampler_is_named_with_its_path() -> None:
    for mistake, sentence in (
        ("meta_sampler.settings.max_line=3", "did you mean meta_sampler.settings.max_lines?"),
        ("meta_sampler.settings.max_lines=0", "settings.max_lines: found 0, expected at least 1"),
        ("+meta_sampler.settings.zebra=3", "meta_sampler.settings.zebra: unknown key"),
        ("meta_sampler.name=dice", "name: found 'dice', expected mutate, local, chat or portfolio"),
    ):
        with pytest.raises(ConfigError) as error:
            load(RunConfig, [RUN, mistake])
        assert sentence in str(error.value)
