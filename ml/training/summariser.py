"""A small language model learns to write evidence packages, from packages that people corrected.

    python -m ml.training.summariser --config lora-1gpu --snapshot PACKAGES.jsonl --model DIR --out RUN

PACKAGES.jsonl has one reply a line: {"text": the reply, "package": its evidence package as `ml.evidence.package` writes
it, "question"?, "options"?, "answer"?}. The model learns the words in which the summariser `local` is asked and has to
answer; what it writes of a claim is the quote and what cannot be read from the text. RUN/final is a folder for
`local`, RUN/adapter the LoRA to put beside the model it was trained from.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ml.evidence import package as packages
from ml.evidence.package import MOST_KEPT, Package
from ml.evidence.reading import parsed
from ml.evidence.summarisers import by_model, local
from ml.formats import jsonfields as read_as
from ml.formats.errors import FormatError
from ml.formats.jsonstream import entries
from ml.training import session as sessions
from ml.training.configs import Config
from ml.training.session import CannotTrain, Session


@dataclass(frozen=True)
class Example:
    """One reply: what is asked about it, and the sheet that the model should write."""

    asked: str
    sheet: str


def sheet_of(package: Package) -> str:
    """What a model has to write for a package to come out of it, as JSON; as many claims as one may write."""
    claims = [
        by_model.WrittenClaim(
            quote=claim.text,
            type=claim.type,
            polarity=claim.polarity,
            load_bearing=claim.load_bearing,
            phrases=[
                by_model.WrittenPhrase(
                    text=one.text, head=one.head, attributes=list(one.attributes), singular=one.singular
                )
                for one in claim.phrases[: by_model.MOST_PHRASES]
            ],
        )
        for claim in package.claims[:MOST_KEPT]
    ]
    return by_model.Sheet(claims=claims).model_dump_json()


def example_of(tree: Any) -> Example:
    """One line of the file. Raises FormatError naming the place."""
    found = read_as.mapping(tree, "the line")
    text = read_as.text(read_as.member(found, "text", ""), "text")
    package = packages.parse(read_as.member(found, "package", ""))
    packages.check(package, text)
    options = [
        read_as.text(one, f"options[{at}]")
        for at, one in enumerate(read_as.sequence(found.get("options") or [], "options"))
    ]
    question, answer = (read_as.text(found.get(name) or "", name) for name in ("question", "answer"))
    return Example(by_model.task(text, parsed(text), question, options, answer), sheet_of(package))


def examples(path: Path, config: Config) -> list[Example]:
    """The examples of a file. Raises FormatError: it is no such file, or has none."""
    found = []
    if not path.is_file():
        raise FormatError(f"{path} is no file of packages.")
    for entry in entries(path):
        try:
            found.append(example_of(entry.tree))
        except FormatError as error:
            raise FormatError(f"{path.name}, {entry.place}: {error}") from error
    return found


def tokens(tokenizer: Any, example: Example) -> dict[str, list[int]]:
    """`input_ids` of prompt, sheet and end, and `labels` in which the prompt is -100: it is not learned."""
    messages = [{"role": "system", "content": local.system()}, {"role": "user", "content": example.asked}]
    prompt = local.rendered(tokenizer, messages)
    asked = tokenizer(prompt, add_special_tokens=not tokenizer.chat_template)["input_ids"]
    said = tokenizer(example.sheet, add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
    return {"input_ids": asked + said, "labels": [-100] * len(asked) + said}


def train(session: Session) -> None:
    """One attempt of a run, up to its end or its stop. Raises CannotTrain: no example is short enough."""
    from ml.training import policy

    policy.prepare(session)
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    from ml.training import ordering
    from ml.training.callbacks import Recorder, fit

    config = session.config
    model, tokenizer = policy.load_language(session)
    every = [tokens(tokenizer, one) for one in session.rows]
    kept = [one for one in every if len(one["input_ids"]) <= config.text.most_tokens]
    if len(kept) < len(every):
        left, least = len(every) - len(kept), min(len(one["input_ids"]) for one in every)
        said = f"{left} of {len(every)} replies are longer than text.most_tokens ({config.text.most_tokens})"
        if not kept:
            raise CannotTrain(f"{said}; the shortest has {least:,} tokens with the instructions.")
        print(f"{said} and are left out.")
    lengths = [float(len(one["input_ids"])) for one in kept]

    class Trainer(SFTTrainer):
        """SFTTrainer with our order of items."""

        def _get_train_sampler(self, train_dataset: object = None) -> Any:
            def orders(epoch: int) -> list[int]:
                return ordering.order(
                    config.train.order, lengths, [""] * len(kept), config.step_items, config.train.seed, epoch
                )

            return ordering.Repeated(orders, len(kept), config.step_items)

    recorder = Recorder(session)
    trainer = Trainer(
        model=model,
        args=SFTConfig(**policy.arguments(session), max_length=None, dataset_kwargs={"skip_prepare_dataset": True}),
        train_dataset=Dataset.from_list(kept),
        processing_class=tokenizer,
        peft_config=policy.lora(config, vision=False),
        callbacks=[recorder],
    )
    fit(trainer, session, recorder)


def load() -> sessions.Train:
    return train


def main(arguments: Sequence[str] | None = None) -> int:
    return sessions.main("summariser", load, arguments, examples)


if __name__ == "__main__":
    sys.exit(main())
