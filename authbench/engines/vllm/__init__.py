"""The engine `vllm`: vLLM in this program, what the papers' tables are made with.

Life of an engine:

1. `settings` reads what stands under `engine:`. A few settings are authbench's own; every other one is an
   argument of vLLM's engine, under vLLM's name, and is passed on. Names and plain types are compared with
   the declarations in the installed vLLM's source (`installed`), which takes no import; vLLM checks the
   rest as it loads.
2. Before anything is loaded, the engine knows its model, renders and counts prompts with the model's own
   chat template and tokenizer, and says what it can do: a capability is a sampling parameter that the
   installed vLLM declares.
3. `load` sets vLLM's environment and sends its log to a file (`environment`), then starts one of two
   `drivers`: vLLM's step loop in this thread, or its asynchronous engine where there are several copies of
   the model. Without a GPU the model stays in this process: a second one would take its cores.
   `max_model_len` is what the plan's longest request needs, unless it is set.
4. `submit` turns jobs into token ids and sampling parameters (`requests`) and lines them up, the longest
   first. `completions` hands them over, twice as many as vLLM runs at once, and gives every answer as soon
   as it is finished, so a run that is stopped has lost no finished answer.
5. When vLLM fails, `failures` finds the cause, in the log of another process if need be, and says what to
   lower.
6. `info` gives what a reviewer would ask for (`record`): versions, device, arguments, share of prompt
   tokens out of the prefix cache, tokens per second.

Settings and advice: docs/engines-vllm.md.
"""

from authbench.engines.vllm.engine import VllmEngine

__all__ = ["VllmEngine"]
