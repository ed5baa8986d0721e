"""The model detector against a scripted endpoint over real HTTP: rounds, bad critics, kills, what is shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from ml.endpoint import BrokenReply, EndpointError, NotConfigured
from ml.media.index import FrameIndex
from ml.perception.gestures import mllm, registry
from ml.perception.gestures.mllm import Mllm
from ml.perception.gestures.protocol import Footage, Found, Gesture, People
from ml.perception.gestures.run import detect
from ml.progress import Cancelled
from tests.ml.endpoint.server import KEY, Answer, Server, fails, said, says

FPS, SIZE = 10, (320, 180)
FRAMES = 120  # 12 s: two shots of 6 s


def gesture(start_s: float, end_s: float, **more: Any) -> dict[str, Any]:
    return {
        "type": "pointing", "initiator": "P4", "start_s": start_s, "end_s": end_s, "target_kind": "person",
        "target_person": "P7", "target_description": "the other one", "confidence": 0.9,
    } | more  # fmt: skip


def proposes(*gestures: dict[str, Any]) -> Answer:
    return says({"gestures": list(gestures)})


def reviews(*gestures: dict[str, Any], faults: int = 1) -> Answer:
    return says({"faults": [{"number": k, "fault": "no"} for k in range(1, faults + 1)], "gestures": list(gestures)})


@pytest.fixture(scope="module")
def footage(tmp_path_factory: pytest.TempPathFactory) -> Footage:
    """Grey pictures; P4 at the left in both shots, P7 at the right in the first only."""
    path = tmp_path_factory.mktemp("grey") / "grey.mp4"
    with av.open(str(path), "w") as file:
        stream: Any = file.add_stream("libx264", rate=FPS, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for _ in range(FRAMES):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((180, 320, 3), 120, np.uint8), format="bgr24")))
        file.mux(stream.encode(None))
    with av.open(str(path)) as file:
        stamps = [int(packet.pts or 0) for packet in file.demux(video=0) if packet.size]
        time_base = Fraction(file.streams.video[0].time_base or 0)
    pts = np.array(sorted([*stamps, stamps[-1] + stamps[1] - stamps[0]]), np.int64)
    looks = np.arange(0, FRAMES, 5)
    frame = np.concatenate([looks, looks[looks < 60]])
    person = np.concatenate([np.full(len(looks), 4), np.full((looks < 60).sum(), 7)])
    order = np.lexsort((person, frame))
    left = np.where(person == 4, 0.1, 0.6)
    body = np.stack([left, left * 0 + 0.4, left + 0.25, left * 0 + 0.95], axis=1).astype(np.float32)
    people = People(frame[order], person[order], body[order], np.full((len(frame), 4), np.nan, np.float32))
    return Footage(path, FrameIndex(pts, time_base), *SIZE, [(0, 60), (60, 120)], people)


Script = list[Answer] | Callable[[dict[str, Any]], Answer]


def look(footage: Footage, script: Script, work: Path, shot: int = 0, **config: Any) -> tuple[Found, Server]:
    with Server(script) as server:
        return Mllm(config=server.config(**config)).detect(
            footage, shot, work=work, progress=lambda share: None
        ), server


def spans(found: Found) -> list[tuple[str, int, int]]:
    return [(g.type, g.start, g.end) for g in found.gestures]


def test_a_list_without_faults_stands(footage: Footage, tmp_path: Path) -> None:
    """At 2 pictures per second of 10 fps: frames 0, 5, ..., 55; said from 1.0 to 2.0 s: frames 10 to 25."""
    found, server = look(footage, [proposes(gesture(1.0, 2.0)), reviews(gesture(1.0, 2.0), faults=0)], tmp_path)
    (one,) = found.gestures
    assert (one.type, one.start, one.end, one.initiator, one.target_person) == ("pointing", 10, 25, 4, 7)
    assert one.initiator_box == pytest.approx((0.1, 0.4, 0.35, 0.95))
    assert one.details["onset_after"] == 5 and one.details["offset_before"] == 25
    assert one.details["rounds"] == [[10, 25], [10, 25]] and len(one.details["prompt"]) == 64
    assert len(server.asked) == 2 and found.counts["calls"] == 2 and found.counts["pictures"] == 24
    assert [r["round"] for r in found.rounds] == [0, 1]


def test_an_empty_list_is_not_criticised(footage: Footage, tmp_path: Path) -> None:
    found, server = look(footage, [proposes()], tmp_path)
    assert found.gestures == [] and len(server.asked) == 1 and found.notes == []


def test_a_critic_that_swings_to_and_fro_ends_after_three_rounds(footage: Footage, tmp_path: Path) -> None:
    """It takes a gesture out, wants it back, takes another out: what is gone stays gone, and nothing comes back."""
    a, b, c = gesture(0.0, 1.0), gesture(1.5, 2.5, type="giving"), gesture(3.0, 4.0, type="showing")
    found, server = look(footage, [proposes(a, b, c), reviews(a, b), reviews(b, c), reviews(a, c)], tmp_path)
    assert found.gestures == [] and len(server.asked) == 4
    lists = [[g["type"] for g in r["gestures"]] for r in found.rounds]
    assert lists == [["pointing", "giving", "showing"], ["pointing", "giving"], ["giving"], []]
    assert (found.counts["deleted"], found.counts["added"]) == (3, 3)


def test_a_critic_that_narrows_for_ever_is_stopped(footage: Footage, tmp_path: Path) -> None:
    """From 0-5 s to 0-2 s (tIoU 5/11), to 0-0.5 s (2/5), to 0 s alone (1/2: stable, and the third round anyway)."""
    script = [proposes(gesture(0, 5)), reviews(gesture(0, 2.0)), reviews(gesture(0, 0.5)), reviews(gesture(0, 0))]
    found, server = look(footage, script, tmp_path)
    assert len(server.asked) == 4 and spans(found) == [("pointing", 0, 5)]
    assert found.gestures[0].details["rounds"] == [[0, 55], [0, 25], [0, 10], [0, 5]]


def test_it_stops_when_nothing_changes(footage: Footage, tmp_path: Path) -> None:
    """The critic finds faults but its list is as good as the same: 1.0-3.0 against 1.0-2.5 s, 4 of 5 pictures."""
    found, server = look(footage, [proposes(gesture(1.0, 3.0)), reviews(gesture(1.0, 2.5))], tmp_path)
    assert len(server.asked) == 2 and spans(found) == [("pointing", 10, 30)] and found.counts["tightened"] == 1


def test_a_critic_that_adds_and_widens_changes_nothing(footage: Footage, tmp_path: Path) -> None:
    wide, more = gesture(0.0, 5.0), gesture(1.0, 2.0, type="reaching", target_kind="object", target_person=None)
    found, server = look(footage, [proposes(gesture(1.0, 2.0)), reviews(wide, more)], tmp_path)
    assert spans(found) == [("pointing", 10, 25)]
    assert (found.counts["added"], found.counts["widened"], found.counts["tightened"]) == (1, 1, 0)
    assert len(server.asked) == 2


def test_a_list_without_faults_is_not_cut_however_short_it_comes_back(footage: Footage, tmp_path: Path) -> None:
    found, _ = look(footage, [proposes(gesture(1.0, 2.0)), reviews(faults=0)], tmp_path)
    assert spans(found) == [("pointing", 10, 25)] and found.counts["deleted"] == 0


def test_what_is_dropped_is_told(footage: Footage, tmp_path: Path) -> None:
    script = [proposes(gesture(1, 2, initiator="P9"), gesture(30, 31)), reviews(faults=0)]
    found, _ = look(footage, script, tmp_path)
    assert found.gestures == [] and found.counts["dropped"] == 2
    assert found.notes == [
        "Left out pointing of P9 at 1.00 to 2.00 s: nobody with the tag P9 is visible then.",
        "Left out pointing of P4 at 30.00 to 31.00 s: its times lie outside these pictures.",
    ]


def test_people_of_another_shot_are_not_visible(footage: Footage, tmp_path: Path) -> None:
    """P7 is gone with the cut at 6 s, although a look at 5.5 s saw them."""
    found, server = look(footage, [proposes(gesture(6.0, 7.0))], tmp_path, shot=1)
    assert found.gestures == [] and "nobody with the tag P7" in found.notes[0]
    assert "Tags in these pictures: P4. " in said(server.asked[0])


# --- an endpoint that misbehaves -------------------------------------------------------------------------------------


def test_all_that_can_go_wrong_at_once(footage: Footage, tmp_path: Path) -> None:
    script = [
        fails(500, "boom"),
        Answer(pause_s=0.8),
        fails(429, "slow down", Retry_After="0"),
        says('{"gestures": [{"type": "waving"'),  # broken JSON: asked once more
        proposes(gesture(1.0, 2.0), gesture(3.0, 4.0, type="giving")),
        Answer(body=b"<html>bad gateway</html>"),
        says({"faults": [], "gestures": [gesture(1.0, 2.0, type="waving")]}),  # not in the schema
        reviews(gesture(1.0, 2.0)),
        says({"faults": [], "gestures": []}, drip_s=0.001),
    ]
    found, server = look(footage, script, tmp_path, timeout_s=0.5, attempts=8)
    assert spans(found) == [("pointing", 10, 25)] and len(server.asked) == len(script)
    counts = found.counts
    assert (counts["calls"], counts["retries"], counts["reasked"], counts["deleted"]) == (5, 4, 2, 1)
    assert counts["tokens_in"] == 500 and counts["tokens_out"] == 50 and "cost" not in counts


def test_what_it_cost_is_counted(footage: Footage, tmp_path: Path) -> None:
    """Two replies of 100 + 10 tokens at 2 and 8 per million."""
    script = [proposes(gesture(1.0, 2.0)), reviews(faults=0)]
    found, _ = look(footage, script, tmp_path, price_in=2.0, price_out=8.0)
    assert found.counts["cost"] == pytest.approx(2 * (100 * 2 + 10 * 8) / 1e6)


def test_a_window_without_usable_words_proposes_nothing_and_says_so(footage: Footage, tmp_path: Path) -> None:
    found, _ = look(footage, [says("I cannot help with that.")] * 2, tmp_path)
    assert found.gestures == [] and found.counts["broken"] == 1
    assert "No usable reply about 0.00 to 5.50 s, where nothing is proposed" in found.notes[0]


def test_a_model_that_never_gives_usable_words_fails(footage: Footage, tmp_path: Path) -> None:
    with Server(lambda body: says("I cannot help with that.")) as server:
        detector = Mllm(config=server.config())
        for _ in range(2):
            detector.detect(footage, 0, work=tmp_path, progress=lambda share: None)
        with pytest.raises(BrokenReply, match="does not follow the schema"):
            detector.detect(footage, 0, work=tmp_path, progress=lambda share: None)


def test_it_can_be_stopped(footage: Footage, tmp_path: Path) -> None:
    calls: list[float] = []

    def progress(share: float) -> None:
        calls.append(share)
        if len(calls) > 20:
            raise Cancelled("stop")

    with Server([Answer(pause_s=60)]) as server, pytest.raises(Cancelled):
        Mllm(config=server.config(timeout_s=60)).detect(footage, 0, work=tmp_path, progress=progress)


# --- kills, and the whole video --------------------------------------------------------------------------------------


def test_a_killed_shot_asks_nothing_twice(footage: Footage, tmp_path: Path) -> None:
    first, second = proposes(gesture(1.0, 2.0)), reviews(faults=0)
    with pytest.raises(EndpointError, match="401"):
        look(footage, [first, fails(401)], tmp_path)  # the list was answered, the critic was not
    found, server = look(footage, [second], tmp_path)
    assert spans(found) == [("pointing", 10, 25)] and len(server.asked) == 1
    assert found.counts["calls"] == 2 and len(found.rounds) == 2  # what was paid before the kill counts too


def test_finished_shots_are_not_asked_about_again(footage: Footage, tmp_path: Path) -> None:
    """Killed within the second shot; the next attempt asks about that only."""
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> Answer:
        asked.append(said(body))
        return proposes()

    def progress(stage: str, share: float) -> None:
        if share > 0.5 and len(asked) == 2:
            raise Cancelled("kill")

    with Server(answer) as server:
        detector = Mllm(config=server.config())
        with pytest.raises(Cancelled):
            detect(footage=footage, detector=detector, work=tmp_path / "w", sha256="ab", progress=progress)
        detect(footage=footage, detector=detector, work=tmp_path / "w", sha256="ab")
        assert len(asked) in (2, 3)  # the second shot once more only if its answer had not arrived
        before = len(asked)
        whole = detect(footage=footage, detector=detector, work=tmp_path / "w", sha256="ab")
    assert len(asked) == before and whole["detector"]["origin"] == "model" and len(whole["shots"]) == 2
    assert KEY not in json.dumps(whole) and "127.0.0.1" not in json.dumps(whole)


def test_the_settings_say_what_decides_the_result_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("URL", "https://example.org/v1"), ("MODEL", "m-1"), ("KEY", KEY)):
        monkeypatch.setenv(f"SIGHTLINE_ENDPOINT_{name}", value)
    told = registry.describe(registry.load("mllm"))
    assert told["settings"]["model"] == "m-1" and len(told["settings"]["prompt"]) == 12
    assert KEY not in json.dumps(told) and "example.org" not in json.dumps(told)


def test_without_an_endpoint_it_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SIGHTLINE_ENDPOINT_URL", raising=False)
    with pytest.raises(NotConfigured, match="No multimodal endpoint is set up here"):
        registry.load("mllm")


# --- what is shown --------------------------------------------------------------------------------------------------


def pictures(body: dict[str, Any]) -> list[NDArray[Any]]:
    urls = [part["image_url"]["url"] for part in body["messages"][1]["content"] if part["type"] == "image_url"]
    data = [np.frombuffer(base64.b64decode(url.partition(",")[2]), np.uint8) for url in urls]
    found = [cv2.imdecode(one, cv2.IMREAD_COLOR) for one in data]
    return [np.asarray(picture) for picture in found]


def test_the_pictures_carry_tags_and_stamps(footage: Footage, tmp_path: Path) -> None:
    _, server = look(footage, [proposes()], tmp_path)
    shown = pictures(server.asked[0])
    assert len(shown) == 12 and shown[0].shape == (180, 320, 3)
    for picture in shown:
        assert picture[:12, :60].min() < 40 and picture[:12, :60].max() > 200  # the stamp
        for left in (0.1, 0.6):  # a bright tag above each head, and no box around the body
            x = round((left + 0.125) * 319)
            assert picture[round(0.4 * 179) - 14 : round(0.4 * 179), x - 12 : x + 12].max() > 190
        assert picture[120:160].min() > 90 and picture[120:160].max() < 150
    stamps = [picture[:14, :110].astype(int) for picture in shown]
    assert all(np.abs(a - b).max() > 100 for a, b in zip(stamps, stamps[1:], strict=False))


def test_the_words_hold_the_rules(footage: Footage, tmp_path: Path) -> None:
    _, server = look(footage, [proposes(gesture(1.0, 2.0)), reviews(faults=0)], tmp_path)
    first, second = server.asked
    for rule in ("Read times off the stamps", "no evidence", "Name people only by tags", "An empty list", "beat"):
        assert rule in said(first)
    assert '"start_s": 1.0, "end_s": 2.0' in said(second) and "Add nothing" in said(second)
    schema = first["response_format"]["json_schema"]["schema"]
    assert schema["additionalProperties"] is False and "confidence" in schema["$defs"]["Said"]["required"]


def test_long_shots_are_shown_in_windows_that_overlap(footage: Footage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 3 s that share 1 s: pictures 0-5, 4-9, 8-11; each is over where the next picture begins."""
    monkeypatch.setattr(mllm, "WINDOW_S", 3.0)
    monkeypatch.setattr(mllm, "OVERLAP_S", 1.0)
    found = [(frames.tolist(), end) for frames, end in mllm.windows(footage, 0, 60)]
    assert found == [([0, 5, 10, 15, 20, 25], 30), ([20, 25, 30, 35, 40, 45], 50), ([40, 45, 50, 55], 60)]


def test_a_gesture_that_two_windows_saw_counts_once() -> None:
    def seen(start: int, end: int, after: int | None, before: int | None) -> Gesture:
        return Gesture("pointing", start, end, 4, "object", details={"onset_after": after, "offset_before": before})

    a, b = seen(10, 30, 5, 30), seen(20, 60, 15, 60)
    other, later = Gesture("giving", 15, 40, 4, "object"), seen(60, 80, 55, 80)
    assert mllm.joined([a, b, other, later]) == [other, b, later]
    # the first window ends at 30, the second begins at 20: together they saw all of it
    assert mllm.joined([seen(10, 30, 5, None), seen(20, 60, None, 60)]) == [seen(10, 60, 5, 60)]
    assert mllm.joined([seen(0, 50, None, None), seen(30, 70, None, 70)]) == [seen(0, 70, None, 70)]
    # a window that saw the start is not believed less than one that did not
    assert mllm.joined([seen(24, 60, 20, 60), seen(20, 30, 15, None)]) == [seen(24, 60, 20, 60)]
