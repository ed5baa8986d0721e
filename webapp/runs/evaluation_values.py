"""The numbers of an evaluation as pages say them: a value with its n and its interval, or why there is none.

Nothing is computed here that `ml.evaluation` has not. What rests on fewer than `LEAST` replies is told as counts: too
few to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ml.evaluation.scoring import HEADLINE
from ml.statistics.intervals import LEAST

GROUPS = ("gaze", "gesture", "joint")
DIFFICULTIES = ("easy", "medium", "hard")
TOO_FEW = "too few to say"
CONTROL_WORDS = {
    "text-only": "text only",
    "shuffled-video": "another video",
    "shuffled-frames": "shuffled frames",
    "permuted-tags": "permuted tags",
}
CONTROL_MEANS = {
    "text-only": "No picture is shown: what is still right was guessed from the words.",
    "shuffled-video": "Each item comes with the video of another recording.",
    "shuffled-frames": "The pictures change places, their times stay: what is still right needs no order.",
    "permuted-tags": "People change numbers in the words. Tags painted into a clip stay, so an accuracy that does not "
    "fall shows that names were not looked at.",
}
UPLOADERS_WORD = " The file was made elsewhere: that it was asked so is its uploader's word."
KIND_WORDS = {
    "run": "trained here",
    "folder": "model folder, not trained here",
    "endpoint": "configured endpoint",
    "predictions": "file of replies, asked elsewhere",
}
READING_WORDS = {"released": "Released", "strict": "Strict", "lenient": "Lenient"}
READING_MEANS = {
    "strict": "The answer tag holds the answer and nothing else.",
    "released": "The order of the released GRASP evaluation; published rows are read so.",
    "lenient": "Also (b), “Answer: B”, the words of one option.",
}

Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """A share in [0, 1] with its interval. `n`: replies it rests on; `k`: of them right, where it counts that."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    k: int | None = None

    @property
    def few(self) -> bool:
        return self.n < LEAST

    @property
    def shown(self) -> str:
        """ "52.6", or the counts alone."""
        if self.value is None or not self.n:
            return "–"
        if self.few:
            return f"{self.k} of {self.n}" if self.k is not None else f"n = {self.n}"
        return f"{100 * self.value:.1f}"

    @property
    def span(self) -> str:
        """ "48.1–57.0", or why there is none."""
        if self.value is None or not self.n:
            return ""
        if self.few:
            return "too few"
        if self.low is None or self.high is None:
            return "one video"
        if self.low == self.high:
            return "all alike"
        return f"{100 * self.low:.1f}–{100 * self.high:.1f}"

    @property
    def says(self) -> str:
        """ "52.6 % (n = 120; 95 %: 48.1 to 57.0 %)"."""
        if self.value is None or not self.n:
            return "no value"
        if self.few:
            return f"{self.shown}: {TOO_FEW}"
        if self.low is None or self.high is None:
            return f"{self.shown} % (n = {self.n:,}, all of one video: no interval)"
        if self.low == self.high:  # every draw of videos has the same mean
            return f"{self.shown} % (n = {self.n:,}, every video alike: no interval)"
        return f"{self.shown} % (n = {self.n:,}; 95 %: {100 * self.low:.1f} to {100 * self.high:.1f} %)"


def measured(row: Tree, reading: str = HEADLINE) -> Measured:
    """Of a row of the tables of `ml.evaluation`."""
    told = row["accuracy"][reading]
    replied = row["n"] - row["error"] - row["missing"]
    right = row["right"] if reading == HEADLINE else None
    return Measured(told["value"], told["low"], told["high"], replied, right)


def grounded(results: Tree) -> Measured | None:
    """Precision of grounded participants; None where no item tells."""
    told = results.get("grounded")
    if not told:
        return None
    return Measured(told["precision"]["value"], told["precision"]["low"], told["precision"]["high"], told["n"])


@dataclass(frozen=True)
class Rho:
    """Spearman's rho with its interval, over n."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def shown(self) -> str:
        return "–" if self.value is None else "too few" if self.n < LEAST else f"{self.value:.2f}"

    @property
    def span(self) -> str:
        if self.value is None or self.n < LEAST or self.low is None or self.high is None:
            return ""
        return f"{self.low:.2f} to {self.high:.2f}"


def rho_items(results: Tree) -> Rho | None:
    told = results.get("grounded")
    if not told:
        return None
    found = told["rho_items"]
    return Rho(found["value"], found["low"], found["high"], told["n"])
