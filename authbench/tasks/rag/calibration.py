"""Do authority scores mean what the labels of the documents' domains say? Beyond the paper's Table 5.

Levels from 0 to 9 can be held against scores as they are; of any other labels only the order counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: The highest score and the highest label.
HIGHEST = 9.0


def calibrate(
    scores: Sequence[Sequence[float] | None], labels: Sequence[Sequence[float | None]], seed: int = 0
) -> list[dict[str, Any]]:
    """Measure rows that hold authority scores against labels, over the documents that have one.

    Args:
        scores: of each question's documents, or None where the filter's answer was invalid.
        labels: of the same documents, None where the data has none.

    Gives rows as `Task.score` does:

    - `spearman` and `kendall`: mean within-question correlation over questions with two or more labelled
      documents of different labels, strict and valid (as AuthorityBench, section 3.3.1, for lists);
    - `calibration-error`: mean of |score - label| / 9 over documents, 0 to 1, lower is better;
    - `mean-score`: mean score / 9 of the documents of each label, with `method` naming it: `level-7`.

    The last two are over documents with a score, so they are the same under both policies, and only there
    where all labels are levels, integers from 0 to 9. Nothing at all where no document has a label.
    """
    from dataclasses import asdict

    from authbench.measures.correlation import summarise_lists

    predicted, gold = _ranked(scores, labels)
    pairs = [
        (score, float(label))
        for row, known in zip(scores, labels, strict=True)
        if row is not None
        for score, label in zip(row, known, strict=True)
        if label is not None
    ]
    rows = [asdict(row) for row in summarise_lists(predicted, gold, seed)] if predicted else []
    levels = all(label.is_integer() and 0 <= label <= HIGHEST for _, label in pairs)
    return rows + _document_rows(pairs, seed) if levels else rows


def _ranked(
    scores: Sequence[Sequence[float] | None], labels: Sequence[Sequence[float | None]]
) -> tuple[list[list[float | None]], list[list[int]]]:
    """The questions whose labelled documents can be ranked, with only those documents."""
    predicted: list[list[float | None]] = []
    gold: list[list[int]] = []
    for row, known in zip(scores, labels, strict=True):
        places = [place for place, label in enumerate(known) if label is not None]
        numbers = [label for label in known if label is not None]
        order = sorted(set(numbers))
        if len(order) < 2:
            continue
        gold.append([order.index(label) for label in numbers])  # rank correlations look at ranks alone
        predicted.append([None if row is None else row[place] for place in places])
    return predicted, gold


def _document_rows(pairs: Sequence[tuple[float, float]], seed: int) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from authbench.measures.resampling import measure_row

    if not pairs:
        return []
    errors = [abs(score - label) / HIGHEST for score, label in pairs]
    rows = [asdict(measure_row("calibration-error", "strict", errors, seed))]
    for level in sorted({label for _, label in pairs}):
        values = [score / HIGHEST for score, label in pairs if label == level]
        row = asdict(measure_row("mean-score", "strict", values, seed))
        rows.append({"method": f"level-{level:g}", **row})
    return [row | {"policy": policy} for row in rows for policy in ("strict", "valid")]
