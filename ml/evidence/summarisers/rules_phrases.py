"""Noun phrases of an English claim that could be looked for, each with its head and at most two visible attributes.

"a tall man in a red, striped shirt" -> "man in red striped shirt"; "a red, round cup and a blue plate" -> two. Words
for what no picture shows (moments, moods, directions) and parts of the film itself are left out by a list: a heuristic.
"""

from __future__ import annotations

from ml.evidence.package import MOST_WORDS, Phrase
from ml.evidence.summarisers import rules_words as lexicon
from ml.evidence.summarisers.rules_tagger import Sentence
from ml.evidence.summarisers.rules_words import word_set
from ml.evidence.vocabulary import Vocabulary

MOST_ATTRIBUTES = 2
MOST_PHRASES = 6  # of one claim
_ABSTRACT = word_set(
    """
    video clip scene footage frame frames shot image picture moment moments time times second seconds minute minutes
    while beginning start end middle part point way manner kind type sort form lot bit number pair variety set
    series attention focus gaze look glance glances looks contact expression expressions emotion emotions feeling
    feelings mood smile frown laugh smiles laughter voice tone sound sounds music speech conversation talk words
    word sentence question answer option topic interest surprise fear anger sadness happiness joy shock concern
    excitement curiosity confusion disgust sympathy response reaction interaction gesture gestures action actions
    movement motion behavior behaviour activity event change direction side left right front back top bottom center
    centre background foreground corner distance place position location area space view camera viewer audience
    perspective angle line sight order turn step situation context reason cause result effect idea thought thoughts
    opinion intention purpose relationship friendship love support help respect agreement approval disagreement sign
    signs signal cue cues evidence detail details fact case example sense seem thing things something anything
    nothing everything one ones other others each both something somebody someone today day night morning evening
    afternoon room indoors outdoors light lighting color colour atmosphere setting silence noise pause break day
    gesture nod shake wave step body posture pose head hand hands arm arms eye eyes face faces leg legs finger
    fingers shoulder shoulders mouth lip lips eyebrow eyebrows brow chin cheek cheeks nose neck hair back foot feet
    knee knees palm palms thumb fist elbow elbows forehead teeth tears tear same rest half amount piece pieces air
    floor ground while instead person persons people everybody everyone nobody
    """
)
_ABSTRACT_ENDS = ("ness", "ity", "ism", "ship", "hood", "ance", "ence", "sion", "tion", "ment", "ing")
_CONCRETE = word_set(
    """
    garment document instrument cushion television station lotion apartment painting drawing building clothing ring
    string earring ceiling railing audience ambulance pavement monument medication condition bearing wing king
    """
)
_WORN = word_set(
    """
    shirt t-shirt tshirt blouse dress skirt jacket coat sweater hoodie suit tie hat cap scarf glasses sunglasses
    uniform jeans pants trousers shorts vest top robe gown apron helmet mask gloves necklace earrings hair beard
    moustache mustache ponytail bun braid braids pajamas tuxedo kimono cardigan turtleneck overalls boots shoes
    sneakers outfit clothes clothing red blue green black white yellow pink purple orange grey gray brown beige
    plaid stripes
    """
)
_UNSEEN_ADJECTIVES = word_set(
    """
    same other another next last first second third own certain particular specific main different similar various
    several many few such whole entire clear direct mutual sudden slight brief quick slow strong deep general
    possible likely happy sad angry upset surprised afraid excited nervous anxious worried confused proud calm
    curious emotional friendly good bad nice important visible apparent present serious true real sure able aware
    ready interested old new
    """
)
_PEOPLE = lexicon.PEOPLE - {
    "character",
    "subject",
    "participant",
    "group",
    "crowd",
    "team",
    "family",
    "audience",
    "couple",
}


def phrases(
    s: Sentence, first: int, last: int, vocabulary: Vocabulary | None, taken: tuple[str, ...] = ()
) -> list[Phrase]:
    """The phrases of the tokens [first, last), in order."""
    found: list[Phrase] = []
    at = first
    while at < last and len(found) < MOST_PHRASES:
        phrase, at = _phrase(s, at, last)
        if phrase is not None and phrase.text not in [other.text for other in found]:
            found.append(phrase)
    if vocabulary is None:
        return found
    return with_negatives(found, vocabulary, taken)


def with_negatives(found: list[Phrase], vocabulary: Vocabulary, taken: tuple[str, ...] = ()) -> list[Phrase]:
    """The phrases with a thing of the same kind that none of them, nor `taken`, names."""
    every = (*taken, *(one.text for one in found), *(one.head for one in found))
    return [
        Phrase(p.text, p.head, p.attributes, p.person, p.singular, p.span, vocabulary.negative(p.text, every))
        for p in found
    ]


def _phrase(s: Sentence, at: int, last: int) -> tuple[Phrase | None, int]:
    """The phrase that begins at a token, if one does, and where to go on."""
    group, adjectives, after, singular = _group(s, at, last)
    if not group:
        return None, max(at + 1, after)
    head = " ".join(s.word(k) for k in group)
    noun = s.word(group[-1])
    before = s.tag(group[0] - 1) if group[0] else ""
    if before in ("F", "A") and not adjectives and "ADJ" in lexicon.kinds(noun):
        return None, after  # "is visible"
    if not _can_be_seen(noun) and noun not in _PEOPLE:
        return None, after
    end = group[-1] + 1
    words, attributes = [], []
    person = _tag_beside(s, at, end, last) if noun in _PEOPLE else None
    if noun in _PEOPLE:
        worn, worn_adjectives, worn_end = _worn(s, end, last)
        if worn:
            attributes = worn_adjectives[-MOST_ATTRIBUTES:] or worn
            words = [
                *group_words(s, group),
                "in" if s.word(worn_end[0]) != "with" else "with",
                *worn_adjectives[-MOST_ATTRIBUTES:],
                *worn,
            ]
            end = after = worn_end[1]
    if not words:
        attributes = [s.word(k) for k in adjectives][-MOST_ATTRIBUTES:]
        words = [*attributes, *group_words(s, group)]
    while len(words) > MOST_WORDS:
        words.pop(0)
    span = s.tokens[(adjectives + group)[0]].start, s.tokens[end - 1].end
    return Phrase(" ".join(words), head, tuple(attributes), person, singular, span), after


def group_words(s: Sentence, group: list[int]) -> list[str]:
    return [s.word(k) for k in group]


def _group(s: Sentence, at: int, last: int) -> tuple[list[int], list[int], int, bool]:
    """Tokens of the head (a compound is one head), its visible adjectives, its end, and whether it is one thing."""
    adjectives: list[int] = []
    nouns: list[int] = []
    begin, many = at, False
    while at < last:
        tag, word = s.tags[at], s.word(at)
        if tag == "N" and not _is_adjective(s, at, last):
            nouns.append(at)
        elif nouns:
            break
        elif tag in ("J", "N") or (tag in ("E", "G") and at > begin and s.tag(at - 1) in ("D", "J", "K", "Q")):
            if word not in _UNSEEN_ADJECTIVES:
                adjectives.append(at)
        elif tag == "D" or tag == "L":
            if at > begin and adjectives:
                break
            many = many or word in lexicon.PLURAL_DETERMINERS
        elif (
            tag == "A"
            and s.tag(at + 1) in ("J", "E")
            or tag == "K"
            and s.tag(at - 1) in ("J", "N", "E")
            and adjectives
            and _adjective_follows(s, at + 1, last)
        ):
            pass
        else:
            break
        at += 1
    singular = (
        not many
        and bool(nouns)
        and not lexicon.is_plural_noun(s.word(nouns[-1]))
        and s.word(nouns[-1]) not in ("people", "men", "women", "children")
    )
    return nouns[-2:], adjectives, max(at, begin + 1), singular


def _is_adjective(s: Sentence, at: int, last: int) -> bool:
    """Whether a noun stands here as an attribute: "a red cup", "a red, round cup"."""
    found = lexicon.kinds(s.word(at))
    if "ADJ" not in found:
        return False
    following = at + 1
    if s.tag(following) == "K":
        following += 1
    return following < last and s.tag(following) in ("N", "J")


def _adjective_follows(s: Sentence, at: int, last: int) -> bool:
    """Whether another attribute and then a noun follow a comma: "red, round cup", not "a red cup, a plate"."""
    return (
        at + 1 < last
        and (s.tag(at) == "E" or "ADJ" in lexicon.kinds(s.word(at)))
        and s.tag(at) in ("N", "J", "E")
        and s.tag(at + 1) in ("N", "J", "K", "E")
    )


def _can_be_seen(noun: str) -> bool:
    if noun in _ABSTRACT or noun in _UNSEEN_ADJECTIVES or len(noun) < 2:
        return False
    single = lexicon.lemma(noun, "NOUN")
    if single in _ABSTRACT:
        return False
    if single in _CONCRETE:
        return True
    return not single.endswith(_ABSTRACT_ENDS) and "NOUN" in lexicon.kinds(noun)


def _worn(s: Sentence, at: int, last: int) -> tuple[list[str], list[str], tuple[int, int]]:
    """What follows "man": "in a red, striped shirt", "wearing a hat", "with a beard" -> (garment, attributes, span)."""
    if s.word(at) == "dressed":
        at += 1
    if s.word(at) not in ("in", "wearing", "with"):
        return [], [], (at, at)
    group, adjectives, after, _ = _group(s, at + 1, last)
    words = group_words(s, group)
    if not words and adjectives:
        words, adjectives = [s.word(adjectives[-1])], adjectives[:-1]
    if not words or (words[-1] not in _WORN and lexicon.lemma(words[-1], "NOUN") not in _WORN):
        return [], [], (at, at)
    return words, [s.word(k) for k in adjectives], (at, after)


def _tag_beside(s: Sentence, begin: int, end: int, last: int) -> int | None:
    """The tag that the text gives this person: "Person 2, the man in red", "the man (Person 2)"."""
    for at in (begin - 1, begin - 2):
        if (
            at >= 0
            and s.tags[at] == "P"
            and all(s.tags[k] in ("K", "X") for k in range(at + 1, begin))
            and at + 1 < begin
        ):
            return s.number(at)
        if at >= 0 and s.tags[at] == "F" and s.word(at) in ("is", "'s") and s.tag(at - 1) == "P":
            return s.number(at - 1)
    for at in range(end, min(end + 12, last)):
        if s.tags[at] == "P" and s.word(at - 1) == "(":
            return s.number(at)
        if s.tags[at] in ("F", "C"):
            break
    return None
