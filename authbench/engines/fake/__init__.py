"""A deterministic engine without a model: for tests, and for measuring what the harness itself costs.

It goes by the wording of authbench's own prompts and answers in the format asked for, at tens of thousands
of answers a second. Scores are a hash of seed, model and the name shown, blended with the true levels where
these are given, so all judges agree with one another. Equal settings give equal answers, and everything that
decides answers is part of the model's revision.

- `settings`: what can be set: a truth and how far it counts, bad answers of every kind, failures, latency.
- `prompts`: which format a prompt asks for, and the things that it shows.
- `oracle`: what the made-up model thinks of them.
- `answers`: how it words its answers, good ones and each kind of bad ones.
- `engine`: the engine itself. There is no tokenizer: a token is four characters.
"""

from authbench.engines.fake.engine import FakeEngine

__all__ = ["FakeEngine"]
