"""From GRASP files to the graph file and GraphML, in memory and on the command line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx
import pytest

from ml.formats import grasp_graph
from ml.formats.grasp_events import EventRecord, EventsFile
from ml.formats.grasp_events import build as build_events
from ml.formats.grasp_gestures import GestureRecord, GesturesFile
from ml.formats.grasp_gestures import build as build_gestures
from ml.social.graph import GRASP_COMPAT, STRICT, GraphPreset, SocialGraph, build
from ml.social.graph.__main__ import main
from ml.social.graph.graphml import to_graphml, to_networkx
from ml.social.graph.grasp import events_of, graph_file
from ml.social.graph.model import GraphEvent


def files() -> tuple[EventsFile, GesturesFile]:
    """Mutual gaze of 0 and 1 at 1-3 s, following (2 leads 0) at 4-5 s; 1 points at 0 at 2-4 s, 3 reaches at 20-21 s."""
    gaze = EventsFile(
        "in/clip.mp4",
        30.0,
        2.0,
        [
            EventRecord(4000, "mutual_gaze", 1.0, 3.0, 30, 90, 0.9, (0, 1)),
            EventRecord(2000, "gaze_following", 4.0, 5.0, 120, 150, 0.8, (0, 2), {"leader_id": 2, "follower_id": 0}),
        ],
    )
    gestures = GesturesFile(
        "clip.mp4",
        [
            GestureRecord("pointing", 1, 2.0, 4.0, "person", 0, "the other one", 0.95),
            GestureRecord("reaching", 3, 20.0, 21.0, "object", None, "a <cup>\x01", 0.9),
        ],
    )
    return gaze, gestures


def graph(preset: GraphPreset = STRICT) -> SocialGraph:
    return build(events_of(*files()), preset)


def test_roles_and_sentences_come_from_the_files() -> None:
    found = {event.id: event for event in graph().events}
    assert found["gaze 2000"].roles == (("2", "leader"), ("0", "follower"))
    assert found["gesture 0"].roles == (("1", "initiator"), ("0", "target"))
    assert [found[i].description for i in ("gaze 4000", "gaze 2000", "gesture 0", "gesture 1")] == [
        "Person 0 and Person 1 look at each other.",
        "Person 0 follows the gaze of Person 2.",
        "Person 1 points at Person 0.",
        "Person 3 reaches towards an object.",
    ]


def test_the_file_has_the_released_layout() -> None:
    tree = grasp_graph.build(graph_file(graph(GRASP_COMPAT), "clip"))
    counts = [tree[key] for key in grasp_graph.COUNTS]
    assert counts == [4, 4, 2, 2, 2]
    assert tree["cross_modal_pairs"] == [
        {"gaze_idx": 0, "gesture_idx": 1, "relation": "overlap", "seconds": 1.0},
        {"gaze_idx": 2, "gesture_idx": 1, "relation": "adjacent", "gap": 0.0},
    ]
    assert tree["events"][2] == {
        "source": "gaze", "type": "gaze_following", "start_time": 4.0, "end_time": 5.0, "confidence": 0.8,
        "description": "Person 0 follows the gaze of Person 2.", "persons_involved": [2, 0], "leader_id": 2,
        "follower_id": 0, "start_frame": 120, "end_frame": 150, "event_id": 2000,
    }  # fmt: skip
    assert tree["graph"]["persons"] == [0, 1, 2, 3]
    assert tree["graph"]["shares_person"] == [[0, 1, [0, 1]], [2, 1, [0]]]
    assert tree["graph"]["before"] == [[0, 2], [1, 2], [2, 3]]
    assert grasp_graph.parse(json.dumps(tree)) == graph_file(graph(GRASP_COMPAT), "clip")


@pytest.mark.parametrize("preset", [GRASP_COMPAT, STRICT], ids=lambda p: p.name)
def test_networkx_reads_the_graphml_with_the_same_counts(preset: GraphPreset) -> None:
    made = graph(preset)
    read = networkx.read_graphml(io.BytesIO(to_graphml(made)), force_multigraph=True)
    kinds = [data["kind"] for _, data in read.nodes(data=True)]
    assert (kinds.count("person"), kinds.count("event")) == (len(made.persons), len(made.events)) == (4, 4)
    edges = [data["kind"] for _, _, data in read.edges(data=True)]
    overlaps = int(made.links.overlap.sum())
    assert {kind: edges.count(kind) for kind in set(edges)} == {
        "participates": sum(len(event.roles) for event in made.events),
        "overlaps": overlaps,
        "adjacent": len(made.links) - overlaps,
        "shares_person": int(made.links.shared.sum()),
        "before": len(made.before),
    }
    ours = to_networkx(made)
    assert set(read.edges()) == set(ours.edges()) and read.number_of_edges() == ours.number_of_edges()
    assert read.nodes["gesture 1"]["target_description"] == "a <cup>"  # no control character in XML
    assert read.nodes["gaze 4000"]["start_s"] == 1.0
    measured = {(a, b, d["kind"]): d for a, b, d in read.edges(data=True)}
    assert measured["gaze 4000", "gesture 0", "overlaps"]["seconds"] == 1.0
    assert measured["gaze 2000", "gesture 0", "adjacent"]["gap_s"] == 0.0
    assert measured["gaze 4000", "gesture 0", "shares_person"]["persons"] == "0 1"


# ---------------------------------------------------------------------------------------------------------------------
# Command line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    gaze, gestures = files()
    (tmp_path / "events.json").write_text(json.dumps(build_events(gaze)))
    (tmp_path / "gestures.json").write_text(json.dumps(build_gestures(gestures)))
    return tmp_path


def call(folder: Path, *more: str) -> int:
    names = [str(folder / name) for name in ("events.json", "gestures.json", "out.json")]
    return main([*names, *more])


def test_the_command_writes_both_files(folder: Path, capsys: Any) -> None:
    assert call(folder, "--preset", "grasp-compat", "--graphml", str(folder / "out.graphml")) == 0
    assert "4 events, 1 overlapping and 1 adjacent pairs written to" in capsys.readouterr().out
    parsed = grasp_graph.parse((folder / "out.json").read_bytes())
    assert parsed.video_name == "clip" and len(parsed.pairs) == 2
    assert networkx.read_graphml(folder / "out.graphml").number_of_nodes() == 8


def test_the_same_files_give_the_same_bytes(folder: Path) -> None:
    written = []
    for seed in ("0", "1"):
        args = [sys.executable, "-m", "ml.social.graph", "events.json", "gestures.json", "o.json", "--graphml", "o.xml"]
        root = str(Path(__file__).parents[4])
        subprocess.run(args, cwd=folder, check=True, env={"PYTHONHASHSEED": seed, "PYTHONPATH": root})
        written.append([(folder / name).read_bytes() for name in ("o.json", "o.xml")])
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("events.json", "{", "events.json: line 1, column 2: not valid JSON"),
        ("gestures.json", '{"video_path": "a", "gestures": [1]}', "gestures.json: gestures[0]: expected an object"),
        ("gestures.json", None, "gestures.json: No such file or directory."),
    ],
)
def test_a_bad_file_is_named_in_one_sentence(
    folder: Path, capsys: Any, name: str, content: str | None, sentence: str
) -> None:
    (folder / name).unlink() if content is None else (folder / name).write_text(content)
    assert call(folder) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1
    assert not (folder / "out.json").exists()


def test_files_of_two_videos_are_noted(folder: Path, capsys: Any) -> None:
    gestures = files()[1]
    gestures.video_path = "other.mp4"
    (folder / "gestures.json").write_text(json.dumps(build_gestures(gestures)))
    assert call(folder) == 0
    assert "linked all the same" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("type", "roles"), [("pointing", ("initiator", "target")), ("gaze_following", ("leader", "follower"))]
)
def test_whoever_leads_stands_first_in_whatever_order_roles_are_stored(type: str, roles: tuple[str, str]) -> None:
    """The studio's persons come in the order of their ids; here the one who is pointed at comes first."""
    source = "gesture" if type == "pointing" else "gaze"
    event = GraphEvent(
        id="1",
        source=source,
        type=type,
        start_s=1.0,
        end_s=2.0,
        roles=(("a", roles[1]), ("b", roles[0])),
        confidence=1.0,
    )
    file = graph_file(build([event], STRICT), "clip", {"a": 5, "b": 3})
    assert file.events[0].persons_involved == (3, 5)
    if source == "gesture":
        tree = grasp_graph.build(file)["events"][0]
        assert (tree["initiator_id"], tree["target_person_id"]) == (3, 5)
