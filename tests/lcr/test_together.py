from __future__ import annotations

from driving import drive, prompt_of, says

from authbench.lcr.together import together
from authbench.runtime.messages import Outcome, Parsed, Procedure, Sampling, user


def ask(name: str, *sizes: int) -> Procedure[Outcome]:
    """Asks so many prompts a round, and returns what it was told."""
    told = []
    for number, size in enumerate(sizes):
        responses = yield [user(f"{name}{number}{place}", Sampling(1)) for place in range(size)]
        told += [response.text for response in responses]
    return Outcome(tuple(Parsed("ok", text) for text in told), {"told": told})


def test_rounds_are_joined_and_answers_keep_the_order_asked() -> None:
    procedures = [ask("a", 1, 2), ask("b"), ask("c", 2), ask("d", 0, 1)]
    (outcomes, answers), rounds = drive(together(procedures), lambda request: says(prompt_of(request)))
    prompts = [[prompt_of(request) for request in asked] for asked in rounds]
    assert prompts == [["a00", "c00", "c01"], ["a10", "a11", "d10"]]
    assert [answer.value for answer in answers] == [prompt for asked in prompts for prompt in asked]
    assert [outcome.values["told"] for outcome in outcomes] == [
        ["a00", "a10", "a11"],
        [],
        ["c00", "c01"],
        ["d10"],
    ]


def test_none_at_all() -> None:
    (outcomes, answers), rounds = drive(together([]), lambda request: says(""))
    assert (outcomes, answers, rounds) == ([], [], [])
