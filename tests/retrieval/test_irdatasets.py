from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from authbench.errors import ConfigError
from authbench.retrieval.irdatasets import NAMES, from_ir_datasets
from authbench.retrieval.named import load_collection

ir_datasets: Any = pytest.importorskip("ir_datasets")


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A collection of real local files, registered under a name of its own."""
    folder = tmp_path_factory.mktemp("ir")
    (folder / "docs.tsv").write_text("d1\tone\nd2\t\n")
    (folder / "queries.tsv").write_text("q1\twhat?\nq2\twho?\n")
    (folder / "qrels").write_text("q1 0 d1 2\nq1 0 d2 0\n")
    made = ir_datasets.create_dataset(
        docs_tsv=str(folder / "docs.tsv"),
        queries_tsv=str(folder / "queries.tsv"),
        qrels_trec=str(folder / "qrels"),
    )
    name = "authbench-test/tiny"
    if name not in ir_datasets.registry:
        ir_datasets.registry.register(name, made)
    yield name


def test_documents_queries_and_judgements(registered: str) -> None:
    made = from_ir_datasets(registered)
    assert made.queries == {"q1": "what?", "q2": "who?"}
    assert made.judged == {"q1": {"d1": 2, "d2": 0}}
    assert made.documents["d1"].full == "one"
    assert list(made.documents) == ["d1", "d2"] and len(made.documents) == 2
    assert "d2" in made.documents and "d9" not in made.documents
    assert made.documents.n_empty == 1
    assert len(made.documents.digest) == 64
    assert load_collection(registered).queries == made.queries


def test_every_short_name_is_known_with_all_that_is_needed() -> None:
    for identifier in NAMES.values():
        source = ir_datasets.load(identifier)
        assert source.has_docs() and source.has_queries() and source.has_qrels()


def test_unknown_and_incomplete_collections() -> None:
    with pytest.raises(ConfigError, match="did you mean 'scifact'"):
        from_ir_datasets("scifcat")
    with pytest.raises(ConfigError, match="has no queries and no qrels"):
        from_ir_datasets("msmarco-passage")


def test_documents_have_titles_where_the_collection_does(tmp_path: Path) -> None:
    from authbench.retrieval.irdatasets import _passage

    document = ir_datasets.load("beir/scifact").docs_cls()(doc_id="1", text="body", title="head")
    assert _passage(document).full == "head body"
