"""Sound and its curve lie where the player's clock has them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from ml.media import sound, waveform
from ml.media.importer import prepare
from ml.media.index import FrameIndex
from ml.progress import silent
from tests import clips
from tests.ml.media.conftest import Import

HALF = 64  # half of full scale, as a signed byte


def pairs(out: Path) -> np.ndarray:
    return np.frombuffer((out / "waveform.bin").read_bytes(), np.int8).reshape(-1, 2)


@pytest.mark.parametrize("kind", ["sound", "sound-variable", "sound-webm"])
def test_the_curve_shows_the_loud_seconds(kind: str, imported: Callable[[str], Import]) -> None:
    """The tone is silent in even seconds and half of full scale in odd ones."""
    _, out, _, index = imported(kind)
    curve = pairs(out)
    assert len(curve) == int(np.ceil(index.seconds[-1] * 50))
    for second in range(int(index.seconds[-1])):
        inner = curve[50 * second + 3 : 50 * second + 47].astype(int)
        expected = [-HALF, HALF] if second % 2 else [0, 0]
        assert np.abs(inner - expected).max() <= 4, second


def test_the_curve_of_a_clip_that_starts_late(tmp_path: Path) -> None:
    """Pictures from 0.1 s on, sound from 0: pair k stays at k / 50 s of the player's clock."""
    path = tmp_path / "late.mp4"
    recipe = clips.Recipe([100 + 40 * k for k in range(60)], Fraction(1, 1000), 40, sound=True)
    clips.write(path, recipe)
    result = prepare(path, tmp_path / "out", silent)
    curve = pairs(tmp_path / "out").astype(int)
    assert result.first_s == 0.1 and len(curve) == 125
    assert np.abs(curve[:48]).max() <= 2 and np.abs(curve[53:97] - [-HALF, HALF]).max() <= 4


@pytest.mark.parametrize("kind", ["sound", "sound-variable", "sound-webm"])
def test_the_proxy_keeps_sound_at_its_time(kind: str, imported: Callable[[str], Import]) -> None:
    """The tone of the proxy begins at 1 s, as in the source, within 5 ms."""
    clip, out, _, _ = imported(kind)
    onsets = []
    for path in (clip.path, out / "proxy.mp4"):
        with av.open(str(path)) as container:
            for frame in container.decode(audio=0):
                loud = np.flatnonzero(np.abs(frame.to_ndarray()[0]) > 0.25)
                if loud.size:
                    onsets.append(float(frame.pts * frame.time_base) + loud[0] / frame.sample_rate)  # type: ignore
                    break
    assert onsets[0] == pytest.approx(1.0, abs=0.005)
    assert onsets[1] == pytest.approx(onsets[0], abs=0.005)


def piece(samples: int, pts: int, rate: int = 48_000, value: float = 0.5) -> Any:
    frame = av.AudioFrame.from_ndarray(np.full((1, samples), value, np.float32), format="fltp", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = rate, pts, Fraction(1, rate)
    return frame


def straighten(*frames: Any, origin: Fraction = Fraction(0)) -> np.ndarray:
    straight = sound.Straightener(1, origin)
    out, end = [], 0
    for frame in [*frames, None]:
        for at, samples in straight.push(frame):
            assert at == end, "no hole and no overlap"
            out.append(samples[0])
            end = at + samples.shape[1]
    return np.concatenate(out)


def test_gaps_become_silence_and_overlaps_are_cut() -> None:
    gap = straighten(piece(4800, 0), piece(4800, 24_000))
    assert len(gap) == 28_800
    assert np.all(gap[:4800] == 0.5) and np.all(gap[4800:24_000] == 0) and np.all(gap[24_000:] == 0.5)
    overlap = straighten(piece(48_000, 0), piece(48_000, 24_000, value=0.25))
    assert len(overlap) == 72_000
    assert np.all(overlap[:48_000] == 0.5) and np.all(overlap[48_000:] == 0.25)


def test_sound_that_starts_late_is_preceded_by_silence_and_early_sound_is_cut() -> None:
    late = straighten(piece(4800, 96_000))
    assert len(late) == 100_800 and not late[:96_000].any()
    assert len(straighten(piece(24_000, -12_000))) == 12_000
    assert len(straighten(piece(4800, 96_000), origin=Fraction(2))) == 4800


def test_small_jitter_is_left_alone_and_absurd_jumps_are_not_followed() -> None:
    assert len(straighten(piece(4800, 0), piece(4800, 4900))) == 9600
    assert len(straighten(piece(4800, 0), piece(4800, 48_000 * 36_000))) == 9600


def test_other_sample_rates_keep_their_length() -> None:
    assert len(straighten(piece(22_050, 0, rate=22_050))) == pytest.approx(48_000, abs=2)


def test_pairs_by_hand() -> None:
    samples = np.zeros((2, 2 * waveform.BIN), np.float32)
    samples[0, 5], samples[1, 7], samples[1, waveform.BIN] = -0.5, 1.2, 0.25
    assert waveform._pairs(samples).tolist() == [[-64, 127], [0, 32]]


def test_sound_that_cannot_be_decoded_is_left_out_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    clips.write(path, clips.steady(50, Fraction(25), sound=True))
    for name in (b"mp4a", b"esds"):
        path.write_bytes(path.read_bytes().replace(name, b"zzzz"))
    result = prepare(path, tmp_path / "out", silent)
    assert not result.has_audio and result.frames == 50
    assert result.warnings == ["The sound cannot be decoded and was left out."]
    assert not (tmp_path / "out" / "waveform.bin").exists()
    assert FrameIndex.load(tmp_path / "out" / "frames.npz").frames == 50
