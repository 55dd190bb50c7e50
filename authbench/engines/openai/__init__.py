"""Any server that speaks the chat-completions protocol: vLLM's, llama.cpp's, a provider's.

The library `openai` (`openai.AsyncOpenAI`, one client for each server) makes the connections, keeps the
time-outs and types the errors. What is ours:

- `settings`: which servers, which model, and the name of the variable that holds the key. The key itself
  is read when it is needed, and masked where a message or a fact leaves the engine.
- `probe`: before the first request, what the server serves and takes: the model's name, its limit of
  tokens, `n`, log-probabilities, constraints, the template's arguments, a seed, stop strings. A field that
  is refused is replaced by its equal (`max_tokens` by `max_completion_tokens`) or the run stops and names
  `engine.omit`, by which it can go on without; nothing is dropped in silence.
- `protocol`: a request as the fields of a body, and an answer's body as a `Response`.
- `servers`: how many requests are in flight at which server: begins at `concurrency`, lowered when a
  server is overloaded, raised with success. A free place goes to the server with the largest share free.
- `client`: one request until it is answered. Whatever may pass is tried again: a request that may itself
  be at fault `retries` times, at any server; a server that is gone or overloaded for `max_wait` seconds,
  and then the run ends with what had finished kept. The library's own retries are off: they keep a place
  and stay with one server while they wait, and the pool would not hear of the overload.
- `engine`: the engine itself, an event loop in a thread of its own.
"""

from authbench.engines.openai.engine import OpenAIEngine

__all__ = ["OpenAIEngine"]
