"""Cut a reply into claims: `python -m ml.evidence.summarise [--summariser S] [--duration SECONDS] < TEXT`.

Prints the evidence package as JSON. Ends with 0; with 1 and a sentence where a model wrote no package; with 2 and a
sentence where the call or its input cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys

from ml.evidence import package as packages
from ml.evidence.summarisers import registry
from ml.evidence.summarisers.protocol import BrokenOutput
from ml.evidence.vocabulary import EMBEDDED, OPEN

LARGEST = 8 << 20  # bytes of a reply


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    data = sys.stdin.buffer.read(LARGEST + 1)
    if len(data) > LARGEST:
        return _fail(f"The reply is longer than {LARGEST >> 20} MB.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _fail(f"The reply is not UTF-8 text: byte {error.start} cannot be read.")
    try:
        summariser = registry.load(options.summariser, **_settings(options))
        made = summariser.summarise(
            text,
            question=options.question,
            options=tuple(options.option),
            answer=options.answer,
            duration_s=options.duration,
            vocabulary={"embedded": EMBEDDED, "open": OPEN}[options.vocabulary],
        )
        packages.check(made, text)
    except BrokenOutput as error:
        return _fail(f"{error} It wrote: {error.raw[:500]!r}", 1)
    except ValueError as error:
        return _fail(str(error))
    json.dump(packages.to_json(made), sys.stdout, ensure_ascii=True, indent=1)
    print()
    return 0


def _settings(options: argparse.Namespace) -> dict[str, str]:
    given = {"folder": options.model, "lora": options.lora}
    return {name: value for name, value in given.items() if value}


def _fail(sentence: str, code: int = 2) -> int:
    print(sentence, file=sys.stderr)
    return code


def _seconds(words: str) -> float:
    value = float(words)
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError("the duration must be a number of seconds above 0")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ml.evidence.summarise", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--summariser", default="rules", choices=tuple(registry.SUMMARISERS))
    parser.add_argument("--duration", type=_seconds, help="seconds of the clip; without it, “at the end” is no time")
    parser.add_argument(
        "--vocabulary", choices=("embedded", "open"), default="embedded", help="where negatives are from"
    )
    parser.add_argument("--question", default="", help="the question the reply answers")
    parser.add_argument("--option", action="append", default=[], help="an option; give it once for each")
    parser.add_argument("--answer", default="", help="the model's answer, where the reply does not say it")
    parser.add_argument("--model", default="", help="folder of the model (local)")
    parser.add_argument("--lora", default="", help="folder of its LoRA (local)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
