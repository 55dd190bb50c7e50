from __future__ import annotations

from pathlib import Path

import pytest

from authbench.errors import ConfigError
from authbench.experiment.loading import load_experiment
from authbench.experiment.models import load_model
from authbench.paths import share_dir
from authbench.tasks.authority_settings import ListwiseExperiment

GOOD = """\
table: authoritybench/1
task: listwise
dataset: {name: sample, lists: 3}
models: [fake]
engine: fake
"""


def write(tmp_path: Path, text: str, name: str = "x.yaml") -> str:
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def test_defaults_and_overrides(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    loaded = load_experiment(
        path,
        sets=["dataset.lists=7", "context=[with]", "engine.seed=3"],
        models=["a", "b"],
        engine="openvino",
    )
    settings = loaded.settings
    assert isinstance(settings, ListwiseExperiment)
    assert (settings.dataset.lists, settings.context, settings.models) == (7, ("with",), ("a", "b"))
    assert settings.engine is not None
    assert (settings.engine.name, settings.engine.settings()) == ("openvino", {"seed": 3})
    assert loaded.passed == ("engine.name", "models", "dataset.lists", "context", "engine.seed")
    assert loaded.resolved()["dataset"]["scale"] == "fine"


def test_extends_merges_mappings(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "base.yaml")
    path = write(tmp_path, "extends: base.yaml\ndataset: {scale: coarse}\n", "child.yaml")
    settings = load_experiment(path).settings
    assert isinstance(settings, ListwiseExperiment)
    dataset = settings.dataset
    assert (dataset.name, dataset.lists, dataset.scale) == ("sample", 3, "coarse")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (GOOD + "datset: 1\n", r"x\.yaml:6: unknown key 'datset' \(did you mean 'dataset'\?\)"),
        (
            GOOD.replace("lists: 3", "list: 3"),
            r"x\.yaml:3: unknown key 'dataset\.list' \(did you mean 'lists'\?\)",
        ),
        (
            GOOD.replace("lists: 3", "lists: three"),
            r"x\.yaml:3: dataset\.lists is 'three': input should be a",
        ),
        (
            GOOD.replace("lists: 3", "lists: 0"),
            r"x\.yaml:3: dataset\.lists is 0: .*greater than or equal to 1",
        ),
        (GOOD.replace("listwise", "listwize"), r"x\.yaml:2: task is 'listwize'.*did you mean 'listwise'"),
        (GOOD.replace("task: listwise\n", ""), r"x\.yaml: task is None; it must be one of listwise"),
        (GOOD + "judges: [point, list-scores]\n", r"x\.yaml:6: judges\.1 is 'list-scores'.*did you mean"),
        (GOOD.replace("models: [fake]\n", ""), r"x\.yaml: 'models' is missing"),
        (
            GOOD + "judges: [point, list-rank, point]\n",
            r"x\.yaml:6: judges is .*: the same value stands there twice: 'point'$",
        ),
        ("- a\n- b\n", r"x\.yaml: must be a mapping of keys to values, it is a list"),
        ("", r"x\.yaml: must be a mapping of keys to values, it is empty"),
        ("a: [1\n", r"x\.yaml:2: not valid YAML"),
        (GOOD + "extends: none.yaml\n", r"x\.yaml:6: extends 'none\.yaml', which is no file"),
        (GOOD + "extends: x.yaml\n", r"`extends` goes in a circle"),
    ],
)
def test_bad_yaml_is_one_line_with_file_line_and_key(tmp_path: Path, text: str, wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted) as caught:
        load_experiment(write(tmp_path, text))
    assert len(str(caught.value).splitlines()) <= 2


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("dataset.lists", "write it as key=value"),
        ("models.x=1", "models is .* it has no keys below it"),
        ("context=[a", "the value is not valid YAML"),
        ("dataset.lsts=4", r"unknown key 'dataset.lsts' \(did you mean 'lists'\?\)"),
    ],
)
def test_bad_set(tmp_path: Path, word: str, wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted):
        load_experiment(write(tmp_path, GOOD), sets=[word])


def test_a_configuration_that_is_not_there() -> None:
    with pytest.raises(
        ConfigError, match=r"no configuration domainauth_fin \(did you mean 'domainauth_fine'\?\)"
    ):
        load_experiment("domainauth_fin")


@pytest.mark.parametrize("path", sorted(share_dir("configs").rglob("*.yaml")), ids=lambda p: p.stem)
def test_every_configuration_that_ships_is_valid(path: Path) -> None:
    if path.parent.name == "models":
        assert load_model(path.stem).id
        return
    experiment = load_experiment(str(path))
    for name in experiment.settings.models:
        load_model(name, path)


def test_models_by_name_path_and_hub_id(tmp_path: Path) -> None:
    assert load_model("qwen3-8b").chat_template_kwargs == {"enable_thinking": False}
    assert load_model("org/some-model").name == "org--some-model"
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    assert load_model(str(tmp_path / "m.gguf")).gguf == {"path": str(tmp_path / "m.gguf")}
    assert load_model(str(tmp_path)).path == str(tmp_path)
    with pytest.raises(ConfigError, match=r"unknown model 'qwen3-8' \(did you mean 'qwen3-8b'\?\)"):
        load_model("qwen3-8")


def test_the_papers_tables_are_known_and_others_are_ones_own(tmp_path: Path) -> None:
    from authbench.reporting.layouts import LAYOUTS
    from authbench.tasks.settings import PAPER_TABLES

    assert {name for name in LAYOUTS if "/" in name} == set(PAPER_TABLES)
    path = write(tmp_path, GOOD)
    for name in ("mine", "mine/1", "pairs"):
        assert load_experiment(path, sets=[f"table={name}"]).settings.table == name
