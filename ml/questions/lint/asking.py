"""The configured endpoint as a guesser: it gets question and options as text, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ml.questions.lint.one import Asker
from ml.text import answers

INSTRUCTIONS = (
    "You are given a multiple-choice question about a video that you cannot see. Guess the most probable option from "
    "the wording alone. Reply with its letter."
)


class EndpointAsker:
    """Asks the endpoint once an item; a reply that names no option counts as no guess."""

    def __init__(self, endpoint: object, name: str) -> None:
        self.endpoint, self.name = endpoint, name

    def letter(self, question: str, options: Sequence[str]) -> str | None:
        from pydantic import BaseModel

        from ml.endpoint.client import Endpoint, system, user, words

        class Choice(BaseModel):
            letter: str

        assert isinstance(self.endpoint, Endpoint)
        text = "\n".join([question, *answers.with_letters(options)])
        reply = self.endpoint.ask([system(INSTRUCTIONS), user(words(text))], Choice, name="choice")
        return answers.letter(reply.value.letter, answers.LETTERS[: len(options)])


@contextmanager
def configured(stop: Callable[[], None] = lambda: None) -> Iterator[Asker]:
    """The installation's endpoint. Raises `ml.endpoint.NotConfigured` where there is none."""
    from ml.endpoint import Config
    from ml.endpoint.client import Endpoint

    config = Config.from_environment()
    with Endpoint(config, stop=stop) as endpoint:
        yield EndpointAsker(endpoint, config.model)
