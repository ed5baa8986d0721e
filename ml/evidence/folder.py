"""An audit of one video's responses in a folder, without a studio; `python -m ml.evidence.run` is its command.

The folder, once finished (the same input gives the same bytes):
  run.json               {"v", "plan", "counts"}; written last. `plan`: all that decides the rest
  responses.jsonl        one response a line, as it was read, with its "id" and "correct" (null: not known)
  packages.jsonl         {"response", "package"} or {"response", "error", "raw"}
  groundings/ID.parquet  masks of a response (`ml.media.masks`); its queries are named "c1/phrase-1"
  verdicts.jsonl         {"response", "claim", "verdict", "rule", "sentence", "numbers", "queries", "window",
                         "grounded"}; the last two null where nothing was looked for
  deletions.jsonl        records of the deletion test, where it was asked for
  report.json, .html, .csv
Until then `work` holds what is finished of each response (`ml.evidence.pipeline`); the same call goes on there. Ids in
file names are counted, never taken from the input.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from ml.evidence import package as packages
from ml.evidence import report
from ml.evidence.correctness import is_correct, key_of
from ml.evidence.deletion import Asker, ask_again
from ml.evidence.grounding import registry
from ml.evidence.grounding.protocol import Footage, Grounder
from ml.evidence.pipeline import Audited, Checked, audit_response, record, sentence
from ml.evidence.reading import parsed
from ml.evidence.statements import GazeLooks, Truth
from ml.evidence.summarisers.protocol import BrokenOutput, Summariser
from ml.evidence.verdicts import RULES
from ml.formats import responses as response_files
from ml.formats.errors import FormatError
from ml.formats.hashing import sha256_of
from ml.media import masks as masks_file
from ml.media.clips import plan
from ml.media.files import sweep, write_whole
from ml.media.index import FrameIndex
from ml.media.probe import probe
from ml.perception import shots as cutting
from ml.perception.gestures import run as gesture_run
from ml.perception.run import index_of
from ml.progress import Progress
from ml.questions.clip import RENDERINGS, ClipClock, frames_of
from ml.social.scene import Scene
from ml.text import persons

if TYPE_CHECKING:
    from ml.formats.responses import Response

RUN, WORK, GROUNDINGS = "run.json", "work", "groundings"


@dataclass(frozen=True, eq=False)
class Video:
    """The video with all that is known of it."""

    footage: Footage
    truth: Truth
    about: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Asked:
    """One response with its own name, place in the file, clock, and whom its tags mean (None: tags are the numbers)."""

    name: str
    id: str
    response: Response
    clock: ClipClock
    people: dict[int, int] | None


def audit(
    *,
    video: Path,
    responses: Path,
    out: Path,
    summariser: Summariser,
    grounder: Grounder,
    perception: Path | None,
    progress: Progress,
    asker: Asker | None = None,
) -> dict[str, Any]:
    """All of it; what run.json holds. Raises FormatError, MediaError and ValueError with a sentence for bad input,
    OSError for a full disk, and what `progress` raises; then the same call goes on where this one stopped. `asker`: a
    model for the deletion test (`ml.evidence.deletion`)."""
    given = of_video(read(responses), video)
    out.mkdir(parents=True, exist_ok=True)
    work = out / WORK
    work.mkdir(exist_ok=True)
    sweep(work)
    seen = opened(video, perception, work, progress)
    asked = [of(response, n, seen.footage) for n, response in enumerate(given, 1)]
    unique(asked)
    wanted = plan_of(asked, seen, summariser, grounder, asker)
    finished = done_before(out, wanted)
    if finished is not None:
        shutil.rmtree(work, ignore_errors=True)
        return finished
    (out / RUN).unlink(missing_ok=True)
    (out / GROUNDINGS).mkdir(exist_ok=True)
    sweep(out / GROUNDINGS)
    parts = []
    for position, one in enumerate(asked):

        def share(stage: str, part: float, position: int = position) -> None:
            done = 0.1 * part if stage == "summary" else 0.1 + 0.9 * part
            progress("responses", (position + done) / len(asked))

        parts.append(part_of(one, seen, summariser, grounder, asker, work / one.name, out, share))
    progress("responses", 1.0)
    counts = write(out, parts, wanted)
    shutil.rmtree(work, ignore_errors=True)
    return counts


# ---------------------------------------------------------------------------------------------------------------------
# What is given


def read(path: Path) -> list[Response]:
    """Every response of the file. Raises FormatError naming the place, also where there is none."""
    found = list(response_files.read(path))
    if not found:
        raise FormatError(f"{path} holds no response.")
    return found


def of_video(found: Sequence[Response], video: Path) -> list[Response]:
    """Those about this video: it is named by its file's name, with or without ending and folders, or not at all."""
    names = {video.name.casefold(), video.stem.casefold(), ""}
    own = [one for one in found if Path(one.video.replace("\\", "/")).name.casefold() in names]
    if not own:
        others = ", ".join(sorted({one.video for one in found})[:3])
        raise FormatError(f"None of the {len(found)} responses is about {video.name}; they name {others}.")
    return own


def opened(video: Path, perception: Path | None, work: Path, progress: Progress) -> Video:
    """The video, and who is where and looks where by a run's folder. Raises MediaError, ValueError."""
    index, digest = _index(video, work, progress)
    if perception is None:
        facts = probe(video)
        cuts = [] if index.changes is None else cutting.peaks(index.changes).tolist()
        footage = Footage(video, index, facts.width, facts.height, cutting.shots(cuts, index))
        return Video(footage, Truth.of(index, footage.shots), {"sha256": digest, "run": None})
    found, sha256 = gesture_run.footage_of(video, index, perception)
    if sha256 != digest:
        raise ValueError(f"The run in {perception} is of another video than {video}.")
    masks = perception / "masks.parquet"
    footage = Footage(
        video, index, found.width, found.height, found.shots, found.people, masks if masks.is_file() else None
    )
    truth = Truth.of(index, footage.shots, looks=looks_of(perception / "samples.parquet", footage), people=found.people)
    return Video(footage, truth, {"sha256": digest, "run": sha256_of(perception / "samples.parquet")})


def _index(video: Path, work: Path, progress: Progress) -> tuple[FrameIndex, str]:
    """The frame index and the file's sha256; kept in `work`, since it takes a decoding of the whole video."""
    digest = sha256_of(video)
    kept = work / f"index-{digest[:16]}.npz"
    if kept.is_file():
        return FrameIndex.load(kept), digest
    index = index_of(video, progress)
    index.save(kept)
    return index, digest


def looks_of(samples: Path, footage: Footage) -> GazeLooks:
    """Who looks at whom by a run's samples: all estimates; a person is a track."""
    table = pq.read_table(samples)
    columns = {name: np.asarray(table[name].to_numpy(zero_copy_only=False)) for name in table.column_names}
    tracks = np.unique(columns["track"]).astype(np.int64)
    rows = np.stack([tracks, np.zeros_like(tracks), np.full_like(tracks, footage.index.frames), tracks], 1)
    scenes = Scene.each_shot(
        columns, person_of=rows, seconds=footage.index.seconds, aspect=footage.width / footage.height,
        shot_ends=[end for _, end in footage.shots],
    )  # fmt: skip
    return GazeLooks.of_scenes(scenes)


def of(response: Response, n: int, footage: Footage) -> Asked:
    """A response with its clip's clock and people. Raises FormatError naming the response's place."""
    place = response.place or f"response {n}"
    start, end = span_of(response.clip_start, response.clip_end, footage.index, place)
    if response.rendering not in RENDERINGS:
        raise FormatError(f"{place}: there is no rendering {response.rendering!r}; there is {', '.join(RENDERINGS)}.")
    people = people_of(response.person_map, response.rendering, place)
    name = f"r{n:05d}"
    return Asked(
        name, str(response.id or name), response, clock_of(start, end, response.rendering, footage.index), people
    )


def span_of(first: float | None, last: float | None, index: FrameIndex, place: str) -> tuple[int, int]:
    """Source frames of a clip's seconds; None: from the first frame, to the last."""
    try:
        return frames_of(index.zeroed, first, last)
    except ValueError as error:
        raise FormatError(f"{place}: {error}.") from error


def clock_of(start: int, end: int, rendering: str, index: FrameIndex) -> ClipClock:
    """The clock of a clip that is cut now."""
    shown = plan(index, start, end, rendering)
    return ClipClock(shown.frame, shown.index.zeroed[:-1], start, end, shown.index.duration_s)


def people_of(person_map: Mapping[str, Any], rendering: str, place: str) -> dict[int, int] | None:
    """Person number by tag. Without a map the tags of a tagged clip are the numbers; a clean clip prints none."""
    if not person_map:
        return {} if rendering == "clean" else None
    return {_number(tag, place): _number(value, place) for tag, value in person_map.items()}


def _number(value: Any, place: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    found = persons.in_order(str(value)) or ([int(value)] if isinstance(value, str) and value.strip().isdigit() else [])
    if len(found) != 1:
        raise FormatError(f"{place}: person_map names {value!r}, which is no number of a person.")
    return int(found[0])


def unique(asked: Iterable[Asked]) -> None:
    """Raises FormatError where two responses have one id."""
    for id, count in Counter(one.id for one in asked).items():
        if count > 1:
            raise FormatError(f"{count} responses have the id {id!r}.")


def plan_of(
    asked: Sequence[Asked], seen: Video, summariser: Summariser, grounder: Grounder, asker: Asker | None = None
) -> dict[str, Any]:
    """All that decides what comes out, as JSON."""
    listed = json.dumps([line_of(one) for one in asked], sort_keys=True)
    return {
        "video": seen.about | {"frames": seen.footage.index.frames, "size": [seen.footage.height, seen.footage.width]},
        "responses": {"count": len(asked), "sha256": hashlib.sha256(listed.encode()).hexdigest()},
        "summariser": summariser.describe(),
        "grounder": registry.describe(grounder),
        "rules": asdict(RULES),
        "asker": None if asker is None else asker.describe(),
    }


def done_before(out: Path, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an earlier call finished with the same input."""
    try:
        found: dict[str, Any] = json.loads((out / RUN).read_text())
    except (OSError, ValueError):
        return None
    return found if found.get("plan") == json.loads(json.dumps(wanted)) else None


# ---------------------------------------------------------------------------------------------------------------------
# One response


@dataclass(frozen=True)
class Part:
    """What one response adds to the files: a line each, those of its claims, and its row of the report."""

    response: dict[str, Any]
    package: dict[str, Any]
    verdicts: list[dict[str, Any]]
    row: dict[str, Any]


def part_of(
    one: Asked,
    seen: Video,
    summariser: Summariser,
    grounder: Grounder,
    asker: Asker | None,
    work: Path,
    out: Path,
    progress: Progress,
) -> Part:
    """Everything of one response; its masks are written. What cannot be read is part of the result."""
    try:
        audited = audit_response(
            one.response, footage=seen.footage, clock=one.clock, person_map=one.people, summariser=summariser,
            grounder=grounder, truth=seen.truth, work=work, progress=progress,
        )  # fmt: skip
    except BrokenOutput as error:
        broken = {"response": one.id, "error": sentence(error), "raw": error.raw}
        return Part(line_of(one), broken, [], row_of(one, None, sentence(error)))
    masks = joined(audited)
    if masks is not None:
        about = {"response": one.id, "grounder": registry.describe(grounder)}
        masks_file.write(out / GROUNDINGS / f"{one.name}.parquet", masks, about)
    lines = [verdict_line(one, checked) for checked in audited.checked]
    package = {"response": one.id, "package": packages.to_json(audited.package)}
    row = row_of(one, audited)
    if asker is not None:
        row["deletion"] = ask_again(
            audited.checked, question=one.response.question, options=one.response.options, footage=seen.footage,
            clock=one.clock, asker=asker, work=work,
        )  # fmt: skip
    return Part(line_of(one), package, lines, row)


def joined(audited: Audited) -> masks_file.Masks | None:
    """All masks of a response, their queries named with the claim."""
    parts = [
        replace(one.grounded.masks, query=np.array([f"{one.claim.id}/{q}" for q in one.grounded.masks.query], np.str_))
        for one in audited.checked
        if one.grounded is not None
    ]
    drawn = [part for part in parts if len(part.frame)] or parts[:1]  # an empty one need not have the grounder's size
    return masks_file.joined(drawn) if drawn else None


def line_of(one: Asked) -> dict[str, Any]:
    """The response as JSON: the fields it was read with, its id, file and clip in frames, and whether it is right."""
    response = one.response
    return {
        "id": one.id,
        "name": one.name,
        "video": response.video,
        "clip_start": response.clip_start,
        "clip_end": response.clip_end,
        "clip_frames": [one.clock.start, one.clock.end],
        "rendering": response.rendering,
        "person_map": dict(response.person_map),
        "question": response.question,
        "options": list(response.options),
        "answer": response.answer,
        "model": response.model,
        "text": response.text,
        "key": response.key,
        "correct": right(response),
        "extra": dict(response.extra),
    }


def right(response: Response) -> bool | None:
    """Whether the answer is the key's; None without a key."""
    letters = parsed(response.text).letters
    return is_correct(key_of(response.key), answer=response.answer, letters=letters, options=response.options)


def verdict_line(one: Asked, checked: Checked) -> dict[str, Any]:
    verdict = checked.verdict
    return {
        "response": one.id,
        "claim": checked.claim.id,
        "verdict": verdict.name,
        "rule": verdict.rule,
        "sentence": verdict.sentence,
        "numbers": verdict.numbers,
        "queries": [asdict(query) for query in checked.queries],
        **record(checked.window, checked.grounded),
    }


def row_of(one: Asked, audited: Audited | None, error: str = "") -> dict[str, Any]:
    """The response's row of the report (`ml.evidence.metrics`)."""
    response = one.response
    claims = [] if audited is None else audited.checked
    return {
        "id": one.id,
        "model": response.model,
        "set": "",
        "video": response.video,
        "question": f"{one.clock.start}-{one.clock.end} {response.question}",
        "correct": right(response),
        "error": error,
        "repairs": 0 if audited is None else len(audited.package.repairs),
        "claims": [
            {
                "id": each.claim.id,
                "type": each.claim.type,
                "polarity": each.claim.polarity,
                "text": each.claim.text,
                "load_bearing": each.claim.load_bearing,
                "groundable": each.claim.groundable,
                "verdict": each.verdict.name,
                "rule": each.verdict.rule,
                "sentence": each.verdict.sentence,
                "numbers": each.verdict.numbers,
                "human": {},
                "adjudicated": None,
                "relevance": {},
                "iou": None,
            }
            for each in claims
        ],
        "deletion": None,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Files


def write(out: Path, parts: Sequence[Part], wanted: dict[str, Any]) -> dict[str, Any]:
    """Every file of the folder but the masks, run.json last; what that holds."""
    _lines(out / "responses.jsonl", [part.response for part in parts])
    _lines(out / "packages.jsonl", [part.package for part in parts])
    _lines(out / "verdicts.jsonl", [line for part in parts for line in part.verdicts])
    again = [{"response": part.row["id"], **part.row["deletion"]} for part in parts if part.row["deletion"]]
    _lines(out / "deletions.jsonl", again)
    about = {
        "summariser": f"{wanted['summariser']['name']} {wanted['summariser']['version']}",
        "grounder": f"{wanted['grounder']['name']} {wanted['grounder']['version']}",
        "video (sha256)": wanted["video"]["sha256"],
        "notes": packages.beyond([part.package.get("package", {}).get("dropped", 0) for part in parts]),
    }
    tree = report.build([part.row for part in parts], about=about)
    _json(out / "report.json", tree)
    write_whole(out / "report.html", report.html(tree).encode("utf-8", "replace"))
    write_whole(out / "report.csv", report.csv(tree).encode("utf-8", "replace"))
    verdicts = Counter(line["verdict"] for part in parts for line in part.verdicts)
    counts = {
        "responses": len(parts),
        "broken": sum("error" in part.package for part in parts),
        "claims": sum(len(part.verdicts) for part in parts),
        "verdicts": dict(sorted(verdicts.items())),
    }
    found = {"v": 1, "plan": wanted, "counts": counts}
    _json(out / RUN, found)
    return found


def _lines(path: Path, rows: Iterable[Any]) -> None:
    """JSON lines in ASCII: a model's text may hold half characters."""
    write_whole(path, b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def _json(path: Path, tree: Any) -> None:
    write_whole(path, json.dumps(tree, indent=1).encode() + b"\n")
