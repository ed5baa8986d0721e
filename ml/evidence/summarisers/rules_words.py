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
    ankle apron arm ash attic audience axe back badge bag balcony ball bank bar bat bath bean beard beer belt bench
    berry bike bill bird blanket blouse board boat bolt book boot bottle bottom bowl box bracelet branch bread brick
    bridge broom brow bucket bulb bun bus butter button cable cake camera can candle candy cap car card cart carton
    case cat ceiling cellar center chain chair cheek cheese cheque cherry chest chimney chin chocolate clip closet
    club coat coffee coin color colour cone context cookie cord corner counter court cradle crew crib crowd crown
    cube cue cup cupboard curtain cushion cylinder detail diaper dish dog doll door drawer dress drum ear edge egg
    elbow emotion envelope event evidence experience expression eye fact fan feature feeling fence field finger fire
    fish fist flag flame floor flower foot fork form frame fridge front fruit garden gate glass glove goal grain
    grape group guest guitar hall ham hammer hand hanger hat head hip honey horse hose host house interaction
    interest item jacket jam jar juice key kind kitchen knee knife ladder lamp lantern lap lawn leaf leg lemon
    letter light lime line lip lobby magazine mall map market mask meal microphone middle milk minute mirror moment
    mood moustache mouth movie mud mug music nail name necklace net newspaper nose note number nut object office
    onion packet page painting palm panel paper parcel park part path pattern pea peach pear pebble pen pencil
    pepper phone photo piano picture pie pillow pipe plane plant plate platform plug plum pocket porch position
    poster pot pram program pub puppet purse puzzle rack rake ramp razor reason remote response ring road role roof
    room root rope salt sand sandbox sandwich sauce saw scarf scene school screen screw seat second seed shelf ship
    shirt shoe shop shoulder side sign skin skirt sleeve smoke snack soap sock sound soup sponge spoon staff stage
    stair state station steak stem stew stone store stove strap street stripe stroller sugar suit sweater table
    tablet tape tea team thigh thumb ticket tie time tin toast tone tool top torch towel toy track train tray tree
    truck tub tunnel van veil vest video voice waist wall wallet wardrobe water wheel window wine wire word wrist
    yard
    """
)
# mostly verbs, though they are nouns as well
VERBS = word_set(
    """
    aim answer appear applaud approach arch argue arrive ask attack bake bang bark beam beckon become beep begin
    believe bend bite blink block blush bob boil bounce bow break bring brush bump burn burst buzz call carry catch
    change chase chat check cheer chew chirp chop chuckle clap clasp clean clench click climb close clutch coil
    collapse collide comb come comfort console continue cook cool cough count cover crack crash crawl creak creep
    cringe cross crouch crumble crunch crush cry curl curtsy curve cut dance dangle dash deal debate defend depart
    dial dip dive divide dodge doubt doze drag draw dream drift drink drip drive droop drop dry duck dust eat echo
    embrace emerge end enter escape escort examine exchange explode face fade faint fall fasten feel fetch fiddle
    fidget fight film finish fix flap flare flash flee flick flicker flinch fling flip flirt float fly focus fold
    follow free freeze frown fry fumble gain gape gasp gather gawk gaze gesture get giggle give glance glare glide
    glimpse gloat glow go gossip grab grasp graze greet grimace grin grip groan growl grunt guard guess guide gulp
    gush hail halt hang harden haul hear heat heave help hesitate hiccup hide hiss hit hoist hold hook hop hope
    hover howl huddle hug hum hunch hunt hurl hurry hush hustle indicate inspect interrupt itch jab jerk jiggle jog
    join joke jolt jostle juggle jump jut keep kick kiss knead knock know lag land lash laugh launch lay lead leak
    lean leap leave leer let lick lie lift linger listen load lock look loom lose lounge lower lug lunge lurch make
    march mean melt merge mime mimic miss mix moan mock mop motion mount move mumble murmur mutter nap need nibble
    nip nod notice nudge nuzzle observe offer open pace pack paint pan pant pass pat pause peck pedal peek peel peep
    peer pet pick pile pinch pitch place plan play plead pluck plunge point poke polish pop pound pour pout prance
    pray press prod prop protect puff pull punch purr push put quiver race raise rally ramble rattle reach react
    read recoil record recover reel rehearse relax relay release rely remain remark remove repeat reply rescue
    respond rest resume retort retreat return reveal reverse ride rinse rip rise rock roll rotate rub ruffle rumble
    run rush rustle sag sail salute say scamper scan scatter scoff scold scoop scowl scramble scrape scratch scream
    scroll scrub scuffle scurry search see seem seize separate serve set shake share shatter shave shed shelter
    shield shift shimmer shiver shoot shout shove show shriek shrink shrug shudder shuffle shut sidle sigh signal
    sing sink sip sit sizzle skate sketch skim skip slacken slam slant slap sleep slice slide sling slink slip slit
    slither slouch slow slump smack smear smell smile smirk smother snap snatch sneak sneer sneeze snicker sniff
    snore snort snuggle soak soar sob soften sort spark sparkle speak speed spill spin spit splash split spot sprawl
    spray spread sprinkle sprint squash squat squeak squeeze squint squirm squirt stack stagger stalk stamp stand
    stare start startle stay steal steer step stiffen sting stir stomp stoop stop straddle straighten strain stretch
    stride strike stroke stroll struggle strum strut study stumble subside suck suggest sulk surf surge swallow swap
    sway sweat sweep swerve swing swipe swirl switch swoop tackle take talk tap taste taunt tear tease teeter tell
    tense text thank think thrash throb throng throw thrust thud thump tickle tighten tilt tinker tiptoe tire topple
    toss totter touch tow trace trade trail trap travel treat trek tremble trickle trip trot trudge try tuck tug
    tumble turn twirl twist twitch type unfold unite use usher vanish vibrate visit wade wag wail wait wake walk
    waltz wander want warm warn wash watch wave waver wear weave weep welcome whack whimper whine whip whirl whisper
    whistle widen wiggle wilt win wince wink wipe wish withdraw wobble work worry wrap wrestle wriggle wrinkle write
    yank yawn yell yelp yield zip zoom
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
    found = getAllLemmas(word)
    if not found and "-" in word:  # "double-checks" is what "checks" is
        found = getAllLemmas(word.rpartition("-")[2])
    return {str(kind): tuple(forms) for kind, forms in found.items()} or _by_ending(word)


def _by_ending(word: str) -> dict[str, tuple[str, ...]]:
    """What a word that is in no dictionary could be, by its ending."""
    if len(word) < 5 or word.endswith(("ss", "us", "is")):
        return {}
    if word.endswith("s"):
        return {"NOUN": (word[:-1],), "VERB": (word[:-1],)}
    if word.endswith("ing"):
        return {"VERB": (word[:-3],)}
    return {"VERB": (word[:-2],)} if word.endswith("ed") else {}


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
