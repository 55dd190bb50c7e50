"""What engines can do, without importing one."""

from __future__ import annotations

from collections.abc import Mapping

#: Which engines can do what not all can, for messages; engines decide by themselves (`Engine.capabilities`).
ABLE: Mapping[str, tuple[str, ...]] = {
    "samples": ("vllm", "openvino", "openai", "ray", "fake"),
    "constraint": ("vllm", "openvino", "openai", "ray", "fake"),
    "label_logprobs": ("vllm", "openvino", "openai", "ray", "fake"),
    "prompt_logprobs": ("vllm", "openvino", "ray", "fake"),
}
