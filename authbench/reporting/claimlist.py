"""The papers' claims, each declared as a check; nothing is computed here."""

from __future__ import annotations

from authbench.reporting.claims import (
    AtLeast,
    Beats,
    Binned,
    Claim,
    Extremes,
    GainsMost,
    Grows,
    NoCopies,
    NoRepeats,
    OnFront,
    Possible,
    Side,
)

POINT: Side = {"judge": "point", "output": "score"}
LIST_RANK: Side = {"judge": "list", "output": "rank"}
LIST_SCORE: Side = {"judge": "list", "output": "score"}
PAIR_RANK: Side = {"judge": "pair", "output": "rank"}
PAIR_SCORE: Side = {"judge": "pair", "output": "score"}
WITH: Side = {"context": "with"}
WITHOUT: Side = {"context": "without"}

_DOMAIN = ("authoritybench/1", "authoritybench/2")
_PAIRS = ("authoritybench/3",)
_ENTITY = ("authoritybench/4", "authoritybench/6")
_RAG = ("authoritybench/5",)
_LISTS = _DOMAIN + _ENTITY
_LCR = ("lcr/2", "lcr/3")
_CAR = ("car/contriever",)

_LISTWISE_CLAIMS = (
    Claim(
        "score-beats-rank",
        "ListJudge with PointScore output beats ListRank for every model and setting",
        'AuthorityBench 4.2 (1): "on all settings and all LLMs"',
        _DOMAIN,
        Beats((LIST_SCORE,), (LIST_RANK,)),
    ),
    Claim(
        "pair-score-beats-pair-rank",
        "PairJudge with PointScore output beats PairRank for every model and setting",
        'AuthorityBench 4.2 (1): "among all LLMs"',
        _DOMAIN,
        Beats((PAIR_SCORE,), (PAIR_RANK,)),
    ),
    Claim(
        "score-outputs-lead",
        "the best method is ListJudge or PairJudge with PointScore output",
        "AuthorityBench abstract and 4.2 (1)",
        _DOMAIN,
        Beats((LIST_SCORE, PAIR_SCORE), (POINT, LIST_RANK, PAIR_RANK), best=True),
    ),
    Claim(
        "pair-score-mostly-best",
        "PairJudge with PointScore output is the best of the five methods in most settings",
        'AuthorityBench 4.2 (1): "in most settings"',
        _DOMAIN,
        Beats((PAIR_SCORE,), (POINT, LIST_RANK, LIST_SCORE, PAIR_RANK), best=True),
        quantifier="most",
    ),
    Claim(
        "point-worst",
        "PointJudge is the worst of the five methods",
        'AuthorityBench 4.2 (3): "PointJudge has the worst performance"',
        _DOMAIN,
        Beats((LIST_RANK, LIST_SCORE, PAIR_RANK, PAIR_SCORE), (POINT,)),
    ),
    Claim(
        "grows-with-size",
        "correlation grows with model size (8B < 14B < 32B) under every judge and setting",
        'AuthorityBench 4.2 (2): "increases monotonically [...] under all judges and evaluation settings"',
        _DOMAIN,
        Grows("model", ("Qwen3-8B", "Qwen3-14B", "Qwen3-32B")),
    ),
    Claim(
        "qwen3-8b-pair-rank-weak",
        "with PairRank, Qwen3-8B is below the other models of its size",
        "AuthorityBench 4.2 (2)",
        _DOMAIN,
        Beats(({"model": "Llama-3-8B"}, {"model": "Llama-3.1-8B"}), ({"model": "Qwen3-8B"},)),
        where=PAIR_RANK,
    ),
    Claim(
        "text-degrades",
        "adding web page text lowers the correlation of every judge",
        'AuthorityBench abstract: "consistently degrades judgment performance"',
        _DOMAIN,
        Beats((WITHOUT,), (WITH,)),
    ),
    Claim(
        "text-keeps-point",
        "text improves or maintains PointJudge in most settings",
        'AuthorityBench 4.2 (3): "generally improves or maintains"',
        _DOMAIN,
        Beats((WITH,), (WITHOUT,), or_equal=True),
        where=POINT,
        quantifier="most",
    ),
    Claim(
        "text-lowers-list",
        "text lowers ListJudge in most settings",
        'AuthorityBench 4.2 (3): "a performance drop on most settings"',
        _DOMAIN,
        Beats((WITHOUT,), (WITH,)),
        where={"judge": "list"},
        quantifier="most",
    ),
    Claim(
        "text-lowers-pair",
        "text lowers PairJudge in most settings",
        'AuthorityBench 4.2 (3): "a performance drop on most settings"',
        _DOMAIN,
        Beats((WITHOUT,), (WITH,)),
        where={"judge": "pair"},
        quantifier="most",
    ),
    Claim(
        "average-beats-bubble",
        "for PairJudge with scores, AverageScore beats BubbleSort",
        'AuthorityBench 4.1 and appendix F: "consistently outperforms"',
        _LISTS,
        Beats(({**PAIR_SCORE, "aggregation": None},), ({**PAIR_SCORE, "aggregation": "bubble"},)),
    ),
    Claim(
        "pair-costs-most",
        "PairJudge asks more than ListJudge and PointJudge",
        'AuthorityBench 1: "PairJudge has the highest inference cost"',
        _LISTS,
        Beats((PAIR_RANK, PAIR_SCORE), (POINT, LIST_RANK, LIST_SCORE), value="calls"),
        where={"metric": "spearman"},
    ),
    Claim(
        "list-score-worth-its-cost",
        "nothing as cheap as ListJudge with PointScore output (in tokens) is better",
        'AuthorityBench 1: "ListJudge offers the best cost-effectiveness trade-off"',
        _LISTS,
        OnFront(LIST_SCORE),
    ),
)

_ENTITY_CLAIMS = (
    Claim(
        "entity-score-outputs-lead",
        "on entities, the best method is ListJudge or PairJudge with PointScore output",
        "AuthorityBench 4.3 (1)",
        _ENTITY,
        Beats((LIST_SCORE, PAIR_SCORE), (POINT, LIST_RANK, PAIR_RANK), best=True),
    ),
    Claim(
        "songs-hardest",
        "basketball players and movies are judged better than songs",
        "AuthorityBench 4.3 (2)",
        _ENTITY,
        Beats(({"domain": "basketball"}, {"domain": "movies"}), ({"domain": "songs"},)),
    ),
    Claim(
        "entities-above-domains",
        "basketball players and movies are mostly judged better than web domains",
        'AuthorityBench 4.3 (3): "generally exhibit stronger"',
        _LISTS,
        Beats(
            ({"kind": "entity", "domain": "basketball"}, {"kind": "entity", "domain": "movies"}),
            ({"kind": "domain"},),
            ignore=("domain", "dataset", "experiment", "table"),
        ),
        where=WITHOUT,
        quantifier="most",
    ),
)

_PAIR_CLAIMS = (
    Claim(
        "text-helps-hard-pairs",
        "text raises the accuracy on hard pairs",
        'AuthorityBench 4.2 (3): "adding text substantially improves accuracy"',
        _PAIRS,
        Beats((WITH,), (WITHOUT,)),
        where={"difficulty": "hard", "metric": "accuracy"},
    ),
    Claim(
        "easy-above-hard",
        "easy pairs are judged better than hard ones",
        "sanity: it is what the two names mean (3.3.1)",
        _PAIRS,
        Beats(({"difficulty": "easy"},), ({"difficulty": "hard"},)),
        where={"metric": "accuracy"},
    ),
    Claim(
        "rank-not-below-chance",
        "a forced choice between two sources (PairRank) is right in at least half of the pairs",
        "sanity: below it answers are invalid, or pairs have equal labels, which the rule "
        '"less than 2" admits and for which no answer is right',
        _PAIRS,
        AtLeast(0.5),
        where={**PAIR_RANK, "metric": "accuracy"},
    ),
)

_RAG_CLAIMS = (
    Claim(
        "authority-filter-best",
        "the authority filter is the best of the four at every k",
        "AuthorityBench 4.4 (2)",
        _RAG,
        Beats(
            ({"filter": "authority"},),
            ({"filter": "relevance"}, {"filter": "utility"}, {"filter": "none", "k": None}),
            best=True,
        ),
    ),
    Claim(
        "every-filter-helps",
        "every filter beats no filter at every k",
        'AuthorityBench 4.4 (1): "All models demonstrate performance improvement"',
        _RAG,
        Beats(
            ({"filter": "relevance"}, {"filter": "utility"}, {"filter": "authority"}),
            ({"filter": "none", "k": None},),
        ),
    ),
)

_LCR_CLAIMS = (
    Claim(
        "lcr-never-below-base",
        "no +LCR cell is below its base ranking",
        'LCR abstract: "without degradation" (holds by construction for thresholds picked on the test '
        "queries with a closed gate in the grid)",
        _LCR,
        Beats(({"method": "lcr"},), ({"method": "base"},), or_equal=True),
    ),
    Claim(
        "car-never-below-base",
        "no +CAR cell is below its base ranking",
        "CAR, the same group's follow-up, Contriever",
        _CAR,
        Beats(({"method": "car"},), ({"method": "base"},), or_equal=True),
    ),
    Claim(
        "yesno-gains-most",
        "the largest relative gain over a base ranking is that over YesNo",
        "LCR abstract (20.6 % and 32.4 %), CAR",
        _LCR + _CAR,
        GainsMost("yesno"),
    ),
    Claim(
        "base-not-below-retriever",
        "a base reranker is not below the retriever that it reorders",
        "sanity: a gain over a ranking that is worse than its input repairs that ranking",
        _LCR + _CAR,
        Beats(
            tuple(
                {"base": base, "method": "base"}
                for base in ("yesno", "qlm", "rankgpt", "colbert", "cross-encoder", "rankt5")
            ),
            ({"base": "retriever", "method": "base"},),
            or_equal=True,
        ),
    ),
)

_NUMBER_CHECKS = (
    Claim(
        "possible-accuracies",
        "an accuracy over n items is a multiple of 1/n",
        "sanity: 5,000 easy and 5,000 hard pairs (3.3.1), 120 questions (3.2.2)",
        _PAIRS + _RAG,
        Possible({"authoritybench/3": 5000, "authoritybench/5": 120}),
        where={"metric": "accuracy"},
    ),
    Claim(
        "no-copied-cells",
        "no two models have the same Spearman and the same Kendall in a setting",
        "sanity: equal to the last digit in both measures is a copying slip rather than chance",
        _LISTS,
        NoCopies(),
    ),
    Claim(
        "no-repeated-rows",
        "no two k have the same accuracy under all three filters",
        "sanity: other documents are read, so some answer should differ",
        _RAG,
        NoRepeats("k"),
        where={"filter": ("relevance", "utility", "authority")},
    ),
    Claim(
        "bins-in-range",
        "EntityAuth's formula puts every entity in one of the levels 0 to 9",
        "AuthorityBench 3.2.1: np.digitize(s, np.logspace(log10 min, log10 max, 11)) - 1",
        _ENTITY,
        Binned(
            (
                Extremes("basketball", 5, 2881, 129),
                Extremes("movies", 15, 1009, 126),
                Extremes("songs", 5, 355, 47),
            )
        ),
    ),
)

#: Every claim, in the order in which they are shown.
CLAIMS: tuple[Claim, ...] = (
    _LISTWISE_CLAIMS + _ENTITY_CLAIMS + _PAIR_CLAIMS + _RAG_CLAIMS + _LCR_CLAIMS + _NUMBER_CHECKS
)
