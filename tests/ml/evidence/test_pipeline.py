"""One response from text to verdicts, stopped at any moment and resumed."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from ml.evidence import pipeline
from ml.evidence.grounding.protocol import Footage, Grounded, Masks, Query, Share, Window
from ml.evidence.package import Claim, Package
from ml.evidence.pipeline import Audited, audit_response
from ml.evidence.summarisers.rules import Rules as Summariser
from ml.evidence.verdicts import Verdict
from ml.media.errors import MediaError
from ml.progress import Cancelled, silent
from tests.ml.evidence.kit import CLOCK, INDEX, SHOTS, masks, truth

TEXT = (
    "<think>At 2 s there is a cup on the table. Person 1 is in the picture at 2 s. Person 2 lifts a kettle. "
    "At 3 s Person 1 looks at Person 2. There is not a giraffe. She is probably happy.</think><answer>B</answer>"
)


@dataclass
class Reply:
    text: str = TEXT
    question: str = "What is there?"
    options: tuple[str, ...] = ("A. A dog", "B. A cup")
    answer: str = "B"


@dataclass
class Finder:
    """Finds cups and Person 1 on every frame. `fail`: called with the queries of a claim before anything else."""

    name: ClassVar[str] = "finder"
    version: ClassVar[str] = "1"
    fail: Callable[[list[str]], None] = lambda ids: None
    asked: list[list[str]] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        return {"weights": {}}

    def knows(self, phrase: str) -> bool:
        return any(word in phrase for word in ("cup", "table", "giraffe"))

    def refuses(self, phrase: str) -> str:
        return "A table is too long." if "table" in phrase else ""

    def ground(self, footage: Footage, queries: Sequence[Query], window: Window, *, progress: Share) -> Grounded:
        self.asked.append([query.text or query.id for query in queries])
        self.fail(self.asked[-1])
        progress(0.5)
        rows = [
            (query.id, 1, window.frame.tolist(), 1 if query.role == "person" else -1, 0.9)
            for query in queries
            if query.text == "cup" or query.person == 1
        ]
        progress(1.0)
        status = {q.id: "ok" if q.id in {r[0] for r in rows} else "empty" for q in queries}
        return Grounded(masks(*rows), status, looked=window.frame, seconds={"look": 0.1})  # type: ignore[arg-type]


FOOTAGE = Footage(Path("clip.mp4"), INDEX, 4, 4, list(SHOTS))


def run(work: Path, grounder: Finder | None, response: Any = None, **more: Any) -> Audited:
    given = {"truth": truth([]), "progress": silent, "summariser": Summariser(), **more}
    return audit_response(
        response or cast(Any, Reply()),
        footage=FOOTAGE,
        clock=CLOCK,
        person_map=None,
        grounder=grounder,
        work=work,
        **given,
    )


def told(audited: Audited) -> list[tuple[str, str, str]]:
    return [(one.claim.id, one.verdict.name, one.verdict.rule) for one in audited.checked]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_response_becomes_verdicts(tmp_path: Path) -> None:
    grounder, packages, claims = Finder(), list[Package](), list[str]()
    stages: list[tuple[str, float]] = []

    def on_claim(claim: Claim, queries: list[Query], window: Any, grounded: Any, verdict: Verdict) -> None:
        claims.append(claim.id)
        assert bool(queries) == (window is not None) == (grounded is not None)

    audited = run(
        tmp_path / "w", grounder, on_package=packages.append, on_claim=on_claim,
        progress=lambda stage, share: stages.append((stage, share)),
    )  # fmt: skip
    by_text = {one.claim.text: one.verdict.rule for one in audited.checked}
    assert by_text["At 2 s there is a cup on the table"] == "partly_checked"  # the table was refused
    assert by_text["Person 1 is in the picture at 2 s"] == "person_there"
    assert by_text["Person 2 lifts a kettle"] == "mask_only"
    assert by_text["At 3 s Person 1 looks at Person 2"] == "no_coverage"
    assert by_text["There is not a giraffe"] == "not_missing"
    assert by_text["She is probably happy"] == "unseen"
    assert packages == [audited.package]
    assert claims == [claim.id for claim in audited.package.claims]
    assert not {"table", "kettle"} & {one for asked in grounder.asked for one in asked}
    shares = [share for stage, share in stages if stage == "claims"]
    assert shares == sorted(shares) and shares[-1] == 1.0


def test_a_second_run_looks_for_nothing_and_says_the_same(tmp_path: Path) -> None:
    first = run(tmp_path / "w", Finder())
    before, again = content(tmp_path / "w"), Finder()
    assert told(run(tmp_path / "w", again)) == told(first)
    assert again.asked == []
    assert content(tmp_path / "w") == before


def test_what_was_begun_with_something_else_begins_again(tmp_path: Path) -> None:
    run(tmp_path / "w", Finder())
    other = Finder()
    run(tmp_path / "w", other, Reply(text=TEXT.replace("cup", "mug")))
    assert other.asked
    assert len(list((tmp_path / "w").glob("c*.json"))) == len(run(tmp_path / "w", Finder()).package.claims)


def test_new_facts_are_judged_without_looking_again(tmp_path: Path) -> None:
    from tests.ml.evidence.kit import looks

    run(tmp_path / "w", Finder())
    again = Finder()
    gaze = looks((10, 50, 1, 2, True))
    audited = run(tmp_path / "w", again, truth=truth([], gaze=gaze))
    assert again.asked == []
    assert [v.rule for v in audited.verdicts.values()].count("stated") == 1


def test_done_claims_are_left_out_and_a_given_package_is_used(tmp_path: Path) -> None:
    package = run(tmp_path / "a", Finder()).package
    grounder = Finder()
    rest = run(tmp_path / "b", grounder, package=package, summariser=None, done={"c1", "c2"})
    assert [one.claim.id for one in rest.checked] == [c.id for c in package.claims[2:]]
    assert not any("cup" in asked for asked in grounder.asked)
    with pytest.raises(ValueError, match="Neither a summariser nor a package"):
        run(tmp_path / "c", grounder, summariser=None)


def test_a_grounder_that_fails_on_a_claim_fails_that_one_only_and_is_asked_again(tmp_path: Path) -> None:
    def fail(asked: list[str]) -> None:
        if "cup" in asked:
            raise RuntimeError("out of memory")

    whole = told(run(tmp_path / "good", Finder()))
    broken = told(run(tmp_path / "w", Finder(fail=fail)))
    changed = [(a, b) for a, b in zip(whole, broken, strict=True) if a != b]
    assert [b[1:] for _, b in changed] == [("error", "failed")]
    again = Finder()
    assert told(run(tmp_path / "w", again)) == whole
    assert again.asked == [["cup"]]


def test_without_a_grounder_claims_that_need_one_are_errors_not_absences(tmp_path: Path) -> None:
    names = {one.claim.text: one.verdict.name for one in run(tmp_path / "w", None).checked}
    assert names["At 2 s there is a cup on the table"] == "error"
    assert names["She is probably happy"] == "not_groundable"


@pytest.mark.parametrize("error", [Cancelled("stop"), MediaError("It cannot be read."), OSError(errno.ENOSPC, "full")])
def test_stopping_a_broken_video_and_a_full_disk_come_through(tmp_path: Path, error: Exception) -> None:
    def fail(asked: list[str]) -> None:
        raise error

    with pytest.raises(type(error)):
        run(tmp_path / "w", Finder(fail=fail))


def test_what_progress_raises_is_no_failure_of_the_grounder(tmp_path: Path) -> None:
    class Lost(Exception):
        pass

    def progress(stage: str, share: float) -> None:
        if stage == "claims" and share > 0.2:
            raise Lost("the job is gone")

    with pytest.raises(Lost):
        run(tmp_path / "w", Finder(), progress=progress)


def test_a_lost_connection_is_a_failed_claim(tmp_path: Path) -> None:
    def fail(asked: list[str]) -> None:
        raise TimeoutError("no answer in 60 s")

    names = {one.verdict.name for one in run(tmp_path / "w", Finder(fail=fail)).checked}
    assert names == {"error", "not_groundable"}


class Killed(BaseException):
    """As if the process ended here."""


class Countdown:
    """Raises Killed at the `at`-th step: a report of progress, or either side of a rename."""

    def __init__(self, at: int) -> None:
        self.left, self.finished = at, list[str]()

    def step(self, *_: object) -> None:
        self.left -= 1
        if not self.left:
            raise Killed

    def on_claim(self, claim: Claim, *_: object) -> None:
        self.finished.append(claim.id)


def test_killed_at_any_moment_nothing_finished_is_lost_and_nothing_half_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = Reply(text="At 2 s there is a cup. Person 1 is in the picture. She is probably happy.")
    whole = run(tmp_path / "whole", Finder(), reply)
    expected, files = told(whole), content(tmp_path / "whole")
    grounded = [one.claim.id for one in whole.checked if one.grounded is not None and one.grounded.looked.size]
    replace = Path.replace
    for at in range(1, 1000):
        work, ends = tmp_path / f"w{at}", Countdown(at)

        def renamed(self: Path, target: Path, ends: Countdown = ends) -> Path:
            ends.step()
            done = replace(self, target)
            ends.step()
            return done

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", renamed)
            try:
                run(work, Finder(), reply, progress=ends.step, on_claim=ends.on_claim)
            except Killed:
                pass
            else:
                break
        for path in work.glob("*.json"):
            json.loads(path.read_text())  # whatever is there is whole
        again = Finder()
        assert told(run(work, again, reply)) == expected
        assert content(work) == files
        assert len(again.asked) <= len(set(grounded) - set(ends.finished))
    assert at > 20


def test_a_full_disk_leaves_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = pipeline.masks_file.write, list[str]()

    def full(path: Path, masks: Masks, meta: dict[str, Any]) -> None:
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, masks, meta)
        written.append(path.stem)

    monkeypatch.setattr(pipeline.masks_file, "write", full)
    with pytest.raises(OSError, match="No space left"):
        run(tmp_path / "w", Finder())
    monkeypatch.setattr(pipeline.masks_file, "write", write)
    again, anew = Finder(), Finder()
    assert told(run(tmp_path / "w", again)) == told(run(tmp_path / "whole", anew))
    assert content(tmp_path / "w") == content(tmp_path / "whole")
    assert len(again.asked) == len(anew.asked) - 2


def test_half_characters_in_a_reply_do_no_harm(tmp_path: Path) -> None:
    audited = run(tmp_path / "w", Finder(), Reply(text="There is a cup\ud800 at 2 s."))
    assert told(run(tmp_path / "w", Finder(), Reply(text="There is a cup\ud800 at 2 s."))) == told(audited)


def test_one_claim_again_with_other_words(tmp_path: Path) -> None:
    from dataclasses import replace

    from ml.evidence.grounding.windows import queries_of

    audited = run(tmp_path / "w", Finder())
    claim = audited.package.claims[0]
    other = replace(claim, phrases=(replace(claim.phrases[0], text="red cup"),))
    checked = pipeline.check(
        other, queries_of(other), footage=FOOTAGE, clock=CLOCK, person_map=None, grounder=Finder(), truth=truth([])
    )
    assert checked.verdict.name in ("unsupported", "weak")
    assert checked.grounded is not None
