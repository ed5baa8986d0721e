"""A finished `python -m ml.evidence.run` folder becomes an audit: responses, packages, masks and verdicts as they are.

The video is found by its sha256. Persons of such a folder are tracks of the perception run it was made with: where it
was made with one, that must be the video's accepted run (`manage.py import-run`), and tracks become the persons they
belong to now. Reads Parquet: used by commands only. Nothing of the folder is trusted before it was checked.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from django.db import transaction

from ml.evidence import package as packages
from ml.evidence.columns import columns_of, of_claim, query_rows, store, stored
from ml.evidence.correctness import key_of
from ml.evidence.grounding.protocol import Grounded, Masks, Query
from ml.evidence.reading import parsed
from ml.formats.errors import FormatError
from webapp.audit import recording, services
from webapp.audit.models import MACHINE_VERDICTS, Response
from webapp.audit.recording import Found, Judged
from webapp.audit.services import Draft, Made
from webapp.audit.tags import tag_of
from webapp.events.gesturing import Snapshot
from webapp.exchange import evidence_lines as shapes
from webapp.lib import storage
from webapp.library.models import Project, Video
from webapp.tracks.models import Person

Row = dict[str, Any]
GROUNDINGS = "groundings"
LONGEST_RULE = 60
OTHERS = ("on_another", "stated_of_another")  # rules whose sentence may name somebody without a tag
NAME = re.compile(r"r\d{1,9}")  # of a response's masks file


@dataclass(frozen=True)
class Folder:
    """What the folder's files hold, by response id."""

    path: Path
    plan: Row
    responses: list[Row]
    packages: dict[str, Row]
    verdicts: dict[str, list[Row]]
    deletions: dict[str, Row]

    @classmethod
    def read(cls, path: Path) -> Folder:
        """Raises FormatError for a folder that is no finished run."""
        if not (path / "run.json").is_file():
            raise FormatError(f"{path} is not a finished `python -m ml.evidence.run` folder: it has no run.json.")
        plan = shapes.one(path / "run.json", shapes.RunShape)["plan"]
        verdicts: dict[str, list[Row]] = defaultdict(list)
        for row in shapes.lines(path / "verdicts.jsonl", shapes.VerdictShape):
            verdicts[row["response"]].append(row)
        made = {row["response"]: row for row in shapes.lines(path / "packages.jsonl", shapes.PackageShape)}
        deletions = path / "deletions.jsonl"
        deleted = shapes.lines(deletions, shapes.DeletionShape) if deletions.is_file() else []
        again = {row.pop("response"): row for row in deleted}
        responses = shapes.lines(path / "responses.jsonl", shapes.ResponseShape)
        if not responses:
            raise FormatError(f"{path} holds no responses.")
        return cls(path, plan, responses, made, dict(verdicts), again)


def import_folder(
    *,
    folder: Path,
    project: Project,
    name: str = "",
    summariser: str | None = None,
    grounder: str | None = None,
    raters: int = 2,
    deletion: bool = False,
) -> Made:
    """Bring the folder in; the same again is the same audit, and what it has already stays.

    Raises FormatError and Refused. A summariser or grounder other than the folder's own is refused: that would be
    another audit of its responses.
    """
    found = Folder.read(folder)
    try:
        own = found.plan["summariser"]["name"], found.plan["grounder"]["name"]
        for said, is_so in ((summariser, own[0]), (grounder, own[1])):
            if said is not None and said != is_so:
                raise FormatError(
                    f"{folder} was made with {is_so}, not with {said}; audit its responses.jsonl instead."
                )
        home = Home.of(found, project)
        drafts = [draft_of(row, home, found) for row in found.responses]
        made = services.create_audit(
            project=project,
            user=None,
            source=f"run:{hashlib.sha256((folder / 'run.json').read_bytes()).hexdigest()}",
            drafts=drafts,
            name=name or folder.name[: services.MOST_NAME],
            summariser=own[0],
            grounder=own[1],
            raters=raters,
            deletion=deletion,
        )
        rows = {response.digest: response for response in made.audit.responses.exclude(state=Response.State.DONE)}
        with services.audit_to_fill(made):
            for row, draft in zip(found.responses, drafts, strict=True):
                if draft.digest in rows:
                    with transaction.atomic():  # a response with all that was found of it, or none of it
                        adopt(rows[draft.digest], row, home, found)
    except recording.Gone as error:
        raise FormatError(f"The audit of {folder} is finished, or its video gone: nothing more comes in.") from error
    except (KeyError, TypeError, IndexError) as error:
        raise FormatError(f"{folder} does not hold what `python -m ml.evidence.run` writes: {error!r}.") from error
    return made


# ---------------------------------------------------------------------------------------------------------------------
# Whose tracks


@dataclass(frozen=True)
class Home:
    """The video, and whose its tracks are: raw track -> (start, end, number) of the person; number -> person's id."""

    video: Video
    spans: Mapping[int, Sequence[tuple[int, int, int]]]
    ids: Mapping[int, str]

    @classmethod
    def of(cls, found: Folder, project: Project) -> Home:
        sha256, samples = found.plan["video"]["sha256"], found.plan["video"]["run"]
        video = Video.objects.filter(project=project, blob=sha256).select_related("blob", "run").first()
        if video is None:
            raise FormatError(
                f"The video of {found.path} (sha256 {sha256[:12]}…) is not in the project {project.slug}."
            )
        if samples is None:
            return cls(video, {}, {})
        if video.run is None or _sha256(f"{video.run.folder}/samples.parquet") != samples:
            raise FormatError(
                f"{found.path} was made with another perception run than the accepted one of {video.name}; bring that "
                "run in first (manage.py import-run) and accept it."
            )
        ids = dict(Person.objects.filter(video=video, merged_into=None).values_list("number", "id"))
        return cls(video, Snapshot.of(video).spans, {number: str(id) for number, id in ids.items()})

    def person(self, track: int) -> str | None:
        """Id of the person who has most of a track."""
        lengths: dict[int, int] = defaultdict(int)
        for start, end, number in self.spans.get(track, ()):
            lengths[number] += end - start
        return self.ids.get(max(lengths, key=lambda n: (lengths[n], -n))) if lengths else None

    def number(self, track: int) -> int | None:
        """Number of the person who has most of a track."""
        owner = self.person(track)
        return next((number for number, id in self.ids.items() if id == owner), None)

    def query(self, query: Query) -> Query:
        """The query with a person's number in the place of a track."""
        number = None if query.person is None else self.number(query.person)
        return query if number is None else replace(query, person=number)

    def told(self, numbers: Any) -> Any:
        """A verdict's numbers with persons in the place of tracks; a track that is nobody's is -1, as where a mask lies
        on nobody."""
        if not self.spans or not isinstance(numbers, dict):
            return numbers
        found = {name: self.told(value) for name, value in numbers.items()}
        if isinstance(found.get("persons"), list):
            found["persons"] = sorted({self._plain(track) for track in found["persons"]})
        if isinstance(found.get("instead_roles"), list):
            found["instead_roles"] = [[role, self._plain(track)] for role, track in found["instead_roles"]]
        return found

    def _plain(self, track: Any) -> int:
        number = self.number(track) if isinstance(track, int) else None
        return -1 if number is None else number

    def numbers(self, masks: Masks) -> Masks:
        """The masks with person numbers in the place of tracks."""
        person = np.full(len(masks.person), -1, np.int64)
        for track, spans in self.spans.items():
            for start, end, number in spans:
                person[(masks.person == track) & (masks.frame >= start) & (masks.frame < end)] = number
        return replace(masks, person=person)


def _sha256(name: str) -> str:
    with storage.local(name) as path, path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def draft_of(row: Row, home: Home, found: Folder) -> Draft:
    start, end = row["clip_frames"]
    if not 0 <= start < end <= home.video.frames:
        raise FormatError(f"{found.path}: the clip of response {row['id']!r} does not lie in the video.")
    tags = printed(row)
    if not tags and row["rendering"] != "clean":
        tags = {str(track): track for track in home.spans}
    people = {tag: person for tag, track in tags.items() if (person := home.person(track)) is not None}
    read = parsed(row["text"])
    return Draft(
        video=home.video,
        start=start,
        end=end,
        rendering=row["rendering"],
        model=row["model"],
        text=row["text"],
        digest=hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest(),
        person_map=people,
        asked=row["question"],
        options=row["options"],
        answer=row["answer"] or read.answer,
        letters=list(read.letters),
        key=key_of(row["key"]),
        correct=row["correct"],
        repairs=list(read.repairs),
        provenance={
            "file": found.path.name,
            "id": row["id"],
            "plan": found.plan,
            **({"deletion": found.deletions.get(row["id"])} if found.plan.get("asker") else {}),
        },
    )


def printed(row: Row) -> dict[str, int]:
    """Track by printed tag, where a response says so."""
    return {tag_of(tag): int(tag_of(value)) for tag, value in row["person_map"].items()}


# ---------------------------------------------------------------------------------------------------------------------
# What was found


def adopt(response: Response, row: Row, home: Home, found: Folder) -> None:
    """Keep package, masks and verdicts of one response. Raises FormatError."""
    made = found.packages[row["id"]]
    if "package" not in made:
        recording.fail_response(response_id=response.id, error=str(made["error"]), raw=str(made.get("raw", "")))
        return
    package = packages.parse(made["package"])
    packages.check(package, row["text"])
    lines = {line["claim"]: line for line in found.verdicts.get(row["id"], [])}
    if set(lines) != {claim.id for claim in package.claims}:
        raise FormatError(f"{found.path}: response {row['id']!r} has claims without a verdict.")
    spans = {claim.id: lines[claim.id]["numbers"].get("span") for claim in package.claims}
    timed = {claim.id: spans[claim.id] for claim in package.claims if claim.time.start_s is not None}
    recording.keep_package(
        response_id=response.id,
        made=package,
        tree=made["package"],
        windows={name: span for name, span in timed.items() if span},
        provenance={**package.summariser, "rationale_sha256": package.rationale_sha256},
    )
    if not NAME.fullmatch(row["name"]):
        raise FormatError(f"{found.path}: {row['name']!r} is no name of a masks file.")
    path = found.path / GROUNDINGS / f"{row['name']}.parquet"
    masks = home.numbers(stored(path)) if path.is_file() else None
    check_frames(row, lines, masks, found)
    about = {"grounder": found.plan["grounder"], "run": str(home.video.run_id), "video": home.video.blob_id}
    for claim in package.claims:
        line = lines[claim.id]
        told = judged_of(line, found, home, printed(row))
        kept = found_of(response, claim.id, line, masks, about, home)
        recording.keep_claim(response_id=response.id, name=claim.id, found=kept, judged=told)
    recording.keep_response(response_id=response.id)


def check_frames(row: Row, lines: Mapping[str, Row], masks: Masks | None, found: Folder) -> None:
    """Raises FormatError where something was seen on a frame that the response's clip does not show."""
    start, end = row["clip_frames"]
    told = [frame for line in lines.values() for frame in (line["grounded"] or {}).get("looked", ())]
    frames = np.concatenate([np.array(told, np.int64), masks.frame if masks is not None else np.zeros(0, np.int64)])
    if ((frames < start) | (frames >= end)).any():
        raise FormatError(f"{found.path}: something was found outside the clip of response {row['id'][:60]!r}.")
    if masks is None and any("ok" in (line["grounded"] or {}).get("status", {}).values() for line in lines.values()):
        raise FormatError(f"{found.path}: the masks of response {row['id'][:60]!r} are missing.")
    for line in lines.values():
        if line["window"] is not None and len(line["window"]["frame"]) != len(line["window"]["inside"]):
            raise FormatError(f"{found.path}: the window of {line['claim']} of {row['id'][:60]!r} has two lengths.")


def judged_of(line: Row, found: Folder, home: Home, tags: Mapping[str, int]) -> Judged:
    """The verdict of a line, its numbers with persons in the place of tracks. Its sentence names people by their tags;
    somebody without one is there by the run's track, which it then says. Raises FormatError for what is none."""
    name, rule, sentence, numbers = (line[part] for part in ("verdict", "rule", "sentence", "numbers"))
    texts = isinstance(rule, str) and len(rule) <= LONGEST_RULE and isinstance(sentence, str)
    if name not in MACHINE_VERDICTS or not texts or not isinstance(numbers, dict):
        raise FormatError(f"{found.path}: claim {line['claim']!r} of {line['response']!r} has no verdict of ours.")
    if tags and rule.endswith(OTHERS):

        def named(match: re.Match[str]) -> str:
            return match[0] if match[1] in tags else f"track {match[1]} of the run"

        sentence = re.sub(r"Person (\d+)", named, sentence)
    return Judged(name, rule, sentence, home.told(numbers), {"rules": found.plan.get("rules", {})})


def found_of(response: Response, name: str, line: Row, masks: Masks | None, about: Row, home: Home) -> Found | None:
    """What was found of one claim, its masks stored beside the response."""
    queries = [home.query(Query(**query)) for query in line["queries"]]
    if not queries:
        return None
    told, window = line["grounded"], line["window"]
    if told is None or window is None:
        return Found(queries=query_rows(queries, None), provenance=about)
    own = of_claim(masks, name)
    grounded = Grounded(own, told["status"], told["sentence"], np.array(told["looked"], np.int64))
    grounded.attributes_checked = {id: tuple(words) for id, words in told["attributes_checked"].items()}
    packed_name = columns_name = ""
    if len(own.frame):
        with tempfile.TemporaryDirectory(prefix="sightline-") as scratch:
            packed, columns = Path(scratch) / f"{name}.parquet", Path(scratch) / f"{name}.json"
            store(packed, own, services.stored({"claim": name, **about}))
            columns.write_text(json.dumps(columns_of(own)))
            for path in (packed, columns):
                storage.put(path, f"{response.folder}/{path.name}")
        packed_name, columns_name = packed.name, columns.name
    return Found(
        queries=query_rows(queries, grounded),
        looked=told["looked"],
        inside=np.isin(told["looked"], np.array(window["frame"])[np.array(window["inside"], bool)]).tolist(),
        notes=told["notes"],
        provenance={**about, "window": window["frame"], "size": list(own.size) if len(own.frame) else None},
        masks=packed_name,
        columns=columns_name,
    )
