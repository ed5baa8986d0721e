"""Masks of people: the browser reads run lengths as pycocotools writes them, and the workspace and the page of a
question show each person's mask on the frame it was made for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml.formats import coco_rle
from tests.browser.conftest import settle
from tests.browser.workspace import seed
from webapp.bench.models import Question
from webapp.events.models import Event
from webapp.lib import storage
from webapp.library.models import Video
from webapp.tracks.models import Run

SIZE = (360, 640)
ALPHA = """([x, y]) => { const c = document.querySelector('#overlay'); const stage = document.querySelector('#stage');
    const { clientWidth: w, clientHeight: h } = stage; const scale = Math.min(w / %d, h / %d);
    const left = (w - %d * scale) / 2, top = (h - %d * scale) / 2;
    const at = [left + x * %d * scale, top + y * %d * scale].map((v) => Math.round(v * devicePixelRatio));
    return [...c.getContext('2d').getImageData(...at, 1, 1).data]; }"""


def pixel(page: Any, video: Video, x: float, y: float) -> list[int]:
    """Red, green, blue and opacity of what is drawn over a point of the picture."""
    found: list[int] = page.evaluate(ALPHA % ((video.width, video.height) * 3), [x, y])
    return found


def go(page: Any, frame: int) -> None:
    page.evaluate("n => document.querySelector('#frame-field').value = n", str(frame))
    page.locator("#frame-field").dispatch_event("change")
    settle(page)


def boxes_of(run: Run) -> dict[str, np.ndarray[Any, Any]]:
    import pyarrow.parquet as pq

    with storage.local(f"{run.folder}/samples.parquet") as path:
        table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in ("frame", "track", "body_x1", "body_y1", "body_x2", "body_y2")}


def give_masks(video: Video) -> dict[str, np.ndarray[Any, Any]]:
    """Everybody's mask is the lower half of their box, on samples of even turn; on the others it is the upper half."""
    assert video.run is not None
    rows = boxes_of(video.run)
    body = np.stack([rows[f"body_{side}"] for side in ("x1", "y1", "x2", "y2")], 1).astype(float)
    turn = np.unique(rows["frame"], return_inverse=True)[1]
    middle = (body[:, 1] + body[:, 3]) / 2
    body[:, 1] = np.where(turn % 2 == 0, middle, body[:, 1])
    body[:, 3] = np.where(turn % 2 == 0, body[:, 3], middle)
    seed.add_masks(video, [coco_rle.of_box(box, SIZE) for box in body.tolist()], SIZE, rows)
    return rows


@pytest.fixture
def masked(video: Any) -> Any:
    return give_masks(video)


def spots(rows: dict[str, np.ndarray[Any, Any]], turn: int) -> tuple[int, list[tuple[float, float, float]]]:
    """A sample's frame, and for everybody x near the side of the box and y of the upper and the lower half, away from
    faces, lines and names."""
    frame = int(np.unique(rows["frame"])[turn])
    found = []
    for k in np.flatnonzero(rows["frame"] == frame):
        x1, y1, x2, y2 = (float(rows[f"body_{side}"][k]) for side in ("x1", "y1", "x2", "y2"))
        found.append((x1 + 0.12 * (x2 - x1), y1 + 0.4 * (y2 - y1), y1 + 0.85 * (y2 - y1)))
    return frame, found


def test_the_browser_reads_and_writes_run_lengths_as_pycocotools_does(visit: Any, crew: Any, video: Any) -> None:
    page = visit(crew.bob).open(video)
    rng = np.random.default_rng(5)
    cases = []
    for _ in range(60):
        size = [int(n) for n in rng.integers(1, 40, 2)]
        mask = rng.random(size) < rng.random()
        cases.append([coco_rle.encode(mask).decode(), size, mask.astype(int).ravel().tolist(), int(mask.sum())])
    large = np.zeros((720, 1280), bool)
    large[3:700, 5:1000:7] = True
    cases.append([coco_rle.encode(large).decode(), [720, 1280], None, int(large.sum())])
    found = page.evaluate(
        """async ([module, cases]) => {
            const { decode, encode, area } = await import(module);
            const wrong = [];
            for (const [counts, size, bits, pixels] of cases) {
              const mine = decode(counts, size);
              if (bits && mine.join() !== bits.join()) wrong.push(["decode", counts, size]);
              if (encode(mine, size) !== counts) wrong.push(["encode", counts, size]);
              if (area(counts, size) !== pixels) wrong.push(["area", counts, size]);
            }
            const refused = ["", "~", "o", "0", cases[0][0] + "1"].filter((counts) => {
              try { decode(counts, [3, 3]); return false; } catch { return true; }
            });
            return [wrong, refused.length]; }""",
        [module_of(page, "masks/rle"), cases],
    )
    assert found == [[], 5]


def module_of(page: Any, name: str) -> str:
    """The address of a script that the page knows by its plain name."""
    address: str = page.evaluate(f"() => new URL('/static/js/{name}.js', location.href).href")
    return address


def test_masks_are_shown_on_a_key_on_the_frame_they_belong_to(
    visit: Any, crew: Any, video: Any, masked: dict[str, Any]
) -> None:
    page = visit(crew.bob).open(video)
    frame, people = spots(masked, 4)
    go(page, frame)
    assert not any(pixel(page, video, x, low)[3] for x, _, low in people)
    page.keyboard.press("q")
    page.wait_for_function("() => document.querySelector('.stage-legend').textContent.includes('Masks: approximate')")
    x, high, low = people[0]
    page.wait_for_function(f"([a]) => ({ALPHA % ((video.width, video.height) * 3)})(a)[3] > 60", arg=[[x, low]])
    colours = [tuple(pixel(page, video, x, low)[:3]) for x, _, low in people]
    assert len(set(colours)) == len(people)  # everybody has a colour of their own
    assert not any(pixel(page, video, x, high)[3] for x, high, _ in people)
    frame, people = spots(masked, 5)
    go(page, frame)
    assert all(pixel(page, video, x, high)[3] > 60 for x, high, _ in people)
    assert not any(pixel(page, video, x, low)[3] for x, _, low in people)
    page.keyboard.press("q")
    settle(page)
    assert not any(pixel(page, video, x, high)[3] for x, high, _ in people)
    assert page.get_attribute("[data-shows=masks]", "aria-pressed") == "false"


def test_the_page_of_a_question_shows_masks_from_the_start(
    visit: Any, crew: Any, video: Any, masked: dict[str, Any], cora: Any, worker: Any
) -> None:
    from webapp.bench.generation import generate_for

    generate_for(video=video, user=None, seed=0, categories=["mutual_gaze"])
    event = Event.objects.get(video=video, type="mutual_gaze", start=30)
    item = Question.objects.filter(proof__events__contains=[str(event.id)]).order_by("number").first()
    assert item is not None
    page = visit(crew.rita).open(video, f"?question={item.id}")
    assert page.get_attribute("[data-shows=masks]", "aria-pressed") == "true"
    turn = int(np.searchsorted(np.unique(masked["frame"]), 40)) // 2 * 2
    frame, people = spots(masked, turn)
    go(page, frame)
    x, high, low = people[0]
    page.wait_for_function(f"([a]) => ({ALPHA % ((video.width, video.height) * 3)})(a)[3] > 60", arg=[[x, low]])
    assert pixel(page, video, x, high)[3] == 0


def test_a_curator_makes_masks_and_sees_how_far_they_are(visit: Any, crew: Any, video: Any, cora: Any) -> None:
    Video.objects.filter(id=video.id).update(has_pixels=True)
    page = visit(crew.cora).open(video)
    page.get_by_role("button", name="Make masks of people").click()
    page.get_by_text("Making masks waits for a worker.").wait_for()
    assert visit(crew.bob).open(video).get_by_role("button", name="Make masks of people").count() == 0
