"""One response from its text to verdicts: summarise, look for every claim, judge. The worker and the command line both
call this.

The `work` folder makes it resumable: `plan.json` says what it was begun with (something else begins again),
`package.json` is what the summariser made, `<claim>.json` with `<claim>.parquet` is what was found for a claim; each is
there as a whole or not at all, and a claim counts as looked for once its .json is there, which is written last. Claims
that failed are looked for again. Verdicts are worked out anew every time, since events may have been corrected.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ml.evidence import package as packages
from ml.evidence.grounding import registry
from ml.evidence.grounding.protocol import Footage, Grounded, Grounder, Query, Window
from ml.evidence.grounding.windows import queries_of, window_of
from ml.evidence.package import Claim, Package
from ml.evidence.statements import Truth
from ml.evidence.verdicts import RULES, Rules, Verdict, failed, judge
from ml.evidence.vocabulary import Vocabulary
from ml.media import masks as masks_file
from ml.media.errors import MediaError
from ml.media.files import sweep, write_whole
from ml.progress import Cancelled, Progress, silent
from ml.questions.clip import ClipClock

if TYPE_CHECKING:
    from ml.evidence.summarisers.protocol import Summariser
    from ml.formats.responses import Response

PLAN, PACKAGE = "plan.json", "package.json"
HEAD = 1 << 20  # bytes of a video that are compared
UNLISTED = "mauve hexagonal contraption"  # on no list of things: who knows it has an open vocabulary


@dataclass(frozen=True)
class Checked:
    """One claim with all that was looked for and found. `window` and `grounded` are None where nothing was."""

    claim: Claim
    queries: list[Query]
    window: Window | None
    grounded: Grounded | None
    verdict: Verdict


@dataclass
class Audited:
    """A response's claims, in their order. Those in `done` are not among `checked`."""

    package: Package
    checked: list[Checked] = field(default_factory=list)

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {one.claim.id: one.verdict for one in self.checked}


OnPackage = Callable[[Package], None]
OnClaim = Callable[[Claim, list[Query], Window | None, Grounded | None, Verdict], None]


def audit_response(
    response: Response,
    *,
    footage: Footage,
    clock: ClipClock,
    person_map: Mapping[int, int] | None,
    summariser: Summariser | None,
    grounder: Grounder | None,
    truth: Truth,
    work: Path,
    progress: Progress = silent,
    package: Package | None = None,
    done: Collection[str] = (),
    on_package: OnPackage | None = None,
    on_claim: OnClaim | None = None,
    rules: Rules = RULES,
) -> Audited:
    """All of one response.

    `person_map`: person number by printed tag (None: the tags are the numbers). `package`: used instead of summarising
    (then `summariser` may be None). `done`: ids of claims to leave out. `grounder` None: nothing is looked for; claims
    that need masks then fail. `on_package` and `on_claim` are called as each is finished.

    A claim that cannot be checked gets the verdict "error". Raises what `progress` raises, MediaError (the video cannot
    be read), OSError (the disk is full), and the summariser's BrokenOutput.
    """
    prepare(work, plan_of(response, footage, clock, person_map, summariser, grounder, package))
    made = package or _package(response, summariser, clock, vocabulary_of(grounder), work, progress)
    if on_package:
        on_package(made)
    audited = Audited(made)
    wanted = [claim for claim in made.claims if claim.id not in done]
    for position, claim in enumerate(wanted):

        def share(part: float, position: int = position) -> None:
            progress("claims", (position + part) / len(wanted))

        queries = queries_of(claim, person_map)
        found = _stored(work, claim, queries) or _looked_for(claim, queries, footage, clock, grounder, share)
        _store(work, claim, queries, *found)
        checked = judged(claim, queries, *found, truth=truth, clock=clock, person_map=person_map, rules=rules)
        audited.checked.append(checked)
        if on_claim:
            on_claim(claim, queries, checked.window, checked.grounded, checked.verdict)
    progress("claims", 1.0)
    return audited


def check(
    claim: Claim,
    queries: list[Query],
    *,
    footage: Footage,
    clock: ClipClock,
    person_map: Mapping[int, int] | None,
    grounder: Grounder | None,
    truth: Truth,
    progress: Callable[[float], None] = lambda share: None,
    rules: Rules = RULES,
) -> Checked:
    """One claim, looked for with these queries and judged; nothing is stored. For another wording: the claim with its
    phrases changed and `queries_of` that, or further queries of role "reprompt", which decide nothing."""
    found = _looked_for(claim, queries, footage, clock, grounder, progress)
    return judged(claim, queries, *found, truth=truth, clock=clock, person_map=person_map, rules=rules)


def judged(
    claim: Claim,
    queries: list[Query],
    window: Window | None,
    grounded: Grounded | None,
    why: str = "",
    *,
    truth: Truth,
    clock: ClipClock,
    person_map: Mapping[int, int] | None,
    rules: Rules = RULES,
) -> Checked:
    """A claim with its verdict on what was found. `why`: a sentence where looking failed as a whole."""
    if why:
        return Checked(claim, queries, window, grounded, failed(why))
    try:
        verdict = judge(
            claim, queries=queries, window=window, grounded=grounded, truth=truth, clock=clock, persons=person_map,
            rules=rules,
        )  # fmt: skip
    except Exception as error:  # one claim that cannot be judged is no reason to lose the others
        verdict = failed(f"The claim could not be judged: {sentence(error)}")
    return Checked(claim, queries, window, grounded, verdict)


# ---------------------------------------------------------------------------------------------------------------------
# Looking


Found = tuple[Window | None, Grounded | None, str]


def _looked_for(
    claim: Claim,
    queries: list[Query],
    footage: Footage,
    clock: ClipClock,
    grounder: Grounder | None,
    share: Callable[[float], None],
) -> Found:
    """Window, what was found, and a sentence where all of it failed."""
    share(0.0)
    if not queries:
        return None, None, ""
    window = window_of(claim, clock, footage.index, footage.shots)
    if grounder is None:
        return window, None, "No grounder was given to look for it."
    watched = Watched(share)
    try:
        return window, ground(grounder, footage, queries, window, watched), ""
    except (MediaError, Cancelled):
        raise
    except Exception as error:  # whatever a backend does, the other claims go on
        if watched.raised is not None:
            raise watched.raised from None
        if isinstance(error, OSError) and not isinstance(error, ConnectionError | TimeoutError):
            raise
        return window, None, f"The grounder {grounder.name} failed: {sentence(error)}"


def ground(
    grounder: Grounder, footage: Footage, queries: Sequence[Query], window: Window, share: Callable[[float], None]
) -> Grounded:
    """What the grounder finds; phrases that it does not know or cannot take are not handed to it."""
    said: dict[str, tuple[Any, str]] = {}
    for query in queries:
        if query.role == "person":
            continue
        if not grounder.knows(query.text):
            said[query.id] = "not_in_vocabulary", f"“{query.text}” is not in the vocabulary of {grounder.name}."
        elif refused := grounder.refuses(query.text):
            said[query.id] = "skipped", refused
    left = [query for query in queries if query.id not in said]
    if left:
        grounded = grounder.ground(footage, left, window, progress=share)
    else:
        grounded = Grounded(masks_file.empty((footage.height, footage.width)), {})
    for id, (status, why) in said.items():
        grounded.status[id], grounded.sentence[id] = status, why
    for query in left:
        if query.id not in grounded.status:
            grounded.status[query.id] = "error"
            grounded.sentence[query.id] = f"The grounder {grounder.name} said nothing of it."
    return grounded


def vocabulary_of(grounder: Grounder | None) -> Vocabulary | None:
    """What negative phrases are chosen from, so that this grounder can look for them."""
    return None if grounder is None else Vocabulary(open=grounder.knows(UNLISTED))


class Watched:
    """A progress function that remembers what it raised: that is the caller's, no failure of the grounder."""

    def __init__(self, share: Callable[[float], None]) -> None:
        self.share, self.raised = share, None

    raised: BaseException | None

    def __call__(self, part: float) -> None:
        try:
            self.share(part)
        except BaseException as error:
            self.raised = error
            raise


def sentence(error: BaseException) -> str:
    """What an exception says, in one sentence."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith((".", "!", "?")) else f"{text}."


# ---------------------------------------------------------------------------------------------------------------------
# The work folder


def plan_of(
    response: Response,
    footage: Footage,
    clock: ClipClock,
    person_map: Mapping[int, int] | None,
    summariser: Summariser | None,
    grounder: Grounder | None,
    package: Package | None,
) -> dict[str, Any]:
    """All that decides what is found, as JSON."""
    return {
        "v": 1,
        "response": {
            "text": hashlib.sha256(response.text.encode("utf-8", "surrogatepass")).hexdigest(),
            "question": response.question,
            "options": list(response.options),
            "answer": response.answer,
        },
        "video": {
            "file": _head(footage.video),
            "times": _hash(footage.index.zeroed),
            "frames": footage.index.frames,
            "size": [footage.height, footage.width],
            "shots": footage.shots,
        },
        "people": _digest(footage),
        "clip": [clock.start, clock.end, clock.end_s, _hash(clock.frame), _hash(clock.seconds)],
        "persons": None if person_map is None else sorted([tag, number] for tag, number in person_map.items()),
        "summariser": None if summariser is None else summariser.describe(),
        "grounder": None if grounder is None else registry.describe(grounder),
        "package": None if package is None else packages.to_json(package),
    }


def _head(video: Path) -> list[Any]:
    """What tells one file from another without reading all of it; a copy of the same file is the same."""
    if not video.is_file():
        return []
    with video.open("rb") as file:
        return [video.stat().st_size, hashlib.sha256(file.read(HEAD)).hexdigest()]


def _hash(values: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def _digest(footage: Footage) -> str:
    digest = hashlib.sha256()
    if footage.people is not None:
        for column in (footage.people.frame, footage.people.person, footage.people.body, footage.people.face):
            digest.update(np.ascontiguousarray(column).tobytes())
    if footage.person_masks is not None:
        digest.update(footage.person_masks.read_bytes())
    return digest.hexdigest()


def prepare(work: Path, plan: dict[str, Any]) -> None:
    """Make the work folder; what was found with another plan goes, and what was left half-written."""
    path = work / PLAN
    plain = json.loads(json.dumps(plan))
    if not path.is_file() or json.loads(path.read_text()) != plain:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    sweep(work)
    if not path.is_file():
        _write(path, plan)


def _package(
    response: Response,
    summariser: Summariser | None,
    clock: ClipClock,
    vocabulary: Vocabulary | None,
    work: Path,
    progress: Progress,
) -> Package:
    path = work / PACKAGE
    if path.is_file():
        return packages.parse(json.loads(path.read_text()))
    if summariser is None:
        raise ValueError("Neither a summariser nor a package is given.")
    progress("summary", 0.0)
    made = summariser.summarise(
        response.text, question=response.question, options=response.options, answer=response.answer,
        duration_s=clock.end_s, vocabulary=vocabulary,
    )  # fmt: skip
    packages.check(made, response.text)
    _write(path, packages.to_json(made))
    progress("summary", 1.0)
    return made


def _store(work: Path, claim: Claim, queries: Sequence[Query], window: Any, grounded: Any, why: str) -> None:
    path = work / f"{claim.id}.json"
    if path.is_file() or why or _broken(grounded):
        return
    if grounded is not None:
        masks_file.write(path.with_suffix(".parquet"), grounded.masks, {"claim": claim.id})
    _write(path, {"queries": [asdict(q) for q in queries], **record(window, grounded)})


def _write(path: Path, tree: Any) -> None:
    """JSON as ASCII: a model's text may hold half characters, which UTF-8 has no bytes for."""
    write_whole(path, json.dumps(tree, indent=1).encode() + b"\n")


def _broken(grounded: Grounded | None) -> bool:
    return grounded is not None and "error" in grounded.status.values()


def record(window: Window | None, grounded: Grounded | None) -> dict[str, Any]:
    """Window and what was found, without the masks, as JSON."""
    return {
        "window": None
        if window is None
        else {"frame": window.frame.tolist(), "inside": window.inside.tolist(), "span": list(window.span)},
        "grounded": None
        if grounded is None
        else {
            "status": grounded.status,
            "sentence": grounded.sentence,
            "looked": grounded.looked.tolist(),
            "attributes_checked": {id: list(known) for id, known in grounded.attributes_checked.items()},
            "notes": grounded.notes,
        },
    }


def _stored(work: Path, claim: Claim, queries: Sequence[Query]) -> Found | None:
    path = work / f"{claim.id}.json"
    if not path.is_file():
        return None
    tree = json.loads(path.read_text())
    if tree["queries"] != json.loads(json.dumps([asdict(q) for q in queries])):
        path.unlink()
        return None
    window = tree["window"] and Window(
        np.array(tree["window"]["frame"], np.int64),
        np.array(tree["window"]["inside"], bool),
        (tree["window"]["span"][0], tree["window"]["span"][1]),
    )
    told = tree["grounded"]
    if told is None:
        return window, None, ""
    grounded = Grounded(
        masks_file.read(path.with_suffix(".parquet")),
        told["status"],
        told["sentence"],
        np.array(told["looked"], np.int64),
        {id: tuple(known) for id, known in told["attributes_checked"].items()},
        notes=told["notes"],
    )
    return window, grounded, ""
