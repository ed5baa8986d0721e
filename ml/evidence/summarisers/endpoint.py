"""The summariser `endpoint`: an OpenAI-compatible endpoint writes the claims, also the phrases of Chinese reasoning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ml.endpoint.client import Endpoint, system, user
from ml.endpoint.client import words as said
from ml.endpoint.config import BrokenReply, Config
from ml.evidence.package import Package
from ml.evidence.reading import parsed
from ml.evidence.summarisers import by_model
from ml.evidence.summarisers.protocol import BrokenOutput
from ml.evidence.vocabulary import Vocabulary

REPLY_TOKENS = 8192


class ByEndpoint:
    """Raises NotConfigured (a ValueError) at once when none is set up. `stop`: called while waiting; may raise."""

    name: ClassVar[str] = "endpoint"
    version: ClassVar[str] = "1"

    def __init__(self, config: Config | None = None, stop: Callable[[], None] = lambda: None) -> None:
        self.config = config or Config.from_environment()
        self.stop = stop

    def describe(self) -> dict[str, Any]:
        """Name, version, the model's name and what it is told; never the address or the key."""
        settings = {"temperature": 0.0, "max_tokens": REPLY_TOKENS, "prompt": by_model.prompt_version()}
        return {
            "name": self.name,
            "version": self.version,
            "weights": {},
            "model": self.config.model,
            "settings": settings,
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
        """See `protocol.Summariser`. Raises BrokenOutput, or EndpointError with a sentence."""
        reply = parsed(text)
        about = self.describe()
        if not any(text[a:b].strip() for a, b in reply.rationale_spans):
            made, raw, repairs = by_model.Sheet(claims=[]), "", []
        else:
            asked = by_model.task(text, reply, question, options, answer)
            with Endpoint(self.config, stop=self.stop) as endpoint:
                messages = [system(by_model.RULES), user(said(asked))]
                try:
                    given = endpoint.ask(messages, by_model.Sheet, name="claims", max_tokens=REPLY_TOKENS)
                except BrokenReply as error:
                    raise BrokenOutput(f"The endpoint's output is no package. {error}", error.raw) from error
                about |= {"answered_by": given.model, "prompt": given.prompt}
                repairs = ["The endpoint was asked once more."] if endpoint.spent.reasked else []
            made, raw = given.value, given.text
        return by_model.package(
            text,
            reply,
            made,
            about,
            raw=raw,
            repairs=repairs,
            duration_s=duration_s,
            vocabulary=vocabulary,
        )
