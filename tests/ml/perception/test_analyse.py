"""What is looked at and what is embedded, with stand-ins for the models and the decoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml.media.index import FrameIndex
from ml.perception import analyse, headpose, registry
from ml.perception.analyse import EMBED_AGAIN_S, Analyser, longest_run, with_faces
from ml.perception.protocols import Detection, Face, Mesh
from ml.perception.records import Piece
from tests.ml.perception.test_headpose import face as made_up_mesh

INDEX = FrameIndex(np.arange(201) * 4, Fraction(1, 100))  # 200 frames at 25 per second
WIDTH, HEIGHT = 640, 360


def box(x: float) -> np.ndarray:
    return np.array([x, 50, x + 100, 350.0])


class World:
    """Answers for the models: one person, whose left side is `where(frame)`, with a face; counts the questions."""

    def __init__(self, where: Callable[[int], float], flag: float = 1.0) -> None:
        self.where, self.flag = where, flag
        self.frame = -1
        self.looked: list[int] = []
        self.embedded: list[int] = []

    def load(self, name: str, folder: Path | None) -> Any:
        return {"nanodet": Objects, "centerface": Faces, "facemesh": Meshes, "faceres": Vectors}[name](self)

    def pictures(self, path: Path, index: FrameIndex, frames: Any) -> Iterator[tuple[int, np.ndarray]]:
        for frame in frames.tolist():
            picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
            picture[0, 0] = divmod(frame, 256) + (0,)  # which frame it is, for the stand-ins
            yield frame, picture


def number(bgr: np.ndarray) -> int:
    return int(bgr[0, 0, 0]) * 256 + int(bgr[0, 0, 1])


class Objects:
    def __init__(self, world: World) -> None:
        self.world = world

    def detect(self, bgr: np.ndarray, threshold: float) -> list[Detection]:
        frame = number(bgr)
        self.world.looked.append(frame)
        cup = Detection("cup", 0.6, np.array([10, 10, 30, 30.0]))
        return [Detection("person", 0.8, box(self.world.where(frame))), cup]


class Faces:
    def __init__(self, world: World) -> None:
        self.world = world

    def detect(self, bgr: np.ndarray) -> list[Face]:
        x = self.world.where(number(bgr))
        points = np.array([[x + 40, 80], [x + 60, 80], [x + 50, 90], [x + 42, 100], [x + 58, 100.0]])
        return [Face(np.array([x + 30, 60, x + 70, 120.0]), 0.9, points)]


class Meshes(Faces):
    def mesh(self, bgr: np.ndarray, face: Face) -> Mesh:
        return Mesh(made_up_mesh(), self.world.flag)


class Vectors(Faces):
    def embed(self, bgr: np.ndarray, face: Face) -> np.ndarray:
        self.world.embedded.append(number(bgr))
        return np.eye(1024)[0]


def run(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    step: int = 6,
    every: int = 2,
    frames: int = 100,
    cuts: tuple[int, ...] = (),
) -> Piece:
    """Analyse each `step`th frame; each `every`th of those is a sample."""
    monkeypatch.setattr(registry, "load", world.load)
    monkeypatch.setattr(analyse, "read_frames", world.pictures)
    wanted = np.arange(0, frames, step)
    analyser = Analyser(registry.profile("embedded"), None, identity=True)
    shot = np.searchsorted(cuts, wanted, side="right")
    return analyser.piece(Path("none"), INDEX, wanted, np.arange(len(wanted)) % every == 0, shot, lambda n: None)


def test_steps_between_equal_samples_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda frame: 200)
    piece = run(world, monkeypatch)
    assert world.looked == list(range(0, 100, 12))  # the last frame is a sample
    assert piece.frame.tolist() == list(range(0, 100, 6))
    assert piece.frame[piece.position].tolist() == world.looked


def test_steps_are_looked_at_where_somebody_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda frame: 100 + 5 * max(0, frame - 50))
    piece = run(world, monkeypatch)
    still = [f for f in range(0, 50, 6) if f % 12]
    assert set(range(0, 100, 6)) - set(world.looked) == {f for f in still if f < 48}
    assert (np.diff(piece.position) >= 0).all()
    assert piece.frame[piece.position].tolist() == sorted(world.looked)


def test_steps_after_the_last_sample_of_a_shot_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda frame: 100 + 5 * frame)
    run(world, monkeypatch, cuts=(48,))
    assert set(range(0, 100, 6)) - set(world.looked) == {42}


def test_with_many_steps_per_sample_no_picture_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda frame: 200)
    run(world, monkeypatch, step=2, every=6)
    assert world.looked == list(range(0, 100, 2))


def test_a_row_has_a_face_on_samples_only(monkeypatch: pytest.MonkeyPatch) -> None:
    piece = run(World(lambda frame: 100 + 5 * frame), monkeypatch)
    sampled = piece.sampled[piece.position]
    assert np.isfinite(piece.face_score[sampled]).all()
    assert np.isnan(piece.face_score[~sampled]).all()
    assert piece.object_position.tolist() == np.flatnonzero(piece.sampled).tolist()
    assert piece.yaw[sampled] == pytest.approx(0, abs=1e-4)


def test_a_face_is_embedded_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda frame: 200)
    piece = run(world, monkeypatch)
    assert (np.diff(world.embedded) / 25 >= EMBED_AGAIN_S).all()
    assert world.embedded[0] == 0
    assert piece.frame[piece.position[piece.embedded_row]].tolist() == world.embedded


def test_a_better_face_is_embedded_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda frame: 200)
    turned = iter([50.0, 50.0, 0.0] + [0.0] * 20)
    real = headpose.from_mesh

    def from_mesh(points: np.ndarray) -> headpose.Ray:
        return real(made_up_mesh(yaw=next(turned)))

    monkeypatch.setattr(headpose, "from_mesh", from_mesh)
    run(world, monkeypatch)
    assert world.embedded[:2] == [0, 24]


def test_an_unreadable_frontal_face_has_no_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda frame: 200, flag=0.2)
    piece = run(world, monkeypatch)
    assert np.isnan(piece.yaw).all()
    assert not piece.profile.any()
    assert world.embedded == []


def test_faces_nobody_claims_become_persons_and_unions_go() -> None:
    faces = [Face(np.array([x, 20, x + 40, 70.0]), 0.9, np.zeros((5, 2))) for x in (30, 130, 500)]
    persons = [Detection("person", s, np.array(b, float)) for s, b in
               ((0.8, (0, 0, 100, 300)), (0.8, (100, 0, 200, 300)), (0.5, (5, 0, 195, 300)))]  # fmt: skip
    kept, owner = with_faces(persons, faces, WIDTH, HEIGHT)
    assert [d.name for d in kept] == ["person", "person", "face"]
    assert owner.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("flags", "length"), [([], 0), ([0, 1, 1, 0, 1], 2), ([1, 1, 1], 3), ([0, 0], 0)])
def test_longest_run(flags: list[int], length: int) -> None:
    assert longest_run(np.array(flags, bool)) == length
