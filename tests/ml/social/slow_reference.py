"""The released rules once more, with plain loops over lists of dictionaries: to check `ml.social.compat` against.

Written from the published rules and from the choices `compat` documents where they are silent; it shares no code with
the package. A sample is {"t": seconds, "persons": {id: {"face": box | None, "gaze": point | None, "in": bool}}}.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

Sample = dict[str, Any]
Gaze = tuple[tuple[float, float], float, bool]  # point, confidence, measured
Found = tuple[str, float, float, tuple[int, ...], float]
EPS = 1e-6


def find(samples: list[Sample]) -> list[Found]:
    """(type, start seconds, end seconds, persons, confidence) of all events."""
    persons = sorted({person for sample in samples for person in sample["persons"]})
    gaze = {person: fill(samples, person) for person in persons}
    speed = {person: velocity(samples, person, gaze[person]) for person in persons}
    return [
        *shifts(samples, persons, speed),
        *joint(samples, persons, gaze),
        *following(samples, persons, gaze),
        *captures(samples, persons, speed),
        *mutual(samples, persons, gaze),
    ]


def face_of(sample: Sample, person: int) -> tuple[float, ...] | None:
    entry = sample["persons"].get(person)
    return entry["face"] if entry else None


def centre(box: tuple[float, ...]) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def fill(samples: list[Sample], person: int) -> list[Gaze | None]:
    """Gap filling over the samples from the first to the last that list the person."""
    listed = [at for at, sample in enumerate(samples) if person in sample["persons"]]
    result: list[Gaze | None] = [None] * len(samples)
    valid = []
    for at in listed:
        entry = samples[at]["persons"][person]
        if entry["face"] and entry["gaze"] and entry["in"]:
            result[at] = (entry["gaze"], 1.0, True)
            valid.append(at)
    cuts = []  # samples at which the face has jumped since it was last seen
    last = None
    for at in listed:
        box = face_of(samples[at], person)
        if box:
            if last and math.dist(centre(last), centre(box)) > 0.30:
                cuts.append(at)
            last = box

    def cut_between(a: int, b: int) -> bool:
        return any(min(a, b) < cut <= max(a, b) for cut in cuts)

    for at in range(listed[0], listed[-1] + 1):
        if at in valid or not valid:
            continue
        before = max((other for other in valid if other < at), default=None)
        after = min((other for other in valid if other > at), default=None)
        if before is not None and after is not None:
            gap = after - before - 1
            if cut_between(before, after) or gap > 10 or samples[after]["t"] - samples[before]["t"] > 3.0 + EPS:
                continue
            a, b = result[before], result[after]
            assert a and b
            if gap <= 3:
                share = (samples[at]["t"] - samples[before]["t"]) / (samples[after]["t"] - samples[before]["t"])
                x, y = (p + (q - p) * share for p, q in zip(a[0], b[0], strict=True))
                result[at] = ((x, y), 1 - 0.1 * gap, False)
            else:
                result[at] = (a[0], 0.5 * math.exp(-0.2 * (at - before)), False)
        else:
            anchor = after if before is None else before
            assert anchor is not None
            gap = after - listed[0] if before is None and after is not None else listed[-1] - anchor
            if gap > 10 or cut_between(at, anchor):
                continue
            known = result[anchor]
            assert known
            result[at] = (known[0], 0.5 * math.exp(-0.2 * abs(at - anchor)), False)
    return [entry if entry and face_of(samples[at], person) else None for at, entry in enumerate(result)]


def velocity(samples: list[Sample], person: int, gaze: list[Gaze | None]) -> list[float | None]:
    """Speeds listed over the samples that list the person, read by the sample's number in the file."""
    listed = [at for at, sample in enumerate(samples) if person in sample["persons"]]
    history: list[float | None] = [None]
    for a, b in zip(listed, listed[1:], strict=False):
        one, other = gaze[a], gaze[b]
        known = math.dist(one[0], other[0]) / (samples[b]["t"] - samples[a]["t"]) if one and other else None
        history.append(known)
    return history + [None] * (len(samples) - len(history))


def runs(samples: list[Sample], positive: list[int], gap: float) -> list[list[int]]:
    result: list[list[int]] = []
    for at in positive:
        if result and samples[at]["t"] - samples[result[-1][-1]]["t"] < gap - EPS:
            result[-1].append(at)
        else:
            result.append([at])
    return result


def shifts(samples: list[Sample], persons: list[int], speed: dict[int, list[float | None]]) -> list[Found]:
    found: list[Found] = []
    for person in persons:
        fast = [at for at, v in enumerate(speed[person]) if v is not None and v > 0.7]
        for run in runs(samples, fast, 0.6):
            start, end = samples[run[0]]["t"], samples[run[-1]]["t"]
            if 0.5 - EPS <= end - start <= 1.5 + EPS:
                peak = max(speed[person][at] or 0.0 for at in run)
                found.append(("sudden_gaze_shift", start, end, (person,), min(1.0, peak / 1.4)))
    return found


def joint(samples: list[Sample], persons: list[int], gaze: dict[int, list[Gaze | None]]) -> list[Found]:
    scores: dict[int, tuple[float, tuple[float, float], dict[int, tuple[float, float]]]] = {}
    for at in range(len(samples)):
        looks = {person: entry for person in persons if (entry := gaze[person][at]) and entry[1] >= 0.3}
        if len(looks) < 2:
            continue
        total = sum(entry[1] for entry in looks.values())
        x = sum(entry[0][0] * entry[1] for entry in looks.values()) / total
        y = sum(entry[0][1] * entry[1] for entry in looks.values()) / total
        median = statistics.median(math.dist((x, y), entry[0]) for entry in looks.values())
        score = math.exp(-3 * median) * total / len(looks)
        scores[at] = score, (x, y), {person: entry[0] for person, entry in looks.items()}
    found: list[Found] = []
    for run in runs(samples, [at for at in scores if scores[at][0] >= 0.6], 0.6):
        start, end = samples[run[0]]["t"], samples[run[-1]]["t"]
        if end - start < 0.5 - EPS:
            continue
        peak = max(run, key=lambda at: scores[at][0])
        _, middle, looks_at_peak = scores[peak]
        near = [person for person, point in looks_at_peak.items() if math.dist(point, middle) <= 0.20]
        who = near if len(near) >= 2 else list(looks_at_peak)
        found.append(("joint_attention", start, end, tuple(sorted(who)), statistics.fmean(scores[at][0] for at in run)))
    return found


def following(samples: list[Sample], persons: list[int], gaze: dict[int, list[Gaze | None]]) -> list[Found]:
    found: list[Found] = []
    for place, leader in enumerate(persons):
        for follower in persons[place + 1 :]:
            hits = []  # leader's sample, follower's sample, distance
            for at in range(len(samples)):
                one = gaze[leader][at]
                best = None
                for later in range(at + 1, len(samples)):
                    lag = samples[later]["t"] - samples[at]["t"]
                    other = gaze[follower][later]
                    if not (1.0 - EPS <= lag <= 2.0 + EPS and one and other and one[1] >= 0.5 and other[1] >= 0.5):
                        continue
                    distance = math.dist(one[0], other[0])
                    if best is None or distance**2 + 1e-12 < best[1] ** 2:
                        best = later, distance
                if best and best[1] <= 0.03:
                    hits.append((at, *best))
            events: list[list[tuple[int, int, float]]] = []
            for hit in hits:
                last = max(samples[other[1]]["t"] for other in events[-1]) if events else -math.inf
                if samples[hit[0]]["t"] <= last + 1.0 + EPS:
                    events[-1].append(hit)
                else:
                    events.append([hit])
            for event in events:
                confidence = 1 - min(hit[2] for hit in event) / 0.03
                if confidence >= 0.9:
                    end = max(samples[hit[1]]["t"] for hit in event)
                    found.append(("gaze_following", samples[event[0][0]]["t"], end, (leader, follower), confidence))
    return found


def captures(samples: list[Sample], persons: list[int], speed: dict[int, list[float | None]]) -> list[Found]:
    fast = {
        at: [person for person in persons if (v := speed[person][at]) is not None and v > 0.4]
        for at in range(len(samples))
    }
    found: list[Found] = []
    for run in runs(samples, [at for at in fast if len(fast[at]) >= 3], 0.5):
        means = []
        for at in run:
            known = [v for person in persons if (v := speed[person][at]) is not None]
            means.append(sum(known) / len(known))
        who = sorted({person for at in run for person in fast[at]})
        confidence = min(1.0, statistics.fmean(means) / 0.4)
        found.append(("attention_capture", samples[run[0]]["t"], samples[run[-1]]["t"], tuple(who), confidence))
    return found


def mutual(samples: list[Sample], persons: list[int], gaze: dict[int, list[Gaze | None]]) -> list[Found]:
    def hits(one: int, other: int, at: int) -> bool:
        look, box = gaze[one][at], face_of(samples[at], other)
        if not (look and look[2] and box):
            return False
        (x, y), m = look[0], 0.02
        return box[0] - m <= x <= box[2] + m and box[1] - m <= y <= box[3] + m

    found: list[Found] = []
    for place, one in enumerate(persons):
        for other in persons[place + 1 :]:
            met = [at for at in range(len(samples)) if hits(one, other, at) and hits(other, one, at)]
            for run in runs(samples, met, 1.5):
                start, end = samples[run[0]]["t"], samples[run[-1]]["t"]
                if end - start >= 1.0 - EPS:
                    found.append(("mutual_gaze", start, end, (one, other), min(1.0, 0.5 + 0.1 * len(run))))
    return found
