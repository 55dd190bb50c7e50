"""NDCG@k with linear or exponential gain: through ir-measures, and the same in NumPy for searches.

Gains: linear, `rel`; exponential, `2^rel - 1` (Burges et al. 2005). They differ for graded judgements
only. The discount is `1 / log2(rank + 1)`, the ideal ranking is that of all judged documents of the
query, grades below 0 gain nothing, and an unjudged document gains nothing.

A query without results counts 0, and so does one without relevant documents (as in trec_eval). A query
without judgements has no value and is left out: count those apart (`Collection.notes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from authbench.errors import ConfigError, DataError

Gain = Literal["linear", "exponential"]

Floats = npt.NDArray[np.float64]


#: Highest grades that are measured: trec_eval's library gives nonsense or crashes beyond.
MOST: dict[Gain, int] = {"linear": 1_000_000, "exponential": 30}


def gains_of(grades: npt.ArrayLike, gain: Gain) -> Floats:
    """Gain of each grade; any shape. Raises `DataError` for a grade above `MOST`."""
    rel = np.maximum(np.asarray(grades, dtype=np.float64), 0.0)
    if rel.size and rel.max() > MOST[gain]:
        raise DataError(f"grade {rel.max():.0f}: {gain} gain is measured for grades up to {MOST[gain]}")
    return rel if gain == "linear" else np.exp2(rel) - 1.0


def discounts(cutoff: int) -> Floats:
    """`1 / log2(rank + 1)` for ranks 1 to `cutoff`."""
    return 1.0 / np.log2(np.arange(2, cutoff + 2, dtype=np.float64))


def ideal_dcg(grades: Sequence[int], cutoff: int, gain: Gain) -> float:
    """DCG of the best possible ranking of all judged documents of a query, cut at `cutoff`."""
    best = np.sort(gains_of(list(grades), gain))[::-1][:cutoff]
    return float(best @ discounts(len(best)))


def metric_name(cutoff: int, gain: Gain) -> str:
    """The column `metric` of `cells.json`: `ndcg@5` for linear gain (trec_eval's), `ndcg@5-exponential`."""
    return f"ndcg@{cutoff}" if gain == "linear" else f"ndcg@{cutoff}-{gain}"


def ndcg(ranked_gains: Floats, ideal: Floats) -> Floats:
    """NDCG of many rankings at once.

    Args:
        ranked_gains: (..., cutoff) gains in ranked order, 0 where a ranking has ended.
        ideal: (...) ideal DCG of each query.

    Returns:
        (...) values in [0, 1]; 0 where the ideal is 0.
    """
    dcg = ranked_gains @ discounts(ranked_gains.shape[-1])
    return np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0)


def ndcg_by_query(
    rankings: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
    cutoff: int = 5,
    gain: Gain = "linear",
) -> dict[str, float]:
    """NDCG@`cutoff` of every judged query, computed by ir-measures (trec_eval).

    Args:
        rankings: distinct document identifiers by query, best first. Order is all that counts, so there
            are no ties.
        qrels: grades by document by query. Queries that only `rankings` has are left out.
        cutoff: at least 1.
        gain: "linear" or "exponential".

    Raises:
        ConfigError: ir-measures is not installed.
        DataError: a grade above `MOST`.
    """
    try:
        import ir_measures
    except ImportError:
        raise ConfigError(
            "NDCG needs ir-measures, which is not installed; pip install 'authbench[retrieval]'"
        ) from None
    # Grades below 0 gain nothing, and trec_eval's library crashes on them now and then: they become 0.
    judged = {query: {d: max(grade, 0) for d, grade in row.items()} for query, row in qrels.items()}
    gains_of([grade for row in judged.values() for grade in row.values()], gain)  # refuses what is too high
    options: dict[str, Any] = {"cutoff": cutoff}
    if gain == "exponential":
        # ir-measures' own exponential DCG needs a Perl script; mapping the grades gives the same number.
        options["gains"] = {g: 2**g - 1 for g in {g for row in judged.values() for g in row.values()}}
    measure = ir_measures.nDCG(**options)
    run = {
        query: {document: float(len(ranking) - place) for place, document in enumerate(ranking)}
        for query, ranking in rankings.items()
        if query in qrels and ranking
    }
    values = dict.fromkeys(qrels, 0.0)
    if run:
        for metric in ir_measures.iter_calc([measure], judged, run):
            values[metric.query_id] = float(metric.value)
    return values


def mean_ndcg(
    rankings: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
    cutoff: int = 5,
    gain: Gain = "linear",
) -> float:
    """Mean of `ndcg_by_query` over all judged queries; 0 if there are none."""
    values = ndcg_by_query(rankings, qrels, cutoff, gain)
    return float(np.mean(list(values.values()))) if values else 0.0
