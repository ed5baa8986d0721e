"""One mutator for every fault of a single item: it spoils a clean item in place, or says it cannot (False).

Mutators know nothing of the linter: each does what a careless writer or a wrong tool would do.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from tests.ml.questions.lint.clean import LETTERS, Made

Mutator = Callable[[random.Random, Made], bool]
MUTATORS: dict[str, list[Mutator]] = {}


def spoils(code: str) -> Callable[[Mutator], Mutator]:
    def keep(mutator: Mutator) -> Mutator:
        MUTATORS.setdefault(code, []).append(mutator)
        return mutator

    return keep


def _key(made: Made) -> int:
    return LETTERS.index(made.qa["answer"])


def _wrong(rng: random.Random, made: Made) -> int:
    return rng.choice([at for at in range(4) if at != _key(made)])


def _text(made: Made, at: int) -> str:
    return str(made.qa["options"][at])[3:]


def _set(made: Made, at: int, text: str) -> None:
    made.qa["options"][at] = f"{LETTERS[at]}) {text}"
    if at == _key(made):
        made.qa["answer_text"] = text


def _durations(made: Made) -> bool:
    return all("seconds" in option for option in made.qa["options"])


def _is(made: Made, *codes: str) -> bool:
    return made.qa["category"] in codes


# ------------------------------------------------------------------------------------------------------------- shape


@spoils("malformed_item")
def wrong_type(rng: random.Random, made: Made) -> bool:
    field, value = rng.choice([("question", 3), ("options", "A) x"), ("answer", ["A"]), ("time_range", [1.0]),
                               ("time_range", "1-2"), ("category", {}), ("source_event_ids", 7)])  # fmt: skip
    made.qa[field] = value
    return True


@spoils("malformed_item")
def no_question(rng: random.Random, made: Made) -> bool:
    del made.qa["question"]
    return True


@spoils("missing_field")
def emptied(rng: random.Random, made: Made) -> bool:
    field = rng.choice(["question", "answer", "category", "time_range"])
    if field in ("question", "answer") and rng.random() < 0.5:
        made.qa[field] = "  "
    elif field == "question":
        made.qa[field] = ""
    else:
        del made.qa[field]
    return True


@spoils("missing_context")
def no_context(rng: random.Random, made: Made) -> bool:
    del made.tree[rng.choice(["clip_file", "clip_duration", "clip_offset", "video_name"])]
    return True


@spoils("unknown_format")
def other_format(rng: random.Random, made: Made) -> bool:
    made.qa["format"] = rng.choice(["multiple", "MCQ", "choice", "open", ""])
    return True


@spoils("option_count")
def fewer_or_more(rng: random.Random, made: Made) -> bool:
    if rng.random() < 0.5:
        made.qa["options"].append("E) Somebody else")
    else:
        made.qa["options"].pop()
    return True


@spoils("option_letters")
def letters_wrong(rng: random.Random, made: Made) -> bool:
    options = made.qa["options"]
    if rng.random() < 0.5:
        options[0], options[1] = options[1], options[0]
    else:
        options[rng.randrange(4)] = "Z) Person 0"
    return True


@spoils("empty_option")
def emptied_option(rng: random.Random, made: Made) -> bool:
    made.qa["options"][_wrong(rng, made)] = rng.choice(["", "B) ", "   "])
    return True


@spoils("answer_letter")
def no_such_letter(rng: random.Random, made: Made) -> bool:
    made.qa["answer"] = rng.choice(["E", "a", "AB", "1", "Person 1", "Z"])
    return True


@spoils("answer_text_mismatch")
def other_option_s_text(rng: random.Random, made: Made) -> bool:
    made.qa["answer_text"] = _text(made, _wrong(rng, made))
    return True


@spoils("answer_text_mismatch")
def other_person(rng: random.Random, made: Made) -> bool:
    found = re.search(r"Person (\d)", made.qa["answer_text"])
    if found:
        made.qa["answer_text"] = made.qa["answer_text"].replace(found[0], "Person 31")
    return bool(found)


@spoils("answer_text_mismatch")
def key_moved(rng: random.Random, made: Made) -> bool:
    made.qa["answer"] = LETTERS[_wrong(rng, made)]
    return True


@spoils("short_open_answer")
def short_answer(rng: random.Random, made: Made) -> bool:
    made.qa.update(format="open_ended", options=[], answer=rng.choice(["Person 2.", "It is Person 3.", "Yes"]))
    made.qa["answer_text"] = None
    return True


@spoils("open_not_allowed")
def open_where_none_is(rng: random.Random, made: Made) -> bool:
    made.qa.update(format="open_ended", options=[], answer="They look at each other from 1.5 s on.")
    return not _is(made, "T6", "G5", "C3", "C4")


@spoils("unknown_category")
def no_such_code(rng: random.Random, made: Made) -> bool:
    made.qa["category"] = rng.choice(["T9", "T1a", "t1", "gaze", "C5", "J9", "mutual gaze"])
    return True


@spoils("difficulty_mismatch")
def other_difficulty(rng: random.Random, made: Made) -> bool:
    made.qa["difficulty"] = rng.choice(sorted({"easy", "medium", "hard", "Hard"} - {made.qa["difficulty"]}))
    return True


# ----------------------------------------------------------------------------------------------------------- options


@spoils("duplicate_options")
def doubled(rng: random.Random, made: Made) -> bool:
    at = _wrong(rng, made)
    text = _text(made, rng.choice([other for other in range(4) if other != at]))
    _set(made, at, rng.choice([text, text.upper(), f"{text}.", f"  {text}"]))
    return True


@spoils("duplicate_options")
def turned_pair(rng: random.Random, made: Made) -> bool:
    found = re.fullmatch(r"(Person \d) and (Person \d)", _text(made, _key(made)))
    if found:
        _set(made, _wrong(rng, made), rng.choice([f"{found[2]} and {found[1]}", f"Persons {found[2][7:]} and "
                                                  f"{found[1][7:]}"]))  # fmt: skip
    return bool(found)


@spoils("duplicate_options")
def same_duration(rng: random.Random, made: Made) -> bool:
    if not _durations(made):
        return False
    _set(made, _wrong(rng, made), _text(made, _key(made)).replace(" seconds", rng.choice([" s", "s", " sec"])))
    return True


@spoils("near_duplicate_options")
def filler(rng: random.Random, made: Made) -> bool:
    text = _text(made, _key(made))
    if not re.search("gaze|attention|ing$", text) or "Person" in text:
        return False
    _set(
        made,
        _wrong(rng, made),
        rng.choice([f"It is {text.lower()}", f"This is {text.lower()}", f"{text.lower()} then"]),
    )
    return True


@spoils("near_duplicate_options")
def misspelt(rng: random.Random, made: Made) -> bool:
    text = _text(made, _key(made))
    word = max(re.findall(r"[a-z]+", text), key=len, default="")
    if len(word) < 8 or "Person" in text:
        return False
    _set(made, _wrong(rng, made), text.replace(word, word[:4] + word[5:]))
    return True


@spoils("options_too_close")
def hardly_apart(rng: random.Random, made: Made) -> bool:
    if not _durations(made):
        return False
    right = float(_text(made, _key(made)).split()[0])
    _set(made, _wrong(rng, made), f"{right + rng.choice([-0.2, -0.1, 0.1, 0.2]):.1f} seconds")
    return True


# ------------------------------------------------------------------------------------------------------------- times


def _times(made: Made) -> list[str]:
    return re.findall(r"\d+\.\d s", made.qa["question"])


@spoils("time_outside_clip")
def beyond_the_clip(rng: random.Random, made: Made) -> bool:
    cited = _times(made)
    if len(cited) == 1:
        made.qa["question"] = made.qa["question"].replace(cited[0], f"{rng.uniform(200, 900):.1f} s")
    return len(cited) == 1


@spoils("time_outside_clip")
def range_elsewhere(rng: random.Random, made: Made) -> bool:
    start, end = made.qa["time_range"]
    by = rng.choice([200.0, 1000.0])
    made.qa["time_range"] = [start + by, end + by]
    return True


@spoils("time_outside_clip")
def negative_offset(rng: random.Random, made: Made) -> bool:
    made.tree["clip_offset"] = -rng.uniform(1, 9)
    return True


@spoils("time_inverted")
def turned_range(rng: random.Random, made: Made) -> bool:
    made.qa["time_range"].reverse()
    return True


@spoils("time_inverted")
def turned_span(rng: random.Random, made: Made) -> bool:
    found = re.search(r"from (\S+ s) to (\S+ s)", made.qa["question"])
    if found:
        made.qa["question"] = made.qa["question"].replace(found[0], f"from {found[2]} to {found[1]}")
    return bool(found)


def _to_source(text: str, offset: float) -> str:
    return re.sub(r"\d+\.\d(?= s)", lambda match: f"{float(match[0]) + offset:.1f}", text)


@spoils("source_time_in_question")
def source_question(rng: random.Random, made: Made) -> bool:
    if not _times(made):
        return False
    made.qa["question"] = _to_source(made.qa["question"], made.tree["clip_offset"])
    return True


@spoils("source_time_in_reasoning")
def source_reasoning(rng: random.Random, made: Made) -> bool:
    """What the released files do."""
    moved = _to_source(made.qa["reasoning"], made.tree["clip_offset"])
    changed = moved != made.qa["reasoning"]
    made.qa["reasoning"] = moved
    return changed


@spoils("duration_not_positive")
def no_length(rng: random.Random, made: Made) -> bool:
    if not _durations(made):
        return False
    _set(made, rng.randrange(4), rng.choice(["0.0 seconds", "0 seconds", "-1.5 seconds"]))
    return True


@spoils("duration_not_positive")
def no_clip(rng: random.Random, made: Made) -> bool:
    made.tree["clip_duration"] = rng.choice([0, 0.0, -2.5])
    return True


@spoils("empty_time_range")
def no_range(rng: random.Random, made: Made) -> bool:
    made.qa["time_range"][1] = made.qa["time_range"][0]
    return True


# ------------------------------------------------------------------------------------------------------------ people


@spoils("person_not_visible")
def not_drawn(rng: random.Random, made: Made) -> bool:
    everybody = sorted(
        {int(n) for n in re.findall(r"Person (\d)", " ".join([made.qa["question"], *made.qa["options"]]))}
    )
    if everybody:
        hidden = rng.choice(everybody)
        made.tree["persons"] = [number for number in range(9) if number != hidden]
    return bool(everybody)


@spoils("person_without_event")
def stranger(rng: random.Random, made: Made) -> bool:
    if "Person" in made.qa["question"]:
        made.qa["question"] = re.sub(r"Person \d", f"Person {rng.randrange(40, 99)}", made.qa["question"], count=1)
    else:
        _set(made, _wrong(rng, made), f"Person {rng.randrange(40, 99)}")
    return True


@spoils("person_form")
def small_letter(rng: random.Random, made: Made) -> bool:
    made.qa["question"] = re.sub(r"Person (\d)", rng.choice([r"person \1", r"p\1"]), made.qa["question"], count=1)
    return "Person" in made.qa["answer_text"] and re.search(r"\bp(erson )?\d", made.qa["question"]) is not None


# ----------------------------------------------------------------------------------------------------------- wording

WORDS = ["suggesting", "indicating", "likely", "because", "implies", "emotion", "feeling", "probably", "seems"]


@spoils("speculative_word")
def guessing(rng: random.Random, made: Made) -> bool:
    word = rng.choice(WORDS)
    where = rng.randrange(3)
    if where == 0:
        made.qa["question"] = made.qa["question"].replace("?", f", {word}?")
    elif where == 1:
        made.qa["answer_text"] += f", {word}"
    else:
        made.qa["options"][_wrong(rng, made)] += f" {word.upper()} so"
    return True


OTHER_GROUP = {"T": ("G1", "G2", "G3", "G4"), "G": ("T1", "T2", "T3", "T4"), "C": ("T1", "T4", "G1", "G2")}


@spoils("category_mismatch")
def other_group(rng: random.Random, made: Made) -> bool:
    made.qa["category"] = rng.choice(OTHER_GROUP[made.qa["category"][0]])
    return True


@spoils("category_mismatch")
def within_group(rng: random.Random, made: Made) -> bool:
    swaps = {"T2": "T1", "T3": "T4", "T4": "T3", "T6": "T1", "G2": "G1", "G3": "G4", "G4": "G2", "G6": "G3", "G1": "G4"}
    code = made.qa["category"]
    made.qa["category"] = swaps.get(code, code)
    return code in swaps


@spoils("answer_in_question")
def given_away(rng: random.Random, made: Made) -> bool:
    thing = rng.choice(["the red cup", "a blue folder", "the round table", "an old lamp"])
    others = rng.sample(["the window", "a green plant", "the door handle", "a tall chair"], 3)
    key = _key(made)
    made.qa["question"] = f"When Person 1 reaches for {thing}, what does Person 1 reach for?"
    made.qa["category"], made.qa["difficulty"] = "G1", "easy"
    for at in range(4):
        _set(made, at, thing if at == key else others.pop())
    return True


# ------------------------------------------------------------------------------------------------------------ claims


READ = ("T1", "T2", "T3", "T4", "T5", "T6", "G1", "G2", "G3", "G4", "C2", "C3")


@spoils("key_contradicted")
def wrong_key(rng: random.Random, made: Made) -> bool:
    """Letter and text agree; only the events say otherwise."""
    at = _wrong(rng, made)
    made.qa["answer"], made.qa["answer_text"] = LETTERS[at], _text(made, at)
    return _is(made, *READ)


@spoils("key_contradicted")
def moved_events(rng: random.Random, made: Made) -> bool:
    """The question's moment is before anything happens."""
    for event in [*made.events, *made.gestures]:
        event["start_time"] += 30.0
        event["end_time"] += 30.0
    made.qa["source_event_ids"] = []
    return _is(made, "T1", "T4", "T5", "G1", "G2")


@spoils("second_true_option")
def another_event(rng: random.Random, made: Made) -> bool:
    """An event like the key's with the persons of a wrong option."""
    other = [int(number) for number in re.findall(r"Person (\d)", _text(made, _wrong(rng, made)))]
    right = [int(number) for number in re.findall(r"Person (\d)", made.qa["answer_text"])]
    events = made.events if _is(made, "T1", "T4", "T5", "C2") else made.gestures
    if not _is(made, "T1", "T4", "T5", "G1", "C2"):
        return False
    swap = dict(zip(right, other, strict=True)) | dict(zip(other, right, strict=True))

    def swapped(value: Any) -> Any:
        return [swap.get(v, v) for v in value] if isinstance(value, list) else swap.get(value, value)

    keys = ("persons_involved", "target_person_id")
    twin = {name: swapped(value) if name in keys else value for name, value in events[0].items()}
    if "event_id" in twin:
        twin["event_id"] += 40
        twin["details"] = {name: swapped(value) for name, value in twin["details"].items()}
    events.append(twin)
    return True


@spoils("second_true_option")
def other_type(rng: random.Random, made: Made) -> bool:
    """The same persons do another thing at the same time."""
    if _is(made, "T2") and made.events[0]["event_type"] != "joint_attention":
        made.events.append(made.events[0] | {"event_id": 1950, "event_type": "joint_attention", "details": {}})
        return True
    if _is(made, "G2"):
        kinds = {"pointing", "giving"} - {made.gestures[0]["gesture_type"]}
        made.gestures.append(made.gestures[0] | {"gesture_type": sorted(kinds)[0]})
        return True
    return False


@spoils("unknown_event")
def no_such_event(rng: random.Random, made: Made) -> bool:
    made.qa["source_event_ids"] = [rng.choice([3500, 4999, 1777])]
    return _is(made, "T1", "T2", "T3", "T4", "T5", "T6")


@spoils("event_outside_range")
def other_event(rng: random.Random, made: Made) -> bool:
    if not made.events:
        return False
    made.events.append(made.events[0] | {"event_id": made.events[0]["event_id"] + 30, "start_time": 300.0,
                                         "end_time": 303.0})  # fmt: skip
    made.qa["source_event_ids"] = [made.events[-1]["event_id"]]
    return True
