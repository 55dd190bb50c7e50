"""The lists and pairs of a data set: the official ones where they are present, else sampled with the seed."""

from __future__ import annotations

from authbench.data.authority import AuthorityData
from authbench.data.records import ListItem, PairItem
from authbench.data.sampling import PAPER_RULE, Difficulty, PairRule, sample_lists, sample_pairs


def lists_of(data: AuthorityData, domain: str, count: int, seed: int) -> tuple[ListItem, ...]:
    """The first `count` official lists of a domain (all, if there are fewer), or as many sampled ones.

    Raises:
        DataError: not enough sources to sample from, see `sample_lists`.
    """
    official = data.lists.get(domain)
    if official:
        return official[:count]
    return sample_lists(data.domains[domain], data.scale.levels, count, seed, domain)


def pairs_of(
    data: AuthorityData,
    domain: str,
    count: int,
    seed: int,
    difficulty: Difficulty,
    rule: PairRule = PAPER_RULE,
) -> tuple[PairItem, ...]:
    """The first `count` official pairs of a difficulty (all, if there are fewer), or as many sampled ones.

    Official pairs are filtered by `rule` if it is not the paper's own.

    Raises:
        DataError: not enough sources to sample from, see `sample_pairs`.
    """
    official = data.pairs.get(difficulty)
    if official:
        kept = official if rule == PAPER_RULE else [p for p in official if rule.admits(p.gap, difficulty)]
        return tuple(kept[:count])
    return sample_pairs(data.domains[domain], count, seed, domain, difficulty, rule)
