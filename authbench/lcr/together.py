"""Several procedures run as one: each round asks what all of them ask."""

from __future__ import annotations

from collections.abc import Sequence

from authbench.runtime.messages import Outcome, Parsed, Procedure, Request, Response


def together(procedures: Sequence[Procedure[Outcome]]) -> Procedure[tuple[list[Outcome], list[Parsed]]]:
    """Run procedures side by side.

    Gives their outcomes in the order of the procedures, and all their answers in the order in which they
    were asked, which is what an outcome of the whole needs.
    """
    outcomes: dict[int, Outcome] = {}
    asked_at: list[list[int]] = [[] for _ in procedures]
    asking: dict[int, Sequence[Request]] = {}
    total = 0

    def resume(number: int, responses: Sequence[Response] | None) -> None:
        procedure = procedures[number]
        try:
            asking[number] = next(procedure) if responses is None else procedure.send(responses)
        except StopIteration as stop:
            outcomes[number] = stop.value

    for number in range(len(procedures)):
        resume(number, None)
    while asking:
        requests: list[Request] = []
        for number, wanted in asking.items():
            asked_at[number] += range(total + len(requests), total + len(requests) + len(wanted))
            requests += wanted
        responses = yield requests
        total += len(requests)
        waiting = list(asking.items())
        asking = {}
        start = 0
        for number, wanted in waiting:
            resume(number, responses[start : start + len(wanted)])
            start += len(wanted)
    answers: list[Parsed | None] = [None] * total
    for number, places in enumerate(asked_at):
        for place, answer in zip(places, outcomes[number].answers, strict=True):
            answers[place] = answer
    return [outcomes[number] for number in range(len(procedures))], [a for a in answers if a is not None]
