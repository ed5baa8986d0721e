"""English words for the summariser `rules`: what a word can be (verb, noun, adjective ...), out of context.

The dictionary is lemminflect's (from the SPECIALIST lexicon), of which only the table of lemmas is read: its models
for words outside the dictionary are pickled and are never loaded. Closed classes and the leanings of words that are
nouns as well as verbs are lists here: heuristics.
"""

from __future__ import annotations

import re
from functools import lru_cache


def word_set(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())


BE = word_set("is are was were am 's 're 'm be been being isn't aren't wasn't weren't ain't")
SINGULAR_AUX = word_set("is was has does isn't wasn't hasn't doesn't")
PLURAL_AUX = word_set("are were have do aren't weren't haven't don't")
MODALS = word_set(
    """
    can could will would shall should may might must cannot can't couldn't won't wouldn't shouldn't mustn't mightn't
    needn't
    """
)
DO = word_set("do does did don't doesn't didn't")
HAVE = word_set("has have had hasn't haven't hadn't")
FINITE_AUX = (BE - {"be", "been", "being"}) | MODALS | DO | HAVE
SUBJECTS = word_set(
    """
    he she they it we i you this that these those there someone somebody everyone everybody anyone anybody nobody
    nothing something everything both neither either each all most some many several few others another one none
    """
)
PLURAL_SUBJECTS = word_set("they we i you these those both all most some many several few others")
ONLY_SUBJECTS = word_set("he she they we i there")
OBJECTS = word_set(
    """
    him her them me us himself herself itself themselves it you this that these those each one another other others
    everyone everybody someone somebody something nobody
    """
)
DETERMINERS = word_set(
    """
    a an the this that these those his her their its my your our some any no every each another both several many
    few all most one two three four five six seven eight nine ten whose either neither such
    """
)
PLURAL_DETERMINERS = word_set(
    "these those both several many few two three four five six seven eight nine ten all most some"
)
PREPOSITIONS = word_set(
    """
    at in on of to with from by for into onto over under above below behind beside besides between among across
    along around through toward towards against near during without within upon off out up down about like inside
    outside past beyond via per despite opposite alongside beneath amid next atop regarding throughout away back
    forward forwards backward backwards together apart aside
    """
)
PARTICLES = word_set(
    """
    up down away back out off over around forward forwards backward backwards together apart aside along through
    about
    """
)
NO_CUT = word_set("that who whom which where if how whether whose what why")
PLAIN_ADVERBS = word_set(
    """
    also then now just still again soon later once twice always never often sometimes usually almost nearly quite
    very too so rather instead together away back even only first finally lastly next meanwhile afterwards afterward
    eventually suddenly briefly not n't ever perhaps maybe indeed however therefore thus hence already yet
    simultaneously subsequently promptly momentarily apparently both each neither either straight right moreover
    additionally overall likewise otherwise initially further furthermore nevertheless nonetheless seemingly clearly
    slightly
    """
)
PEOPLE = word_set(
    """
    man woman person boy girl child kid baby lady gentleman guy adult teenager player teacher student doctor nurse
    waiter waitress driver host guest friend mother father mom dad sister brother daughter son wife husband couple
    colleague boss speaker listener interviewer interviewee reporter anchor singer dancer actor actress coach
    passenger customer cashier officer policeman soldier worker chef cook audience crowd group team family bystander
    onlooker toddler infant people men women children persons individual figure participant subject character
    presenter performer artist musician
    """
)
# mostly nouns, though they have verb forms; a verb only with an object, particle or adverb that says so
NOUNS = word_set(
    """
    hand eye arm head leg foot finger shoulder face mouth back knee elbow palm fist thumb chin lip brow cheek nose
    book paper cup plate bowl bottle glass table chair phone bag box ball card pen pencil spoon fork knife dish
    shirt dress jacket hat coat suit tie shoe door window wall floor room house car bus bike lamp light shelf screen
    microphone camera video scene frame clip time moment second minute emotion expression gesture feature word item
    object color colour pattern stripe plant flower tree tool key coin drink meal toy board cushion curtain photo
    picture line side end part place position state form role kind type sort interest focus response interaction
    mood voice sound tone music name number group team crowd water wine fruit sandwich button ring bracelet necklace
    sleeve pocket cap mask scarf guitar piano mug note page letter map sign flag towel blanket pillow dog cat horse
    bird fish snack tray tablet remote corner center middle front top bottom edge seat bench stage street park
    school office kitchen cue detail reason fact case event context evidence experience feeling
    """
)
# mostly verbs, though they are nouns as well
VERBS = word_set(
    """
    look gaze glance stare watch smile frown laugh nod point turn walk talk speak reach move lean step shake wave
    show give hold keep take put set sit stand raise lower lift drop touch grab pick place start stop begin continue
    seem appear remain stay become get go come run jump shrug sigh cry gasp wink blink hug kiss push pull pass offer
    ask answer reply respond react follow return leave enter close open cover rest cross bend bow clap tap pat rub
    scratch stretch tilt shift approach face stir pour drink eat play sing dance listen hear see say tell call shout
    whisper wear carry bring throw catch hit kick ride drive work try want need help let make use check read write
    draw cut clean fix feel think know believe indicate suggest mean show remain gesture pause withdraw retreat
    glare grin beam chuckle giggle smirk squint peek peer scan inspect examine study observe notice freeze tense
    relax hesitate interrupt comfort console greet thank embrace join lead signal motion beckon
    """
)
_IRREGULAR_PAST = word_set(
    """
    took went gave saw came did had was were ate wrote spoke broke chose drove fell flew forgot froze grew hid knew
    rode rang rose sang sank shook showed swam threw tore woke wore began drank ran became withdrew drew blew bit
    forgave
    """
)
_SAME_PAST = word_set(
    """
    said made sat stood held kept left felt found got heard led lost met put read sent set shot shut slept spent
    stuck struck swung taught thought told understood won bent brought built bought caught cut dealt dug fed fought
    hit hung hurt laid let lit meant paid sold slid spun spread sprang swept wept leaned leapt knelt leant
    """
)
_PARTICIPLES = word_set(
    """
    taken gone given seen done been eaten written spoken broken chosen driven fallen flown forgotten frozen grown
    hidden known ridden rung risen sung sunk shaken shown swum thrown torn woken worn begun drunk withdrawn drawn
    blown bitten forgiven
    """
)
VISIBLE_ADVERB = re.compile(r"[a-z]{2,}ly$")
_NOT_ADVERBS = word_set(
    """
    family belly jelly bully friendly lovely ugly silly lonely elderly early fly apply reply supply rely ally rally
    tally curly lively likely only daily homily assembly butterfly lily holy
    """
)


@lru_cache(maxsize=65536)
def kinds(word: str) -> frozenset[str]:
    """What the dictionary says a small-written word can be: NOUN, VERB, ADJ, ADV, AUX; empty where it is not in it."""
    return frozenset(_lemmas(word))


@lru_cache(maxsize=65536)
def lemma(word: str, kind: str) -> str:
    """The word's dictionary form as that kind, or the word itself."""
    found = _lemmas(word).get(kind)
    return str(found[0]) if found else word


@lru_cache(maxsize=65536)
def _lemmas(word: str) -> dict[str, tuple[str, ...]]:
    from lemminflect import getAllLemmas  # half a second for its table, which only English text needs

    if len(word) > 40 or not word.isascii():
        return {}
    return {str(kind): tuple(forms) for kind, forms in getAllLemmas(word).items()}


@lru_cache(maxsize=65536)
def is_adverb(word: str) -> bool:
    if word in PLAIN_ADVERBS:
        return True
    return bool(VISIBLE_ADVERB.match(word)) and word not in _NOT_ADVERBS and "VERB" not in kinds(word)


@lru_cache(maxsize=65536)
def is_plural_noun(word: str) -> bool:
    found = kinds(word)
    return "NOUN" in found and lemma(word, "NOUN") != word


@lru_cache(maxsize=65536)
def verb_form(word: str) -> str:
    """How a word could be a verb: "s" (3rd person), "base", "past" (finite only), "ed" (past or participle), "ing",
    "part" (participle only), "" for none."""
    if word in _IRREGULAR_PAST:
        return "past"
    if word in _SAME_PAST:
        return "ed"
    if word in _PARTICIPLES:
        return "part"
    found = kinds(word)
    if "VERB" not in found:
        return ""
    base = lemma(word, "VERB")
    if word == base:
        return "base"
    if word.endswith("ing"):
        return "ing"
    if word.endswith("s") and not word.endswith("ss"):
        return "s"
    return "ed"


@lru_cache(maxsize=65536)
def leaning(word: str) -> str:
    """Whether a word that could be either is mostly "verb" or "noun" in what people write about videos; "" unknown."""
    found = kinds(word)
    if "VERB" not in found:
        return "noun"
    if not found & {"NOUN", "ADJ"}:
        return "verb"
    base = lemma(word, "VERB")
    if base in VERBS:
        return "verb"
    if base in NOUNS or lemma(word, "NOUN") in NOUNS:
        return "noun"
    return ""
