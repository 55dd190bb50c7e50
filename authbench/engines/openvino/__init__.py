"""A GGUF model on the CPU, through OpenVINO GenAI's continuous batching pipeline.

The engine owns the step loop: it decides what is handed to a pipeline before each step, and gives each
answer after the step in which it ended. It is built so that a greedy answer does not depend on what else
is asked at the same time, since a run that was killed asks for the rest of its answers in other company.
docs/engines.md has what was measured.

- `settings`: what can be set, and what OpenVINO makes of it. The defaults (arithmetic in f32, prompts
  never cut) are what makes answers equal.
- `library`: all that touches OpenVINO GenAI.
- `tickets`: a request with its tokens, and what fits: the engine keeps a queue of its own, so that the KV
  cache never overflows and nothing is thrown out and computed again.
- `lane`: a pipeline with its queue. A request that would decode alone gets a companion, a throw-away
  sequence, so that it is computed by the same kernels as in company. Requests that begin alike wait one
  step for the first of them, and find its beginning in the prefix cache: that halves the time of LCR's
  entailment prompts.
- `engine`: the loop, and answers out of what the library gives.

Up to three pipelines, each loaded when it is first needed: one with a prefix cache for nearly everything;
one without for prompts that are asked a second time (the library lets equal prompts share a block of the
cache that each of them writes into), and one that echoes prompts for log-probabilities of given texts.

Three more habits of the library are dealt with. Samples of one request come sorted by probability: they are
shuffled. Samples share one state of a constraint: constrained ones are asked one by one. A constraint that
cannot be compiled makes a pipeline unusable: new ones are tried one at a time, and where one fails, its
requests get an error and the others begin anew in another pipeline.
"""

from authbench.engines.openvino.engine import OpenVinoEngine

__all__ = ["OpenVinoEngine"]
