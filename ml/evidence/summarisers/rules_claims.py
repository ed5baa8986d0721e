"""From a clause to a claim, in English: where it begins and ends, whether it is one, and of what type.

Word lists and regular expressions after docs/claims.md, so heuristics.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ml.evidence.package import ClaimType
from ml.evidence.summarisers import rules_words as lexicon

_LEADS = (
    r"and|but|so|then|also|first|firstly|secondly|third|next|now|finally|lastly|however|meanwhile|afterwards|"
    r"afterward|"
    r"therefore|thus|hence|moreover|additionally|overall|still|later(?=\s*[,，])|second(?=\s*[,，])"
)
_LEAD = re.compile(
    rf"\s*(?:(?:{_LEADS})\b(?![’'-]\w)\s*[,，、]?|首先|然后|接着|最后|因此|所以|但是|但(?!愿)|同时|"
    rf"此外)\s*[,，、]?\s*",
    re.IGNORECASE,
)
_NOT_LEAD = re.compile(
    r"\s*(?:first|third|next)\s+(?:person|man|woman|boy|girl|one|time|half|part|speaker|row|scene|shot|few|"
    r"second|frame|"
    r"individual|gesture|event|clip|to|seconds)\b|\s*(?:still)\s+(?:image|life|frame|picture|shot)\b|"
    r"\s*now\s+that\b|\s*so\s+(?:that|far)\b|"
    r"\s*overall\s+[a-z]+\s+(?:is|of)\b",
    re.IGNORECASE,
)
_BLANK = " \t\r\n\v\f\x1c\x1d\x1e\x1f\x85\xa0\u2000\u2001\u2002\u2003\u2009\u2028\u2029\u202f\u3000"
_TAIL = ".,;:!?…。，；：！？、"
_PAIRS = {
    ")": "(",
    "]": "[",
    "}": "{",
    "）": "（",
    "】": "【",
    "”": "“",
    "’": "‘",
    "»": "«",
    "」": "「",
    "』": "『",
    "》": "《",
}
_SAME = "\"'*_`"


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The claim's span in a clause: without lead words, blanks, and punctuation at its end; may be empty."""
    while start < end:
        match = None if _NOT_LEAD.match(text, start, end) else _LEAD.match(text, start, end)
        if match and match.end() > start:
            start = match.end()
        elif text[start] in _BLANK or text[start] in ",，、":
            start += 1
        else:
            break
    while start < end:
        last = text[end - 1]
        if last in _BLANK or last in _TAIL or _is_lone_closer(text, start, end):
            end -= 1
        else:
            break
    return start, end


def _is_lone_closer(text: str, start: int, end: int) -> bool:
    """Whether the last character closes what was opened outside."""
    last = text[end - 1]
    if last in _SAME:
        return text.count(last, start, end) % 2 == 1
    opening = _PAIRS.get(last)
    return opening is not None and text.count(opening, start, end) < text.count(last, start, end)


def is_question(sentence: str) -> bool:
    """Whether a sentence, with its end mark, is a question."""
    return sentence.rstrip(" \t\"”’')]*_»」』）!！")[-1:] in ("?", "？")


# --- what makes no claim ---------------------------------------------------------------------------------------------

_TASK = re.compile(
    r"\b(?:the|this|that|these|those|our|my|all|both|other|correct|best|final|right|remaining|given)\s+(?:\w+\s+)?"
    r"(?:options?|choices?)\b|\b(?:options|choices|multiple[- ]choice)\b|"
    r"\b(?:options?|choices?|answers?)\s+\(?[A-Ha-h1-9]\b\)?|"
    r"\bthe\s+correct\b|\b(?:best|closest|right|correct)\s+(?:match|fit|answer|candidate)\b|\bfits?\s+best\b",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"^\s*\(?[B-H]\)?(?:\s+(?:is|must|should|would|can|cannot|fits|matches|seems|and)\b|\s*$)|"
    r"^\s*\(?A\)?\s+(?:is|must|fits|matches)\b"
)
_QUESTION = re.compile(
    r"\b(?:the|this|that|our|my|correct|best|final|right)\s+(?:\w+\s+)?(?:question|answer)s?\b|"
    r"\banswer\s+(?:is|must|should|would)\b",
    re.IGNORECASE,
)
_BY_SOMEBODY = re.compile(  # people in the picture ask and answer, too
    r"\b(?:persons?\s*[0-9]+|p[0-9]+|he|she|they|(?:the|a|an|his|her)\s+(?:\w+\s+)?(?:man|woman|boy|girl|"
    r"teacher|student|host|"
    r"guest|interviewer|interviewee|speaker|child|person))\s+(?:\w+ly\s+)?(?!is\b|are\b|was\b|were\b|would\b|"
    r"must\b|fits\b|"
    r"matches\b|seems\b|should\b|could\b|can\b|cannot\b|as\b|be\b)[a-z]+s?\s[^,，]*\b(?:question|answer)",
    re.IGNORECASE,
)
_RIGHT_OR_WRONG = re.compile(
    r"^\s*(?:this|that|it|which|these|those|they)\s+(?:is|are|'s|must\s+be|would\s+be|seems?|looks?|"
    r"can't\s+be|cannot\s+be|isn't|aren't)\s+"
    r"(?:also\s+|not\s+|clearly\s+|therefore\s+|most\s+likely\s+|probably\s+)*(?:wrong|right|correct|"
    r"incorrect|true|false|invalid|valid|ruled\s+out|eliminated|accurate|inaccurate|"
    r"supported|unsupported|plausible|implausible|the\s+case)\b",
    re.IGNORECASE,
)
_ANNOUNCE = re.compile(
    r"^\s*(?:let\s+me\b|let's\b|let’s\b|let\s+us\b|to\s+(?:answer|determine|decide|find\s+out|solve|figure|"
    r"identify|understand|address|conclude|verify|summari[sz]e)\b|"
    r"(?:i|we)(?:'ll|’ll|\s+will|\s+should|\s+need\s+to|\s+have\s+to|\s+must|\s+want\s+to|\s+am\s+going\s+to|"
    r"'m\s+going\s+to|\s+would\s+like\s+to|\s+can\s+now|\s+shall|\s+now|\s+first|\s+am|'m|\s+are|\s+can)?\s+"
    r"(?:look(?:ing)?|check(?:ing)?|watch(?:ing)?|examin(?:e|ing)|analy[sz](?:e|ing)|review(?:ing)?|"
    r"consider(?:ing)?|focus(?:ing)?|determin(?:e|ing)|identify|find|verify|compar(?:e|ing)|answer(?:ing)?|"
    r"think\s+about|go|pay\s+attention|conclude|(?:re|double)-?\s?check|be\s+careful|choose|pick|select|"
    r"confirm|decide|start|begin|proceed|break)\b(?!\s+that\b)|"
    r"(?:look|check|watch|examine|analy[sz]e|consider|review|focus|identify|determine|recall|remember|"
    r"think)\b(?!\s+that\b)(?!s)|"
    r"here\s+(?:is|are)\s+(?:the|my)\b|based\s+on\s+(?:the|this|these|my)\s+(?:video|observations?|analysis|"
    r"evidence|frames?)\s*$)",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:option|choice|answer|question)s?\b[^.]*?\b(?:says?|states?|claims?|suggests?|mentions?|asks?|"
    r"describes?|implies|proposes?|reads?|indicates?)\b",
    re.IGNORECASE,
)


def about_task(clause: str) -> bool:
    """Whether a clause speaks of the question, an option or the choice, or only announces what is done next."""
    if _ANNOUNCE.match(clause) or _RIGHT_OR_WRONG.match(clause):
        return True
    if _TASK.search(clause) or _LETTER.search(clause):
        return True
    return bool(_QUESTION.search(clause)) and not _BY_SOMEBODY.search(clause)


def reports(clause: str) -> bool:
    """Whether a clause tells what an option or the question says."""
    return bool(_REPORTED.search(clause))


# --- type and polarity -----------------------------------------------------------------------------------------------

_FEELING = (
    r"happ(?:y|ily|iness|ier)|sad(?:ly|ness)?|angry|angrily|anger|upset|surpris(?:e|ed|ing|ingly)|"
    r"shock(?:ed)?|fear(?:ful)?|afraid|scared|"
    r"disgust(?:ed)?|annoy(?:ed|ance)|irritat(?:ed|ion)|excite(?:d|ment)|nervous(?:ly|ness)?|anxi(?:ous|ety)|"
    r"worr(?:y|ied)|confus(?:ed|ion)|"
    r"embarrass(?:ed|ment)|proud|pride|joy(?:ful)?|delight(?:ed)?|amus(?:ed|ement)|bored(?:om)?|calm(?:ly)?|"
    r"relaxed|tense|tension|serious(?:ly)?|"
    r"content(?:ment)?|pleased|disappoint(?:ed|ment)|frustrat(?:ed|ion)|relie(?:f|ved)|curious|curiosity|"
    r"concern(?:ed)?|hesita(?:nt|tion)|"
    r"skeptical|sceptical|thoughtful|cheerful|unhappy|emotional|emotions?|mood|interested|uninterested|"
    r"puzzled|uncomfortable|comfortable|"
    r"friendly|hostile|lonely|grateful|jealous|guilty|ashamed|hopeful|stressed|tired|contempt|sorrow|grief|"
    r"rage|furious|distress(?:ed)?|"
    r"affection(?:ate)?|love|engaged|attentive|distracted|indifferent|neutral|determined|confident|shy|awkward"
)
_GAZE = re.compile(
    r"\b(?:look(?:s|ed|ing)?|gaz(?:e|es|ed|ing)|star(?:e|es|ed|ing)|watch(?:es|ed|ing)?|glanc(?:e|es|ed|ing)|"
    r"eye[- ]contact|peek(?:s|ed|ing)?|"
    r"squint(?:s|ed|ing)?|peer(?:s|ed|ing)?|glar(?:e|es|ed|ing)|line\s+of\s+sight|"
    r"eyes\s+(?:\w+\s+){0,3}(?:on|at|to|toward|towards|away|meet|lock|follow|fix|shift|move)\w*|"
    r"joint\s+attention|mutual\s+gaze)\b",
    re.IGNORECASE,
)
_ANY_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LOOKS = re.compile(
    r"\b(?:look(?:s|ed|ing)?)\s+(?:(?:very|quite|rather|so|too|a\s+bit|a\s+little|more|less|\w+ly)\s+)*(\w+)",
    re.IGNORECASE,
)
_WHERE = lexicon.word_set(
    """
    at to toward towards up down away back over around out into through across straight directly left right ahead
    forward upward upwards downward downwards past off on for from in behind about inside outside between sideways
    elsewhere
    """
)
_LIKE = lexicon.word_set("like as similar alike different good bad young old")


def _seeming(match: re.Match[str]) -> str:
    """ "looks upset" says how somebody seems, "looks up" where somebody looks; the former is taken out."""
    word = match[1].lower()
    if word in _WHERE:
        return match[0]
    appears = word in _LIKE or "ADJ" in lexicon.kinds(word) or lexicon.verb_form(word) in ("ed", "ing", "part")
    return " seems " if appears else match[0]


_GESTURE = re.compile(
    r"\b(?:point(?:s|ed|ing)?\s+(?:\w+ly\s+)?(?:\w+\s+){0,3}?(?:at|to|toward|towards|out|up|down|with|in|"
    r"across|behind|back|straight)|points\b(?!\s+of)|pointing|pointed\s+(?=at|to)|"
    r"shows?|showing|showed|gives?|giving|gave|hands|handing|handed|hand\s+(?=over|the|a|an|it|him|her|them|"
    r"out)|reach(?:es|ed|ing)?|"
    r"offers?|offered|offering|pass(?:es|ed|ing)\s+(?:\w+\s+){1,4}to)\b",
    re.IGNORECASE,
)
_NO_GESTURE = re.compile(
    r"\b(?:face|expression|voice|posture|body|eyes|smile|gaze|this|that|which|it)\b[^.;]{0,40}?\bshow(?:s|ed|ing)?\b|"
    rf"\b(?:video|clip|scene|frame|image|footage|picture|shot|camera|screen|photo)s?\s+(?:\w+ly\s+)?(?:shows?|"
    rf"showed|gives?)|"
    rf"\b(?:shows?|showed|showing|gives?|gave|giving)\s+(?:\w+\s+){{0,3}}?(?:signs?|{_FEELING}|expressions?|"
    rf"interest|attention|smiles?|nod|looks?|glance|"
    r"respect|support|impression|sense|answer|that|how|no\s+sign|up\b)|\b(?:hands?)\s+(?:are|is|were|was|on|"
    r"in|at|together|resting|clasped|folded|raised|move)\b|"
    r"\breach(?:es|ed)?\s+(?:the\s+)?(?:end|conclusion|agreement|age)\b",
    re.IGNORECASE,
)
_AUDIO = re.compile(
    r"\b(?:say|says|said|saying|speak(?:s|ing)?|spoke|spoken|laugh(?:s|ed|ing|ter)?|shout(?:s|ed|ing)?|"
    r"sounds?|sounded|voices?|tone|music|hears?|heard|"
    r"hearing|silen(?:ce|t|tly)|talk(?:s|ed|ing)?|whisper(?:s|ed|ing)?|yell(?:s|ed|ing)?|scream(?:s|ed|ing)?|"
    r"sings?|sang|singing|asks?|asked|asking|"
    r"answers|answered|repl(?:y|ies|ied)|tells?|told|telling|calls\s+out|loud(?:ly)?|quietly|noise|audible|"
    r"audio|applau(?:se|ds?)|murmur\w*|"
    r"chuckl(?:e|es|ed|ing)|giggl(?:e|es|ed|ing)|sobs?|sobbing|sigh(?:s|ed|ing)?|utters?|uttered|"
    r"conversation|speech|mentions?|mentioned|explains?|explained|exclaims?|exclaimed|greets?|greeted|thanks|"
    r"thanked|mutters?|muttered|cheer(?:s|ed|ing)?|pitch|argu(?:e|es|ed|ing)|gasp(?:s|ed|ing)?|interrupt(?:s|"
    r"ed|ing)?)\b",
    re.IGNORECASE,
)
_EXPRESSION = re.compile(
    r"\b(?:roll(?:s|ed|ing)?\s+(?:her|his|their)\s+eyes|winc(?:e|es|ed|ing)|smil(?:e|es|ed|ing)|frown(?:s|ed|"
    r"ing)?|cr(?:y|ies|ied|ying)|facial|faces?\s+(?=shows?|turns?|lights?|falls?|is|looks|becomes|brightens|"
    r"expresses|reveals)|"
    r"expressions?|grin(?:s|ned|ning)?|smirk(?:s|ed|ing)?|scowl(?:s|ed|ing)?|pout(?:s|ed|ing)?|grimac(?:e|es|"
    r"ed|ing)|tear(?:s|y|ful)\b|weep(?:s|ing)?|wept|"
    r"eyes?\s+(?:\w+\s+){0,2}?(?:wide|widen\w*|narrow\w*|tear\w*|closed|shut|open)|wide[- ]eyed|"
    r"eyebrows?|brows?|wrinkl\w+|beam(?:s|ed|ing)|blush(?:es|ed|ing)?|"
    r"(?:her|his|their|the)\s+(?:\w+\s+)?face|on\s+\w+\s+face|lips|jaw\s+(?:drops?|clench\w*)|mouth)\b",
    re.IGNORECASE,
)
_INFERENCE = re.compile(
    rf"\b(?:feel(?:s|ing|ings)?|felt|thinks?|thought|wants?|wanted|know(?:s|n)?|knew|seem(?:s|ed|ing|ingly)?|"
    rf"probably|suggest(?:s|ed|ing)?|indicat(?:e|es|ed|ing)|"
    r"appears?\s+to|perhaps|maybe|possibly|presumably|likely|might|may\s+be|impl(?:y|ies|ied|ying)|"
    r"because\s+of|believ(?:e|es|ed)|intend(?:s|ed)?|intention|hop(?:es|ed|ing)|"
    r"tr(?:y|ies|ied|ying)\s+to|understand(?:s|ing)?|understood|remember(?:s|ed)?|(?:is|are|were|was|be|as|"
    r"like|probably|likely|good|close|best|old)\s+(?:\w+\s+){0,2}?(?:friends?|colleagues?|siblings?|"
    r"strangers|married)|a\s+couple(?!\s+of)|relationship|must\s+(?:be|have)|infer(?:s|red)?|"
    r"mean(?:s|t)\b|reflect(?:s|ing)?|reveal(?:s|ing)?|convey(?:s|ing)?|express(?:es|ing)|expects?|expected|"
    r"likes?\s+(?=her|him|them|the|it)|hates?|loves|trusts?|agrees?|disagrees?|aware|"
    rf"expecting|motiv\w+|reason|consistent\s+with|evidence|demonstrat(?:e|es|ed|ing)|needs?|wonder(?:s|ed|"
    rf"ing)?|realiz(?:e|es|ed)|decid(?:e|es|ed)|{_FEELING})\b",
    re.IGNORECASE,
)
_SCENE = re.compile(
    r"^(?:the|this|a|an|its)\s+(?:\w+\s+)?(?:video|clip|scene|footage|setting|background|shot|camera|room|"
    r"place|location|lighting|lights?|"
    r"environment|atmosphere|kitchen|office|street|park)\b|\btakes?\s+place\b|\bindoors\b|\boutdoors\b|"
    r"\bthere\s+(?:are|is)\s+(?:\w+\s+){0,2}?(?:people|persons|men|women|individuals)\b|"
    r"\b(?:two|three|four|five|several|many)\s+(?:people|persons|individuals)\s+(?:are|appear)\s+(?:visible|"
    r"present|in)\b|"
    r"\b(?:brightly|dimly)\s+lit\b|\bdaytime\b",
    re.IGNORECASE,
)
_PERSON_WORD = re.compile(
    r"\b(?:persons?\s*\d+|p\d+|he|she|they|man|men|woman|women|boys?|girls?|child|children|person|people|"
    r"somebody|someone|nobody|guy|lady|baby|kid|"
    r"individuals?|everyone|everybody|hair|shirt|dress|jacket|wear\w*|dressed)\b",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"\b(?:is|are|was|were|'s|’s|keeps?|starts?|begins?|stops?|continues?)\s+(?:\w+ly\s+|still\s+|now\s+|"
    r"also\s+|not\s+)*(?!wearing|standing|sitting|visible|located)\w+ing\b",
    re.IGNORECASE,
)


# words that begin what a pattern finds only together with others; all else is found in a word alone
_TOGETHER: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (_GAZE, lexicon.word_set("eye eyes eye-contact line joint mutual")),
    (
        _GESTURE,
        lexicon.word_set(
            "point points pointing pointed show shows give gives hand hands handed pass passes passed passing"
        ),
    ),
    (_AUDIO, lexicon.word_set("calls")),
    (
        _EXPRESSION,
        lexicon.word_set("face faces eye eyes her his their the jaw roll rolls rolled rolling wide wide-eyed on"),
    ),
    (
        _INFERENCE,
        lexicon.word_set(
            """
            appear appears may because try tries tried trying must consistent is are were was be as like likes probably
            likely good close best old a
            """
        ),
    ),
)


@lru_cache(maxsize=65536)
def _hints(word: str) -> int:
    """Which of the patterns a word may begin, as bits: most clauses can then do without most patterns."""
    return sum(1 << at for at, (pattern, others) in enumerate(_TOGETHER) if word in others or pattern.search(word))


def type_of(clause: str, states: bool) -> ClaimType:
    """The first type that fits. `states`: the clause's finite verb is one of being or having."""
    clause = _LOOKS.sub(_seeming, clause) if "ook" in clause else clause
    may = 0
    for word in _ANY_WORD.findall(clause.lower()):
        may |= _hints(word)
    if may & 1 and _GAZE.search(clause):
        return "gaze"
    if may & 2 and _GESTURE.search(_NO_GESTURE.sub(" ", clause)):
        return "gesture"
    if may & 4 and _AUDIO.search(clause):
        return "audio"
    if may & 8 and _EXPRESSION.search(clause):
        return "expression"
    if may & 16 and _INFERENCE.search(clause):
        return "inference"
    if _DOING.search(clause):
        return "action"
    if _SCENE.search(clause):
        return "scene"
    if not states:
        return "action"
    return "person" if _PERSON_WORD.search(_subject(clause)) else "object"


_BEING = re.compile(r"\b(?:is|are|was|were|has|have|had)\b|(?<=[a-z])['’]s\s(?=an?\b|the\b)", re.IGNORECASE)
_PLACE = (
    r"(?:behind|beside|besides|near|next\s+to|in(?:\s+front\s+of)?|inside|on|at|under|between|among|by|around|above|"
    r"below|over|to\s+the|from|opposite|close\s+to|left\s+of|right\s+of)\b"
)
_BEGINS_WITH_PLACE = re.compile(rf"\s*{_PLACE}", re.IGNORECASE)
_FRAME_COMMA = re.compile(r"^[^,]*,\s*(?=\S)")
_FROM_PLACE = re.compile(rf"\s{_PLACE}.*", re.IGNORECASE | re.DOTALL)


def _subject(clause: str) -> str:
    """Of whom or what a clause of being or having speaks, without where that is: "a giraffe" of "A giraffe is behind
    Person 0", "There is a giraffe behind Person 0" and "Behind Person 0 is a giraffe". All of it where there is no such
    verb."""
    verb = _BEING.search(clause)
    if verb is None:
        return clause
    before, after = clause[: verb.start()], clause[verb.end() :]
    if _BEGINS_WITH_PLACE.match(before):
        before = _FRAME_COMMA.sub("", before) if "," in before else ""
    said = after if not before.strip() or before.split()[-1].lower() == "there" else before
    return _FROM_PLACE.sub("", said)


# --- times that are no numbers ---------------------------------------------------------------------------------------

FIFTH = 0.2
BEGINNING = re.compile(
    r"\b(?:at|in|near)\s+the\s+(?:very\s+)?(?:beginning|start)\b|一开始|开始时|开头|视频开始|片段开始", re.IGNORECASE
)
END = re.compile(
    r"\b(?:at|by|toward|towards|near)\s+the\s+(?:very\s+)?end\b(?!\s+of\s+the\s+(?!video|clip|scene|shot|"
    r"film|footage|recording|"
    r"sequence|segment)\w+)|结束时|结尾|末尾|视频最后|片段最后",
    re.IGNORECASE,
)
THROUGHOUT = re.compile(
    r"\bthroughout\b|\b(?:during|for)\s+the\s+(?:entire|whole)\s+(?:video|clip|scene|time)\b|"
    r"\bthe\s+(?:entire|whole)\s+(?:time|video|clip)\b|自始至终|始终|全程|整个(?:视频|片段|过程)|从头到尾",
    re.IGNORECASE,
)
GOES_ON = re.compile(
    r"\s*(?:then\b|at\s+this\s+moment\b|at\s+the\s+same\s+time\b|meanwhile\b|此时|这时|同时|然后)", re.IGNORECASE
)
