"""Which phrases a grounder with a fixed list of things can look for: words for people, and the 80 COCO classes.

The head of a phrase decides, and whole words only: "man in red shirt" is a person, "romantic mood", "emancipated" and
"mankind" are not; "phone case" is no phone, "hot dog" no dog. A part of a body is no person: "human face", "the woman's
hand" are not in the vocabulary, since a mask of the whole person would bear out a claim about a face that nobody saw.
Where a word has several meanings of which the list knows one ("glass", "bag", "plant", "screen"), the word is left out:
"not in the vocabulary" accuses nobody, a thing that is not found does.

What a phrase says beyond its category ("woman", "red", "two", "on the left") is `beyond`: a mask alone bears out none
of it. The lists are English and heuristic; so is the choice of a negative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

PERSON = "person"


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# category -> other words for it; words of the category's own name are added, plurals are made (see `_forms`)
COCO: dict[str, str] = {
    "bicycle": "bike, pushbike, cycle",
    "car": "automobile, sedan, sports car, taxi, cab, suv",
    "motorcycle": "motorbike, motor bike, motor scooter",
    "airplane": "aeroplane, plane, airliner, aircraft, jet plane",
    "bus": "coach bus, school bus, minibus",
    "train": "locomotive, railway train",
    "truck": "lorry, pickup truck, fire truck",
    "boat": "rowboat, sailboat, motorboat, canoe, kayak, fishing boat",
    "traffic light": "traffic signal, stoplight",
    "fire hydrant": "hydrant",
    "stop sign": "",
    "parking meter": "",
    "bench": "park bench",
    "bird": "pigeon, seagull, sparrow, duck, goose, parrot",
    "cat": "kitten, kitty",
    "dog": "puppy, doggy",
    "horse": "pony, foal",
    "sheep": "lamb",
    "cow": "calf, cattle",
    "elephant": "",
    "bear": "grizzly, polar bear",
    "zebra": "",
    "giraffe": "",
    "backpack": "rucksack, knapsack, school bag, back pack",
    "umbrella": "parasol",
    "handbag": "purse, hand bag, shoulder bag",
    "tie": "necktie, neck tie, bow tie",
    "suitcase": "trolley case, luggage",
    "frisbee": "flying disc",
    "skis": "ski",
    "snowboard": "snow board",
    "sports ball": "ball, football, basketball, volleyball, soccer ball, tennis ball, beach ball",
    "kite": "",
    "baseball bat": "",
    "baseball glove": "baseball mitt",
    "skateboard": "skate board",
    "surfboard": "surf board",
    "tennis racket": "racket, racquet, tennis racquet",
    "bottle": "water bottle, wine bottle, beer bottle",
    "wine glass": "wineglass, goblet, champagne glass",
    "cup": "mug, teacup, coffee cup, tea cup, paper cup, coffee mug",
    "fork": "",
    "knife": "",
    "spoon": "teaspoon, tablespoon",
    "bowl": "",
    "banana": "",
    "apple": "",
    "sandwich": "",
    "orange": "",
    "broccoli": "",
    "carrot": "",
    "hot dog": "hotdog",
    "pizza": "",
    "donut": "doughnut",
    "cake": "cupcake, birthday cake",
    "chair": "armchair, office chair, arm chair, wheelchair",
    "couch": "sofa, settee, loveseat",
    "potted plant": "houseplant, house plant, pot plant",
    "bed": "",
    "dining table": "table, dinner table, kitchen table",
    "toilet": "toilet bowl",
    "tv": "television, tv set, television set, tv screen, monitor, computer monitor",
    "laptop": "laptop computer, notebook computer",
    "mouse": "computer mouse",
    "remote": "remote control, tv remote",
    "keyboard": "computer keyboard",
    "cell phone": "cellphone, phone, smartphone, mobile phone, mobile, smart phone, telephone",
    "microwave": "microwave oven",
    "oven": "stove",
    "toaster": "",
    "sink": "washbasin, wash basin",
    "refrigerator": "fridge",
    "book": "textbook, paperback",
    "clock": "wall clock, alarm clock",
    "vase": "",
    "scissors": "",
    "teddy bear": "teddy, stuffed bear",
    "hair drier": "hair dryer, hairdryer, blow dryer",
    "toothbrush": "tooth brush",
}

# the same kind of thing, those first that are seldom in a social scene: the first one nobody speaks of is the negative
KINDS: tuple[tuple[str, ...], ...] = (
    ("giraffe", "elephant", "zebra", "bear", "cow", "sheep", "horse", "bird", "cat", "dog"),
    ("airplane", "boat", "train", "bus", "truck", "motorcycle", "bicycle", "car"),
    ("fire hydrant", "parking meter", "stop sign", "traffic light", "bench"),
    ("suitcase", "umbrella", "backpack", "handbag", "tie"),
    ("snowboard", "surfboard", "skis", "kite", "baseball glove", "frisbee", "skateboard", "baseball bat",
     "tennis racket", "sports ball"),
    ("fork", "knife", "spoon", "wine glass", "bowl", "bottle", "cup"),
    ("broccoli", "carrot", "hot dog", "donut", "pizza", "banana", "orange", "sandwich", "apple", "cake"),
    ("toilet", "bed", "potted plant", "couch", "dining table", "chair"),
    ("toaster", "microwave", "refrigerator", "oven", "sink", "mouse", "keyboard", "remote", "laptop", "tv",
     "cell phone"),
    ("hair drier", "toothbrush", "scissors", "teddy bear", "vase", "clock", "book"),
)  # fmt: skip

# these say no more than that somebody is there
ANYBODY = _set(
    "person persons people human humans individual individuals somebody someone anybody anyone everybody everyone "
    "participant participants figure figures"
)
# these say more: sex, age, kinship, work; a mask cannot bear it out
PEOPLE = _set(
    """
    man men woman women boy boys girl girls child children kid kids baby babies infant infants toddler toddlers
    teenager teenagers teen teens adult adults lady ladies gentleman gentlemen guy guys male males female females
    youngster youngsters elder elders senior seniors pensioner
    mother mothers mom moms mum mums father fathers dad dads parent parents grandmother grandma grandfather grandpa
    grandparent grandparents brother brothers sister sisters sibling siblings son sons daughter daughters husband wife
    couple couples uncle aunt cousin cousins nephew niece twins friend friends colleague colleagues partner partners
    boyfriend girlfriend neighbour neighbours neighbor neighbors
    speaker speakers listener listeners interviewer interviewee host hosts hostess guest guests audience crowd group
    groups family families team teams passerby bystander bystanders stranger strangers
    actor actors actress actresses singer singers musician musicians dancer dancers player players athlete athletes
    coach teacher teachers student students pupil pupils professor doctor doctors nurse nurses patient patients
    surgeon scientist scientists researcher researchers engineer engineers worker workers waiter waiters waitress
    waitresses chef cook cooks customer customers client clients cashier driver drivers rider riders officer officers
    policeman policewoman soldier soldiers firefighter firefighters judge lawyer boss manager employee employees
    reporter journalist presenter photographer artist farmer bride groom king queen pedestrian pedestrians cyclist
    cyclists swimmer runner
    """
)

# "group of people", "slice of pizza": what follows "of" is the thing
MEASURES = _set(
    "group groups pair pairs couple couples crowd crowds bunch row rows line set sets number lot lots slice slices "
    "piece pieces stack stacks pile piles handful team family circle"
)
# a thing that is made like another is not that other
UNREAL = _set(
    "toy toys fake cartoon plush stuffed inflatable miniature rocking pool picnic "
    "billiard hair cable gaming piano musical sea clothes christmas operating changing massage ping pong"
)
DETERMINERS = _set(
    "a an the this that these those his her their its my your our some any each every another other own same "
    "both all one no which very"
)
LINKS = _set(
    "in on at with without of by near beside besides behind before under over above below from to into onto toward "
    "towards next across around against along between inside outside off for like as and or who whom whose that which "
    "is are was were being having has have dressed"
)
DOING = _set(
    "wearing holding carrying sitting seated standing lying looking facing walking talking speaking pointing leaning "
    "using riding playing eating drinking reading smiling laughing"
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_OWNER = re.compile(r"['’]s?\b|s['’](?=\s)")


def words(phrase: str) -> list[str]:
    """The words of a phrase in small letters; hyphens part words, and whose something is ("woman's") goes."""
    parts = _OWNER.split(phrase.lower())
    return _WORD.findall(parts[-1]) if len(parts) > 1 and _WORD.search(parts[-1]) else _WORD.findall(phrase.lower())


def head(phrase: str) -> list[str]:
    """The words up to the head noun, determiners left out: "the tall man in red" gives tall, man."""
    every = [w for w in words(phrase) if w not in DETERMINERS]
    ends = (word in LINKS or (word in DOING and every[k - 1] in _nouns()) for k, word in enumerate(every))
    end = next((k for k, is_end in enumerate(ends) if is_end and k), len(every))
    group = every[:end]
    if group and group[-1] in MEASURES and every[end : end + 1] == ["of"] and (rest := " ".join(every[end + 1 :])):
        return head(rest)
    while group and group[-1].isdigit():  # "person 2"
        group = group[:-1]
    return group


def _forms(word: str) -> set[str]:
    """A word or words, with the plural of the last."""
    if word.endswith(("s", "x", "ch", "sh")):
        many = word + "es"
    elif word.endswith("y") and word[-2] not in "aeiou":
        many = word[:-1] + "ies"
    elif word.endswith("fe"):
        many = word[:-2] + "ves"
    else:
        many = word + "s"
    irregular = {
        "mouse": "mice",
        "computer mouse": "computer mice",
        "sheep": "sheep",
        "goose": "geese",
        "calf": "calves",
    }
    return {word, irregular.get(word, many)}


@cache
def _class_of() -> dict[tuple[str, ...], str]:
    """Words -> COCO class."""
    found: dict[tuple[str, ...], str] = {}
    for category, others in COCO.items():
        for word in (category, *filter(None, others.split(", "))):
            found.update(dict.fromkeys((tuple(form.split()) for form in _forms(word)), category))
    return found


@cache
def _nouns() -> frozenset[str]:
    """Words after which "sitting" begins what somebody does; before them it is an attribute ("sitting man")."""
    return ANYBODY | PEOPLE | {name[-1] for name in _class_of()}


@dataclass(frozen=True)
class Vocabulary:
    """What can be looked for. `open`: everything; the categories are still those of the list."""

    open: bool = False

    def knows(self, phrase: str) -> bool:
        """Whether it can be looked for at all."""
        return self.open or self.category(phrase) is not None

    def category(self, phrase: str) -> str | None:
        """ "person" for words for people, else the COCO class, in words ("dining table"); None for any other."""
        group = head(phrase)
        if not group or UNREAL & set(group[:-1]):
            return _class_of().get(tuple(group))
        for length in range(len(group), 0, -1):  # "hot dog" before "dog"
            if (found := _class_of().get(tuple(group[-length:]))) is not None:
                return found
        return PERSON if group[-1] in ANYBODY or group[-1] in PEOPLE else None

    def beyond(self, phrase: str) -> tuple[str, ...]:
        """The words that say more than the category does, in order, each once; all words where there is none."""
        group, category = head(phrase), self.category(phrase)
        idle = DETERMINERS | LINKS | (MEASURES - set(group))
        rest = [w for w in words(phrase) if w not in idle]
        if category == PERSON:
            own = {w for w in group[-1:] if w in ANYBODY}
            rest = [w for w in rest if w not in own and not w.isdigit()]
        elif category is not None:
            length = next(n for n in range(len(group), 0, -1) if tuple(group[-n:]) in _class_of())
            own = set(group[-length:])
            rest = [w for w in rest if w not in own]
        return tuple(dict.fromkeys(rest))

    def negative(self, phrase: str, taken: Iterable[str] = ()) -> str | None:
        """A thing of the same kind that neither the phrase nor any of `taken` (phrases) names, which can be looked for;
        for people an animal. None for a phrase that is not known."""
        category = self.category(phrase)
        if category is None and not self.open:
            return None
        spoken = {self.category(other) for other in taken} | {category}
        own = next((kind for kind in KINDS if category in kind), KINDS[0] if category == PERSON else KINDS[2])
        kinds = (own, *(kind for kind in KINDS if kind is not own))
        return next((name for kind in kinds for name in kind if name not in spoken), None)


EMBEDDED = Vocabulary()
OPEN = Vocabulary(open=True)
