"""Import of a video: one decode of the source gives frame index, changes between frames, and proxy; pictures and
waveform come from the proxy.

Files written into the output folder, each complete or not there:

    facts.json    what `import.json` will say, written with the index
    frames.npz    the frame index with the changes between frames (`FrameIndex.load`)
    proxy.mp4     the browser's copy (`ml.media.proxy`), renamed to this name only after its timestamps were compared
    poster.jpg, strip.jpg, strip.json   (`ml.media.pictures`)
    waveform.bin  only with sound (`ml.media.waveform`)
    import.json   last: `Imported` as JSON

A run that was stopped is taken up at the first missing file. Stages of the progress: probe, proxy, check, pictures,
waveform.

Damage. A packet that cannot be decoded is counted and left out, and decoding goes on: frames before and after a damaged
stretch are in the index, those the decoder could not make are not, and the frame before them lasts longer. Pictures
between the damage and the next key frame may look wrong; a warning names the place. A file that stops early is indexed
as far as it goes.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml.media import proxy as proxies
from ml.media import sound
from ml.media.changes import LONGEST, Changes
from ml.media.decode import Pictures
from ml.media.files import sweep, whole, write_json
from ml.media.index import FrameIndex
from ml.media.pictures import write_pictures
from ml.media.probe import Probe, probe
from ml.media.source import Source, Tally, decode, open_source, refuse
from ml.media.timeline import Timeline
from ml.media.waveform import write_waveform
from ml.progress import Progress

VERSION = 1  # of the files written; another one makes everything anew
MAX_FRAMES = 2_000_000  # about 18 hours at 30 frames per second
MAX_DECODE_S = 12 * 3600  # wall clock seconds for the decode
DEFAULT_RATE = Fraction(25)  # frames per second where a file says nothing
SHORT_S = 0.25  # seconds by which a video may end before the claimed end without a warning
GAP_S = 1.0  # seconds without a frame that are worth a warning where frames are usually closer
PLACES = 5  # damaged places named in a warning
HDR_TRANSFERS = {16, 18}  # PQ and HLG, ITU-T H.273

PIECES = (
    "facts.json",
    "frames.npz",
    "proxy.mp4",
    "poster.jpg",
    "strip.jpg",
    "strip.json",
    "waveform.bin",
    "import.json",
)


@dataclass(frozen=True)
class Imported:
    """What is known of an imported video; the content of import.json.

    width, height: pixels of upright source pictures. rotation: degrees clockwise by which they were turned.
    rate: measured mean frames per second. variable: whether intervals differ by more than rounding.
    time_base: seconds per tick, as "1/12800". duration_s: from the first frame to the end of the last.
    first_s: media time of the first frame. warnings: sentences for the user.
    """

    v: int
    sha256: str
    frames: int
    width: int
    height: int
    rotation: int
    rate: float
    variable: bool
    time_base: str
    duration_s: float
    first_s: float
    has_audio: bool
    codec: str
    container: str
    pix_fmt: str
    interpolated: int
    nudged: int
    damaged: int
    proxy_width: int
    proxy_height: int
    warnings: list[str]

    @classmethod
    def load(cls, path: Path) -> Imported:
        """Read an import.json."""
        return cls(**json.loads(path.read_text()))


def prepare(source: Path, out: Path, progress: Progress) -> Imported:
    """Import a video into the folder `out`. MediaError, one sentence, when it cannot be used; then nothing is there.

    Memory is bounded by the size of the pictures; only the index grows with the length (20 bytes a frame).
    """
    out.mkdir(parents=True, exist_ok=True)
    sweep(out)
    progress("probe", 0.0)
    facts = probe(source)
    digest = _sha256(source, progress)
    known = _known(out, digest)
    if known is None:
        for name in PIECES:
            (out / name).unlink(missing_ok=True)
        known = _transcode(source, out, facts, digest, progress)
    index = FrameIndex.load(out / "frames.npz")
    if not (out / "strip.json").exists():
        write_pictures(out / "proxy.mp4", index, out, progress)
    progress("pictures", 1.0)
    if known.has_audio and not (out / "waveform.bin").exists():
        write_waveform(out / "proxy.mp4", out / "waveform.bin", float(index.seconds[-1]), progress)
    progress("waveform", 1.0)
    write_json(out / "import.json", asdict(known))
    return known


def _sha256(path: Path, progress: Progress) -> str:
    digest, size, done = hashlib.sha256(), path.stat().st_size, 0
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
            done += len(block)
            progress("probe", min(1.0, done / max(1, size)))
    return digest.hexdigest()


def _known(out: Path, digest: str) -> Imported | None:
    """The facts of an earlier run on the same file, if its index and proxy are complete."""
    if not all((out / name).exists() for name in ("facts.json", "frames.npz", "proxy.mp4")):
        return None
    facts = json.loads((out / "facts.json").read_text())
    return Imported(**facts) if facts.get("v") == VERSION and facts.get("sha256") == digest else None


def _transcode(path: Path, out: Path, facts: Probe, digest: str, progress: Progress) -> Imported:
    """Decode the source once: index, proxy and facts."""
    size = proxies.fit(facts.width, facts.height)
    with whole(out / "proxy.mp4") as part:
        with open_source(path) as source:
            decoding = _Decoding(source, facts, size, part, sound.can_decode(path), progress)
            index = decoding.run()
        progress("check", 0.0)
        proxies.check(part, index)
        imported = _describe(index, facts, digest, size, decoding)
        index.save(out / "frames.npz")
        write_json(out / "facts.json", asdict(imported))
        progress("check", 1.0)
    return imported


class _Decoding:
    """The one pass over the source."""

    def __init__(
        self, source: Source, facts: Probe, size: tuple[int, int], part: Path, with_sound: bool, progress: Progress
    ) -> None:
        self.source, self.facts, self.progress = source, facts, progress
        rate = facts.average_rate or DEFAULT_RATE
        base = source.time_base
        self.timeline = Timeline(base, max(1, round(1 / (rate * base))), source.origin, source.starts_at_zero)
        self.waiting: deque[Any] = deque()  # frames whose time is not known yet
        self.tally, self.sound_tally = Tally(), Tally()
        self.started = time.monotonic()
        self.sound = source.sound if with_sound else None
        channels = self.sound.codec_context.layout.nb_channels if self.sound else 0
        self.straight = sound.Straightener(channels, source.origin * base)
        self.size_changed = False
        self.pictures, self.changes = Pictures(LONGEST), Changes()
        self.proxy = proxies.ProxyWriter(
            part, size, facts.orientation, base, min(rate, Fraction(240)).limit_denominator(1001), channels
        )

    def run(self) -> FrameIndex:
        source, streams = self.source, [self.source.video, *([self.sound] if self.sound else [])]
        with self.proxy:
            for packet in source.packets(streams, self.tally):
                if packet.stream.index == source.video.index:
                    self._video(packet)
                else:
                    self._sound(packet)
                self.progress("proxy", self._share())
            self._place(self.timeline.finish())
            if not self.timeline.pts:
                raise refuse("no picture of it can be decoded")
            if self.sound:
                self._write_sound(None)
            index = replace(self.timeline.index(self.tally.errors), changes=self.changes.values)
            self.proxy.finish(int(index.pts[-1]))
        self.progress("proxy", 1.0)
        return index

    def _video(self, packet: Any) -> None:
        for frame in decode(packet, self.tally):
            self.changes.push(self.pictures.of(self.source, frame))
            self.waiting.append(frame)
            self._place(self.timeline.push(self.source.stamp(frame), frame.duration))
            self._check_limits()

    def _sound(self, packet: Any) -> None:
        for frame in decode(packet, self.sound_tally):
            self._write_sound(frame)

    def _write_sound(self, frame: Any) -> None:
        for position, samples in self.straight.push(frame):
            self.proxy.write_sound(position, samples)

    def _place(self, placed: list[int]) -> None:
        for pts in placed:
            frame = self.waiting.popleft()
            self.size_changed |= self.facts.orientation.size(*self.source.size(frame)) != (
                self.facts.width,
                self.facts.height,
            )
            self.proxy.write(frame, pts)

    def _share(self) -> float:
        pts = self.timeline.pts
        if not pts or not self.facts.claimed_seconds:
            return 0.0
        return min(1.0, float((pts[-1] - pts[0]) * self.timeline.time_base) / self.facts.claimed_seconds)

    def _check_limits(self) -> None:
        if len(self.timeline.stamps) > MAX_FRAMES:
            raise refuse(f"it has more than {MAX_FRAMES} frames, the limit")
        if time.monotonic() - self.started > MAX_DECODE_S:
            raise refuse(f"decoding it takes longer than {MAX_DECODE_S / 3600:.0f} hours, the limit")


def _describe(index: FrameIndex, facts: Probe, digest: str, size: tuple[int, int], decoding: _Decoding) -> Imported:
    steps = index.pts[1:] - index.pts[:-1]
    inner = steps[:-1] if len(steps) > 1 else steps
    return Imported(
        v=VERSION,
        sha256=digest,
        frames=index.frames,
        width=facts.width,
        height=facts.height,
        rotation=facts.rotation,
        rate=index.frames / index.duration_s,
        variable=bool(inner.max() - inner.min() > 1),
        time_base=f"{index.time_base.numerator}/{index.time_base.denominator}",
        duration_s=index.duration_s,
        first_s=float(index.seconds[0]),
        has_audio=decoding.sound is not None,
        codec=facts.codec,
        container=facts.container,
        pix_fmt=facts.pix_fmt,
        interpolated=index.interpolated,
        nudged=index.nudged,
        damaged=index.damaged,
        proxy_width=size[0],
        proxy_height=size[1],
        warnings=_warnings(index, facts, decoding),
    )


def _warnings(index: FrameIndex, facts: Probe, decoding: _Decoding) -> list[str]:
    """Sentences on everything that is not as the file claims."""
    found = []
    reached = max(index.duration_s, _sound_seconds(decoding, index))
    if facts.claimed_seconds and reached < facts.claimed_seconds - SHORT_S:
        found.append(
            f"The video ends at {index.duration_s:.2f} s of {facts.claimed_seconds:.2f} s: the rest of the file is "
            "missing or damaged; it can be used up to there."
        )
    if index.damaged:
        found += _damage(index, decoding.tally, decoding.timeline.origin)
    found += _gaps(index)
    if index.interpolated:
        found.append(f"{_frames(index.interpolated)} had no timestamp; their times were interpolated.")
    if index.nudged:
        found.append(
            f"{_frames(index.nudged)} had a timestamp equal to or before that of the frame before; each was moved to "
            "the next tick."
        )
    if decoding.size_changed:
        found.append(
            f"The picture size changes within the video; all pictures are scaled to {facts.width} x {facts.height}."
        )
    if facts.color_trc in HDR_TRANSFERS:
        found.append("The video is HDR; the browser copy is not tone-mapped and looks pale.")
    if facts.has_audio and decoding.sound is None:
        found.append("The sound cannot be decoded and was left out.")
    elif decoding.sound_tally.errors:
        found.append(f"The sound is damaged in {decoding.sound_tally.errors} places, which are silent.")
    return found


def _sound_seconds(decoding: _Decoding, index: FrameIndex) -> float:
    """How far the sound reaches, where the claimed length is that of the whole file and not of the video."""
    if decoding.sound is None or decoding.source.video.duration:
        return 0.0
    return decoding.straight.position / sound.RATE - float(index.seconds[0])


def _damage(index: FrameIndex, tally: Tally, origin: int) -> list[str]:
    """Where pictures are missing or wrong, leaving out what lies after the last frame."""
    ticks = np.array([place - origin - int(index.pts[0]) for place in tally.places], np.int64)
    inside = np.sort(ticks[ticks < index.pts[-1] - index.pts[0]])
    if tally.places and not inside.size:
        return []
    places = inside * float(index.time_base)
    count = f"{tally.errors} piece{'' if tally.errors == 1 else 's'}"
    return [
        f"The file is damaged: {count} could not be decoded{_near(places)}; frames there are missing or look wrong."
    ]


def _near(places: NDArray[np.float64]) -> str:
    """ " near 1.20 s, 7.00 s", naming places more than a second apart."""
    apart = [at for at, before in zip(places, [-np.inf, *places[:-1]], strict=True) if at - before > 1.0]
    named = ", ".join(f"{max(0.0, at):.2f} s" for at in apart[:PLACES])
    return f" near {named}{' and elsewhere' if len(apart) > PLACES else ''}" if apart else ""


def _gaps(index: FrameIndex) -> list[str]:
    """Stretches without frames, which may be damage that the container hid."""
    steps = np.diff(index.zeroed[:-1])
    if not steps.size:
        return []
    long = np.flatnonzero(steps > max(GAP_S, 10 * float(np.median(steps))))
    named = ", ".join(f"{index.zeroed[k]:.2f} and {index.zeroed[k + 1]:.2f} s" for k in long[:PLACES])
    return (
        [f"There are no frames between {named}{' and elsewhere' if len(long) > PLACES else ''}."] if long.size else []
    )


def _frames(count: int) -> str:
    return f"{count} frame{'' if count == 1 else 's'}"
