"""Model files: what a folder says of a model, where models are looked for, what is said if one is nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from authbench.engines.encoding import PromptEncoder, batch_encoder, load_tokenizer
from authbench.engines.models import content_hash, find_model, open_folder
from authbench.errors import EngineError
from authbench.runtime.engine import ModelConfig, RenderedPrompt
from authbench.runtime.messages import Message

#: The switch of Qwen3's template, in a template of our own: an empty thinking block closes thinking.
SWITCH = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def write_model(folder: Path, **config: Any) -> Path:
    """A model folder with a tokenizer of single words, and weights that are no weights."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    folder.mkdir(parents=True, exist_ok=True)
    values = {"max_position_embeddings": 512, "dtype": "bfloat16", **config}
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": "<|im_end|>", "bos_token": {"__type": "AddedToken", "content": SPECIAL[0]}})
    )
    (folder / "chat_template.jinja").write_text(SWITCH)
    words = ["[unk]", "hello", "world", "user", "assistant", "|", "<", ">", "im_end", "<|", "|>"]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[unk]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.add_tokens(["<think>", "</think>", "  "])
    tokenizer.post_processor = TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", tokenizer.token_to_id("<|endoftext|>"))]
    )
    tokenizer.enable_truncation(3)  # as a file may have it from training
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 64)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


class TestFacts:
    def test_what_a_folder_says(self, folder: Path) -> None:
        files = open_folder(folder)
        assert (files.context_length, files.precision, files.local) == (512, "bfloat16", True)
        assert files.revision.startswith("content-")

    @pytest.mark.parametrize(
        ("config", "precision"),
        [
            ({"torch_dtype": "float16", "dtype": None}, "float16"),
            ({"dtype": None, "text_config": {"dtype": "bfloat16"}}, "bfloat16"),
            ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "awq-4bit"),
            ({"quantization_config": {"quant_method": "fp8"}}, "fp8"),
            ({"dtype": None}, "unknown"),
        ],
    )
    def test_precision(self, tmp_path: Path, config: dict[str, Any], precision: str) -> None:
        assert open_folder(write_model(tmp_path / "m", **config)).precision == precision

    def test_context_of_a_model_with_parts(self, tmp_path: Path) -> None:
        config = {"max_position_embeddings": None, "text_config": {"max_position_embeddings": 99}}
        assert open_folder(write_model(tmp_path / "m", **config)).context_length == 99

    def test_control_tokens_are_special_or_printed_by_the_template(self, folder: Path) -> None:
        tokens = open_folder(folder).chat_template({}).control_tokens
        assert set(tokens) == {*SPECIAL, "<think>", "</think>"}

    def test_one_of_several_templates(self, folder: Path) -> None:
        (folder / "chat_template.jinja").unlink()
        templates = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "yes"}]
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
        assert open_folder(folder).chat_template({}).template == "yes"


class TestThinking:
    CHAT = (Message("user", "hello"),)

    def test_off_shows_in_the_rendered_prompt(self, folder: Path) -> None:
        text = open_folder(folder).chat_template({"enable_thinking": False}).render(self.CHAT).text
        assert text.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")

    def test_not_said_it_stays_open(self, folder: Path) -> None:
        text = open_folder(folder).chat_template({}).render(self.CHAT).text
        assert text.endswith("<|im_start|>assistant\n")

    def test_a_template_without_the_switch_is_an_error(self, folder: Path) -> None:
        (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
        with pytest.raises(
            EngineError, match=r"the chat template of \S+model has no switch 'enable_thinking'"
        ):
            open_folder(folder).chat_template({"enable_thinking": False})


class TestTemplates:
    def test_none_is_an_error_with_the_way_out(self, folder: Path) -> None:
        (folder / "chat_template.jinja").unlink()
        with pytest.raises(EngineError, match=r"has no chat template\ngive one with"):
            open_folder(folder).chat_template({})

    def test_a_base_model_is_asked_the_content_alone(self, folder: Path) -> None:
        template = open_folder(folder).chat_template({}, override="none")
        assert template.render((Message("user", "hello"),)).text == "hello"

    def test_a_template_of_ones_own(self, folder: Path, tmp_path: Path) -> None:
        own = tmp_path / "own.jinja"
        own.write_text("Q: {{ messages[0].content }}")
        template = open_folder(folder).chat_template({}, override=str(own))
        assert template.render((Message("user", "hello"),)).text == "Q: hello"
        with pytest.raises(EngineError, match="cannot read"):
            open_folder(folder).chat_template({}, override=str(tmp_path / "none.jinja"))


class TestEncoding:
    def encoder(self, folder: Path, plain: bool = False) -> PromptEncoder:
        return PromptEncoder(batch_encoder(load_tokenizer(folder)), plain)

    def test_no_second_begin_token_and_nothing_cut(self, folder: Path) -> None:
        ids = self.encoder(folder).encode([RenderedPrompt("<|endoftext|>hello world hello world")])[0]
        assert len(ids) == 5
        assert ids[1:] == [1, 2, 1, 2]

    def test_a_base_model_gets_the_tokenizers_begin_token(self, folder: Path) -> None:
        (ids,) = self.encoder(folder, plain=True).encode([RenderedPrompt("hello")])
        assert len(ids) == 2 and ids[1] == 1

    def test_markup_in_data_is_text(self, folder: Path) -> None:
        encoder = self.encoder(folder)
        (control,) = encoder.encode_text("<|im_end|>")
        template = open_folder(folder).chat_template({})
        prompt = template.render((Message("user", "hello <|im_end|> world"),))
        (ids,) = encoder.encode([prompt])
        assert ids.count(control) == 1  # the template's own
        plain = template.render((Message("user", "hello world"),))
        assert encoder.encode([plain, prompt, plain])[1] == ids

    def test_a_damaged_tokenizer_is_named(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text('{"version": "1.0", "model": ')
        with pytest.raises(EngineError, match=r"the tokenizer in .*model cannot be loaded: .+"):
            load_tokenizer(folder)


class TestContentHash:
    def test_it_changes_with_the_weights(self, folder: Path) -> None:
        before = content_hash(folder)
        weights = bytearray((folder / "model.safetensors").read_bytes())
        weights[5000] ^= 1
        (folder / "model.safetensors").write_bytes(weights)
        assert content_hash(folder) != before

    def test_it_is_the_same_for_a_copy(self, folder: Path, tmp_path: Path) -> None:
        assert content_hash(write_model(tmp_path / "copy")) == content_hash(folder)


class TestWhere:
    def model(self, **values: Any) -> ModelConfig:
        return ModelConfig(**{"name": "m", "id": "org/m", **values})

    def test_a_path_wins(self, folder: Path) -> None:
        assert find_model(self.model(), str(folder)).folder == folder
        assert find_model(self.model(path=str(folder))).folder == folder

    @pytest.mark.parametrize(
        ("break_it", "message"),
        [
            ("config.json", "is no Hugging Face model"),
            ("model.safetensors", "holds no weights"),
            (None, "no model folder"),
        ],
    )
    def test_a_folder_that_is_no_model(self, folder: Path, break_it: str | None, message: str) -> None:
        if break_it:
            (folder / break_it).unlink()
        with pytest.raises(EngineError, match=message):
            find_model(self.model(), str(folder if break_it else folder / "not"))

    def test_a_snapshot_in_the_hubs_cache_has_the_commit_as_its_revision(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commit = "0123456789abcdef0123456789abcdef01234567"
        repository = tmp_path / "hub" / "models--org--m"
        write_model(repository / "snapshots" / commit)
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(commit)
        monkeypatch.setattr(
            "huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False
        )
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
        files = find_model(self.model())
        assert (files.source, files.revision, files.local) == ("org/m", commit, False)

    def test_the_exported_folder_is_found(self, tmp_cache: Path) -> None:
        made = write_model(tmp_cache / "models" / "m-hf")
        assert find_model(self.model(gguf={"package": "p", "file": "f"})).folder == made

    def test_nowhere_and_offline_says_what_to_do(self, tmp_cache: Path) -> None:
        with pytest.raises(EngineError, match=r"org/m is not on this machine[^\n]*\ngive a folder with"):
            find_model(self.model())
        with pytest.raises(EngineError, match=r"python scripts/export_hf_folder\.py"):
            find_model(self.model(gguf={"package": "p", "file": "f"}))

    def test_an_id_that_cannot_be(self, tmp_cache: Path) -> None:
        with pytest.raises(EngineError, match="the hub has no model"):
            find_model(self.model(id="a/b/c/d"))
