"""The frame named is the frame shown: on clips with the number burnt into the picture, read back from the pixels."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import clips
from tests.browser.conftest import settle
from tests.browser.workspace import seed

SHORT = ("25", "variable", "rotated-90", "trimmed")
LONG = ("10", "23.976", "59.94", "bframes", "random", "random-bframes", "late-start", "trimmed-bframes", "open-gop")

# In the page: `look` reads the picture as the browser shows it, scaled down, as grey bytes in base64, with what it
# says of it; `walk` gives one keystroke or frame number after another and looks each time the player stands still.
SCRIPT = """() => {
  const { dataset } = document.querySelector('#player');
  const video = document.querySelector('#video');
  const canvas = new OffscreenCanvas(120, Math.round(120 * video.videoHeight / video.videoWidth));
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  globalThis.look = () => {
    pen.drawImage(video, 0, 0, canvas.width, canvas.height);
    const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
    let bytes = '';
    for (let i = 0; i < data.length; i += 4) bytes += String.fromCharCode(data[i]);
    return { frame: Number(dataset.frame), shown: Number(dataset.shown), width: canvas.width, pixels: btoa(bytes) };
  };
  const still = () => dataset.frame === dataset.shown && (dataset.state === 'paused' || dataset.state === 'ready');
  const standing = async () => {
    for (let turn = 0; turn < 600 && !still(); turn++) await new Promise((done) => requestAnimationFrame(done));
  };
  globalThis.walk = async (wishes) => {
    const seen = [];
    const field = document.querySelector('#frame-field');
    for (const wish of wishes) {
      if (typeof wish === 'number') {
        field.value = String(wish);
        field.dispatchEvent(new Event('change', { bubbles: true }));
      } else document.body.dispatchEvent(new KeyboardEvent('keydown', { key: wish, bubbles: true, cancelable: true }));
      await standing();
      seen.push(look());
    }
    return seen;
  };
}"""


def read(seen: dict[str, Any]) -> tuple[int, int, int]:
    """(number in the picture, frame named, frame reported)."""
    grey = np.frombuffer(base64.b64decode(seen["pixels"]), np.uint8).reshape(-1, seen["width"])
    return clips.read_number(np.repeat(grey[:, :, None], 3, axis=2)), seen["frame"], seen["shown"]


def look(page: Any) -> tuple[int, int, int]:
    return read(page.evaluate("look()"))


def walk(page: Any, wishes: list[str] | list[int]) -> list[tuple[int, int, int]]:
    return [read(seen) for seen in page.evaluate("walk", wishes)]


@pytest.fixture
def counter(tmp_path: Path, crew: Any, visit: Any) -> Any:
    """`counter(kind)`: the workspace of a clip of that kind, and the numbers that its frames show."""

    def open_clip(kind: str) -> tuple[Any, list[int]]:
        clip = clips.make(kind, tmp_path)
        video = seed.clip_video(crew.project, clip.path)
        assert video.frames == len(clip.numbers)
        page = visit(crew.bob).open(video)
        page.evaluate(SCRIPT)
        return page, clip.numbers

    return open_clip


def check(page: Any, numbers: list[int], frame: int) -> None:
    number, named, shown = look(page)
    assert (numbers[frame], frame, frame) == (number, named, shown)


def truth(numbers: list[int], frames: list[int]) -> list[tuple[int, int, int]]:
    return [(numbers[frame], frame, frame) for frame in frames]


def step_through(page: Any, numbers: list[int]) -> None:
    last = len(numbers) - 1
    assert walk(page, [0]) == truth(numbers, [0])
    assert walk(page, ["."] * last) == truth(numbers, list(range(1, last + 1)))
    assert walk(page, [","] * last) == truth(numbers, list(range(last - 1, -1, -1)))


def seek_around(page: Any, numbers: list[int], times: int) -> None:
    rng = random.Random(5)
    frames = [rng.randrange(len(numbers)) for _ in range(times)]
    assert walk(page, frames) == truth(numbers, frames)


def pause_around(page: Any, numbers: list[int], times: int) -> None:
    rng = random.Random(6)
    for _ in range(times):
        page.fill("#frame-field", str(rng.randrange(max(1, len(numbers) // 2))))
        page.keyboard.press("Enter")
        settle(page)
        page.keyboard.press("Space")
        page.wait_for_timeout(rng.uniform(30, 500))
        page.keyboard.press("Space" if page.get_attribute("#player", "data-state") == "playing" else "K")
        settle(page)
        number, named, shown = look(page)
        assert (number, shown) == (numbers[named], named)


@pytest.mark.parametrize("kind", SHORT)
def test_every_step_shows_the_next_frame_and_back(counter: Any, kind: str) -> None:
    step_through(*counter(kind))


@pytest.mark.parametrize("kind", SHORT)
def test_seeks_and_pauses_show_the_frame_that_is_named(counter: Any, kind: str) -> None:
    page, numbers = counter(kind)
    seek_around(page, numbers, 30)
    pause_around(page, numbers, 8)


@pytest.mark.bench
def test_figures_of_exactness(counter: Any, figure: Any) -> None:
    page, numbers = counter("variable")
    rng = random.Random(5)
    frames = [rng.randrange(len(numbers)) for _ in range(50)]
    right = sum(a == b for a, b in zip(walk(page, frames), truth(numbers, frames), strict=True))
    figure("seek to 50 random frames, variable rate: shown = named", right, budget=50, at_least=True)
    walk(page, [0])
    steps = zip(walk(page, ["."] * 20), truth(numbers, list(range(1, 21))), strict=True)
    moved = sum(a == b for a, b in steps)
    figure("step one frame, variable rate, 20 times: moves exactly one", moved, budget=20, at_least=True)
    assert (right, moved) == (50, 20)


@pytest.mark.long
@pytest.mark.parametrize("kind", [*SHORT, *LONG])
def test_it_stays_exact_over_long_sweeps(counter: Any, kind: str) -> None:
    page, numbers = counter(kind)
    step_through(page, numbers)
    seek_around(page, numbers, 200)
    pause_around(page, numbers, 40)


def test_ten_quick_steps_move_exactly_ten_frames(counter: Any) -> None:
    page, numbers = counter("variable")
    for _ in range(10):
        page.keyboard.press(".")
    settle(page)
    check(page, numbers, 10)
    page.keyboard.press("Shift+,")
    settle(page)
    check(page, numbers, 0)


def test_the_shuttle_runs_both_ways_and_stops_on_what_it_names(counter: Any) -> None:
    page, numbers = counter("25")
    page.keyboard.press("L")
    page.wait_for_function("() => Number(document.querySelector('#player').dataset.frame) > 15")
    page.keyboard.press("K")
    settle(page)
    number, named, _ = look(page)
    assert number == numbers[named] and named > 10
    page.keyboard.press("J")
    page.wait_for_function(f"() => Number(document.querySelector('#player').dataset.frame) < {named - 5}")
    page.keyboard.press("K")
    settle(page)
    number, back, _ = look(page)
    assert number == numbers[back] and back < named


def test_the_last_frame_is_reached_and_named_when_the_video_ends(counter: Any) -> None:
    page, numbers = counter("25")
    page.fill("#frame-field", str(len(numbers) - 8))
    page.keyboard.press("Enter")
    settle(page)
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('#player').dataset.state === 'paused'")
    settle(page)
    check(page, numbers, len(numbers) - 1)


def test_a_pause_at_once_after_play_stays_exact_at_every_speed(counter: Any) -> None:
    page, numbers = counter("variable")
    rng = random.Random(8)
    for speed in ("0.1", "0.5", "1", "2", "4"):
        page.select_option("#speed", speed)
        for _ in range(3):
            page.fill("#frame-field", str(rng.randrange(len(numbers) // 2)))
            page.keyboard.press("Enter")
            settle(page)
            page.keyboard.press("Space")
            page.wait_for_timeout(rng.uniform(0, 120))
            page.select_option("#speed", rng.choice(["0.25", "1", "4"]))
            page.keyboard.press("K")
            settle(page)
            number, named, shown = look(page)
            assert (number, shown) == (numbers[named], named)
            page.select_option("#speed", speed)


def test_the_shuttle_goes_no_faster_than_the_browser_can(counter: Any) -> None:
    page, numbers = counter("25")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.select_option("#speed", "4")
    for presses in (4, 5):
        page.fill("#frame-field", "0")
        page.keyboard.press("Enter")
        settle(page)
        rate = page.evaluate(
            """presses => {
              const key = { key: "L", code: "KeyL", bubbles: true, cancelable: true };
              for (let turn = 0; turn < presses; turn++) document.body.dispatchEvent(new KeyboardEvent("keydown", key));
              return document.querySelector("#video").playbackRate;
            }""",
            presses,
        )
        assert rate == 16  # four times eight would be 32
        page.wait_for_timeout(150)
        page.keyboard.press("K")
        settle(page)
        number, named, shown = look(page)
        assert (number, shown) == (numbers[named], named)
    assert errors == []


def test_play_pressed_at_the_end_begins_at_the_start_even_when_stopped_at_once(counter: Any) -> None:
    page, numbers = counter("25")
    page.keyboard.press("End")
    settle(page)
    check(page, numbers, len(numbers) - 1)
    page.evaluate(
        """() => ['Space', 'K'].forEach((key) => document.body.dispatchEvent(
          new KeyboardEvent('keydown', { key: key === 'Space' ? ' ' : 'k', bubbles: true, cancelable: true })))"""
    )
    settle(page)
    check(page, numbers, 0)


def test_a_loop_that_ends_with_the_video_goes_on(counter: Any) -> None:
    page, numbers = counter("25")
    last = len(numbers) - 1
    page.fill("#frame-field", str(last - 6))
    page.keyboard.press("Enter")
    settle(page)
    page.keyboard.press("i")
    page.keyboard.press("End")
    settle(page)
    page.keyboard.press("o")
    page.evaluate(
        """() => {
          globalThis.rounds = 0;
          let before = 0;
          new MutationObserver(() => {
            const frame = Number(document.querySelector('#player').dataset.frame);
            if (frame < before) globalThis.rounds++;
            before = frame;
          }).observe(document.querySelector('#player'), { attributeFilter: ['data-frame'] });
        }"""
    )
    page.keyboard.press("u")
    page.keyboard.press("Space")
    page.wait_for_function("() => globalThis.rounds >= 4")
    assert page.get_attribute("#player", "data-state") == "playing"
    page.keyboard.press("Space")
    settle(page)
    number, named, shown = look(page)
    assert (number, shown) == (numbers[named], named) and named >= last - 6


# A hidden tab as the browser makes it: no animation frames until it is seen again, and no word of the video's frames
# that are presented meanwhile.
HIDING = """() => {
  let hidden = false;
  const held = [];
  Object.defineProperty(document, 'hidden', { get: () => hidden });
  const { prototype } = HTMLVideoElement;
  const told = prototype.requestVideoFrameCallback;
  prototype.requestVideoFrameCallback = function (work) {
    const wait = () => told.call(this, (...given) => (hidden ? wait() : work(...given)));
    return wait();
  };
  const drawn = globalThis.requestAnimationFrame;
  globalThis.requestAnimationFrame = (work) =>
    drawn.call(globalThis, (now) => (hidden ? held.push(() => work(now)) : work(now)));
  globalThis.hide = (now) => {
    hidden = now;
    document.dispatchEvent(new Event('visibilitychange'));
    if (!now) for (const work of held.splice(0)) work();
  };
}"""


def test_what_is_wished_in_a_hidden_tab_is_shown_when_it_is_seen(counter: Any) -> None:
    page, numbers = counter("variable")
    page.evaluate(HIDING)
    page.keyboard.press(".")  # the callback that waits already is not held back
    settle(page)
    page.evaluate("hide(true)")
    page.evaluate(
        """() => {
          const field = document.querySelector('#frame-field');
          field.value = '40';
          field.dispatchEvent(new Event('change', { bubbles: true }));
        }"""
    )
    page.wait_for_timeout(1500)
    assert page.get_attribute("#player", "data-frame") == "40"
    page.evaluate("hide(false)")
    settle(page)
    check(page, numbers, 40)


def test_the_reverse_shuttle_goes_on_when_its_tab_is_seen_again(counter: Any) -> None:
    page, numbers = counter("25")
    page.evaluate(HIDING)
    page.keyboard.press("End")
    settle(page)
    page.evaluate(
        """() => {
          const player = document.querySelector('#player');
          const watch = new MutationObserver(() => {
            globalThis.left = Number(player.dataset.frame);
            if (player.dataset.state !== 'playing' || player.dataset.frame === player.dataset.shown) return;
            watch.disconnect();
            hide(true); // a seek is under way
          });
          watch.observe(player, { attributeFilter: ['data-frame'] });
        }"""
    )
    page.keyboard.press("J")
    page.wait_for_function("() => document.hidden", polling=50)
    page.wait_for_timeout(600)
    page.evaluate("hide(false)")
    page.wait_for_function("() => Number(document.querySelector('#player').dataset.frame) < globalThis.left - 3")
    page.keyboard.press("K")
    settle(page)
    number, named, shown = look(page)
    assert (number, shown) == (numbers[named], named)


def test_a_link_opened_in_a_background_tab_shows_its_frame(counter: Any) -> None:
    page, numbers = counter("variable")
    visitor_page = page.context.new_page()
    visitor_page.add_init_script(f"({HIDING})(); document.addEventListener('DOMContentLoaded', () => hide(true));")
    visitor_page.goto(page.url.split("?")[0] + "?frame=33")
    visitor_page.wait_for_selector("#player[data-frame='33']")
    visitor_page.wait_for_timeout(1500)
    assert visitor_page.get_attribute("#player", "data-frame") == "33"
    visitor_page.evaluate("hide(false)")
    settle(visitor_page)
    visitor_page.evaluate(SCRIPT)
    check(visitor_page, numbers, 33)


def test_a_frame_that_slips_in_after_a_pause_is_put_right(counter: Any) -> None:
    """The picture is moved behind the player's back: the player seeks what it names."""
    page, numbers = counter("25")
    page.fill("#frame-field", "20")
    page.keyboard.press("Enter")
    settle(page)
    page.evaluate("document.querySelector('#video').currentTime += 0.2")
    page.wait_for_function("() => document.querySelector('#player').dataset.state === 'seeking'")
    settle(page)
    check(page, numbers, 20)
