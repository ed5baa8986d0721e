"""From a clause to a claim, in English: where it begins and ends, whether it is one, of what type and polarity.

Word lists and regular expressions after docs/claims.md, so heuristics.
"""

from __future__ import annotations

import re

from ml.evidence.package import ClaimType, Polarity

_LEADS = (
    r"and|but|so|then|also|first|firstly|secondly|third|next|now|finally|lastly|however|meanwhile|afterwards|afterward|"
    r"therefore|thus|hence|moreover|additionally|overall|still|later(?=\s*[,，])|second(?=\s*[,，])"
)
_LEAD = re.compile(
    rf"\s*(?:(?:{_LEADS})\b(?![’'-]\w)\s*[,，、]?|首先|然后|接着|最后|因此|所以|但是|但(?!愿)|同时|此外)\s*[,，、]?\s*",
    re.IGNORECASE,
)
_NOT_LEAD = re.compile(
    r"\s*(?:first|third|next)\s+(?:person|man|woman|boy|girl|one|time|half|part|speaker|row|scene|shot|few|second|frame|"
    r"individual|gesture|event|clip|to|seconds)\b|\s*(?:still)\s+(?:image|life|frame|picture|shot)\b|\s*now\s+that\b|\s*so\s+(?:that|far)\b|"
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


# --- what makes no claim ---------------------------------------------------------------------------------------------

_TASK = re.compile(
    r"\b(?:the|this|that|my|our|a|an|any|no|which|each|other|correct|right|best|final|given|remaining)\s+(?:(?:\w+)\s+)?(?:question|answers?|options?|choices?)\b|"
    r"\b(?:question|options|choices)\b|\banswer\s+(?:is|must|should|would|has|choices?)\b|"
    r"\b(?:options?|choices?|answers?)\s+\(?[A-H]\b\)?|\bthe\s+correct\b|"
    r"^\s*\(?[B-H]\)?(?:\s+(?:is|must|should|would|can|cannot|fits|matches|seems)\b|$)|^\s*\(?A\)?\s+(?:is|must|fits|matches)\b",
)
_TASK_SMALL = re.compile(
    r"\b(?:the|this|that|our|my|correct|best|final|right)\s+(?:\w+\s+)?(?:question|answers?|options?|choices?)\b|"
    r"\boptions?\b|\banswer\s+(?:is|must|should|would|choices?)\b|\bthe\s+correct\b",
    re.IGNORECASE,
)
_RIGHT_OR_WRONG = re.compile(
    r"^\s*(?:this|that|it|which|these|those|they)\s+(?:is|are|'s|must\s+be|would\s+be|seems?|looks?|can't\s+be|cannot\s+be|isn't|aren't)\s+"
    r"(?:also\s+|not\s+|clearly\s+|therefore\s+|most\s+likely\s+|probably\s+)*(?:wrong|right|correct|incorrect|true|false|invalid|valid|ruled\s+out|eliminated|accurate|inaccurate|"
    r"supported|unsupported|plausible|implausible|the\s+case)\b",
    re.IGNORECASE,
)
_ANNOUNCE = re.compile(
    r"^\s*(?:let\s+me\b|let's\b|let’s\b|let\s+us\b|to\s+(?:answer|determine|decide|find\s+out|solve|figure|identify|understand|address|conclude|verify|summari[sz]e)\b|"
    r"(?:i|we)(?:'ll|’ll|\s+will|\s+should|\s+need\s+to|\s+have\s+to|\s+must|\s+want\s+to|\s+am\s+going\s+to|'m\s+going\s+to|\s+would\s+like\s+to|\s+can\s+now|\s+shall|\s+now|\s+first|\s+am|'m|\s+are|\s+can)?\s+"
    r"(?:look(?:ing)?|check(?:ing)?|watch(?:ing)?|examin(?:e|ing)|analy[sz](?:e|ing)|review(?:ing)?|consider(?:ing)?|focus(?:ing)?|determin(?:e|ing)|identify|find|verify|compar(?:e|ing)|answer(?:ing)?|think\s+about|go|pay\s+attention|conclude|re-?check|be\s+careful)\b(?!\s+that\b)|"
    r"(?:look|check|watch|examine|analy[sz]e|consider|review|focus|identify|determine|recall|remember|think)\b(?!\s+that\b)(?!s)|"
    r"here\s+(?:is|are)\s+(?:the|my)\b|based\s+on\s+(?:the|this|these|my)\s+(?:video|observations?|analysis|evidence|frames?)\s*$)",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:option|choice|answer|question)s?\b[^.]*?\b(?:says?|states?|claims?|suggests?|mentions?|asks?|describes?|implies|proposes?|reads?|indicates?)\b",
    re.IGNORECASE,
)
_LEADING_PHRASE = re.compile(
    r"^\s*(?:looking|going|based|according|given|considering|comparing|among|of|with|for|in|from|as|regarding|concerning|relating|turning)\b[^,，]{0,80}[,，]\s*(?=\S)",
    re.IGNORECASE,
)


def about_task(clause: str) -> bool:
    """Whether a clause speaks of the question, an option or the choice, or only announces what is done next."""
    if _ANNOUNCE.match(clause) or _RIGHT_OR_WRONG.match(clause):
        return True
    rest = _LEADING_PHRASE.sub("", clause)
    return bool(_TASK.search(rest) or _TASK_SMALL.search(rest))


def reports(clause: str) -> bool:
    """Whether a clause tells what an option or the question says."""
    return bool(_REPORTED.search(clause))


# --- type and polarity -----------------------------------------------------------------------------------------------

_FEELING = (
    r"happ(?:y|ily|iness|ier)|sad(?:ly|ness)?|angry|angrily|anger|upset|surpris(?:e|ed|ing|ingly)|shock(?:ed)?|fear(?:ful)?|afraid|scared|"
    r"disgust(?:ed)?|annoy(?:ed|ance)|irritat(?:ed|ion)|excite(?:d|ment)|nervous(?:ly|ness)?|anxi(?:ous|ety)|worr(?:y|ied)|confus(?:ed|ion)|"
    r"embarrass(?:ed|ment)|proud|pride|joy(?:ful)?|delight(?:ed)?|amus(?:ed|ement)|bored(?:om)?|calm(?:ly)?|relaxed|tense|tension|serious(?:ly)?|"
    r"content(?:ment)?|pleased|disappoint(?:ed|ment)|frustrat(?:ed|ion)|relie(?:f|ved)|curious|curiosity|concern(?:ed)?|hesita(?:nt|tion)|"
    r"skeptical|sceptical|thoughtful|cheerful|unhappy|emotional|emotions?|mood|interested|uninterested|puzzled|uncomfortable|comfortable|"
    r"friendly|hostile|lonely|grateful|jealous|guilty|ashamed|hopeful|stressed|tired|contempt|sorrow|grief|rage|furious|distress(?:ed)?|"
    r"affection(?:ate)?|love|engaged|attentive|distracted|indifferent|neutral|determined|confident|shy|awkward"
)
_GAZE = re.compile(
    r"\b(?:look(?:s|ed|ing)?|gaz(?:e|es|ed|ing)|star(?:e|es|ed|ing)|watch(?:es|ed|ing)?|glanc(?:e|es|ed|ing)|"
    r"eye[- ]contact|peek(?:s|ed|ing)?|"
    r"peer(?:s|ed|ing)?|glar(?:e|es|ed|ing)|line\s+of\s+sight|eyes\s+(?:\w+\s+){0,3}(?:on|at|to|toward|towards|away|meet|lock|follow|fix|shift|move)\w*|"
    r"joint\s+attention|mutual\s+gaze)\b",
    re.IGNORECASE,
)
_SEEMING = re.compile(
    rf"\blook(?:s|ed|ing)?\s+(?:(?:very|quite|rather|so|a\s+bit|a\s+little|slightly|more|less|\w+ly)\s+)*(?:{_FEELING}|like|as\s+(?:if|though)|good|"
    r"bad|young|old|older|younger|tall|short|pretty|similar|different|alike)\b|\bstaring\s+role\b",
    re.IGNORECASE,
)
_GESTURE = re.compile(
    r"\b(?:point(?:s|ed|ing)?\s+(?:\w+ly\s+)?(?:\w+\s+){0,3}?(?:at|to|toward|towards|out|up|down|with|in|across|behind|back|straight)|points\b(?!\s+of)|pointing|pointed\s+(?=at|to)|"
    r"shows?|showing|showed|gives?|giving|gave|hands|handing|handed|hand\s+(?=over|the|a|an|it|him|her|them|out)|reach(?:es|ed|ing)?|"
    r"offers?|offered|offering|pass(?:es|ed|ing)\s+(?:\w+\s+){1,4}to)\b",
    re.IGNORECASE,
)
_NO_GESTURE = re.compile(
    rf"\b(?:video|clip|scene|frame|image|footage|picture|shot|camera|screen|photo)s?\s+(?:\w+ly\s+)?(?:shows?|showed|gives?)|"
    rf"\b(?:shows?|showed|showing|gives?|gave|giving)\s+(?:\w+\s+){{0,3}}?(?:signs?|{_FEELING}|expressions?|interest|attention|smiles?|nod|looks?|glance|"
    r"respect|support|impression|sense|answer|that|how|no\s+sign|up\b)|\b(?:hands?)\s+(?:are|is|were|was|on|in|at|together|resting|clasped|folded|raised|move)\b|"
    r"\breach(?:es|ed)?\s+(?:the\s+)?(?:end|conclusion|agreement|age)\b",
    re.IGNORECASE,
)
_AUDIO = re.compile(
    r"\b(?:say|says|said|saying|speak(?:s|ing)?|spoke|spoken|laugh(?:s|ed|ing|ter)?|shout(?:s|ed|ing)?|sounds?|sounded|voices?|tone|music|hears?|heard|"
    r"hearing|silen(?:ce|t|tly)|talk(?:s|ed|ing)?|whisper(?:s|ed|ing)?|yell(?:s|ed|ing)?|scream(?:s|ed|ing)?|sings?|sang|singing|asks?|asked|asking|"
    r"answers|answered|repl(?:y|ies|ied)|tells?|told|telling|calls\s+out|loud(?:ly)?|quietly|noise|audible|audio|applau(?:se|ds?)|murmur\w*|"
    r"chuckl(?:e|es|ed|ing)|giggl(?:e|es|ed|ing)|sobs?|sobbing|sigh(?:s|ed|ing)?|utters?|uttered|conversation|speech|mentions?|mentioned|explains?|explained|exclaims?|exclaimed|greets?|greeted|thanks|thanked|mutters?|muttered|cheer(?:s|ed|ing)?|pitch|argu(?:e|es|ed|ing))\b",
    re.IGNORECASE,
)
_EXPRESSION = re.compile(
    r"\b(?:smil(?:e|es|ed|ing)|frown(?:s|ed|ing)?|cr(?:y|ies|ied|ying)|facial|faces?\s+(?=shows?|turns?|lights?|falls?|is|looks|becomes|brightens|expresses|reveals)|"
    r"expressions?|grin(?:s|ned|ning)?|smirk(?:s|ed|ing)?|scowl(?:s|ed|ing)?|pout(?:s|ed|ing)?|grimac(?:e|es|ed|ing)|tear(?:s|y|ful)\b|weep(?:s|ing)?|wept|"
    r"eyes?\s+(?:\w+\s+){0,2}?(?:wide|widen\w*|narrow\w*|tear\w*|closed|shut|open)|wide[- ]eyed|"
    r"eyebrows?|brows?|wrinkl\w+|beam(?:s|ed|ing)|blush(?:es|ed|ing)?|"
    r"(?:her|his|their|the)\s+(?:\w+\s+)?face|on\s+\w+\s+face|lips|jaw\s+(?:drops?|clench\w*)|mouth)\b",
    re.IGNORECASE,
)
_INFERENCE = re.compile(
    rf"\b(?:feel(?:s|ing|ings)?|felt|thinks?|thought|wants?|wanted|know(?:s|n)?|knew|seem(?:s|ed|ing|ingly)?|probably|suggest(?:s|ed|ing)?|indicat(?:e|es|ed|ing)|"
    r"appears?\s+to|perhaps|maybe|possibly|presumably|likely|might|may\s+be|impl(?:y|ies|ied|ying)|because\s+of|believ(?:e|es|ed)|intend(?:s|ed)?|intention|hop(?:es|ed|ing)|"
    r"tr(?:y|ies|ied|ying)\s+to|understand(?:s|ing)?|understood|remember(?:s|ed)?|friends?|couple|colleagues?|relationship|married|siblings?|strangers|must\s+(?:be|have)|infer(?:s|red)?|"
    r"mean(?:s|t)\b|reflect(?:s|ing)?|reveal(?:s|ing)?|convey(?:s|ing)?|express(?:es|ing)|expects?|expected|likes?\s+(?=her|him|them|the|it)|hates?|loves|trusts?|agrees?|disagrees?|aware|"
    rf"expecting|motiv\w+|reason|consistent\s+with|evidence|demonstrat(?:e|es|ed|ing)|needs?|wonder(?:s|ed|ing)?|realiz(?:e|es|ed)|decid(?:e|es|ed)|{_FEELING})\b",
    re.IGNORECASE,
)
_SCENE = re.compile(
    r"\b(?:(?:the|this|a)\s+(?:video|clip|scene|footage|setting|background|shot|camera|room|place|location|lighting|light|environment|atmosphere)\b|takes?\s+place|indoors|outdoors|"
    r"there\s+(?:are|is)\s+(?:\w+\s+){0,2}?(?:people|persons|men|women|individuals)|(?:two|three|four|five|several|many)\s+(?:people|persons|individuals)\s+(?:are|appear)\s+(?:visible|present|in)|brightly\s+lit|dimly\s+lit|daytime|night)\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:is|are|was|were|'s|’s|has|have|had|wears?|wearing|wore|dressed|remains?|stays?|stands?\s+out)\b",
    re.IGNORECASE,
)
_PERSON_WORD = re.compile(
    r"\b(?:persons?\s*\d+|p\d+|he|she|they|man|men|woman|women|boys?|girls?|child|children|person|people|somebody|someone|nobody|guy|lady|baby|kid|"
    r"individuals?|everyone|everybody|hair|shirt|dress|jacket|wear\w*|dressed)\b",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"\b(?:is|are|was|were|'s|’s|keeps?|starts?|begins?|stops?|continues?)\s+(?:\w+ly\s+|still\s+|now\s+|also\s+|not\s+)*(?!wearing|standing|sitting|visible|located)\w+ing\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|nobody|no\s+one|none|neither|cannot|no\s+longer|nothing|nowhere|hardly|without\s+looking)\b|n['’]t\b|^\s*no\s+\w+",
    re.IGNORECASE,
)
_NOT_THE_VERB = re.compile(r"\bnot\s+only\b|\bif\s+not\b|\bwhy\s+not\b", re.IGNORECASE)


def type_of(clause: str, states: bool) -> ClaimType:
    """The first type that fits. `states`: the clause's finite verb is one of being or having."""
    seeming = _SEEMING.search(clause)
    if _GAZE.search(_SEEMING.sub(" ", clause)):
        return "gaze"
    if _GESTURE.search(_NO_GESTURE.sub(" ", clause)):
        return "gesture"
    if _AUDIO.search(clause):
        return "audio"
    if _EXPRESSION.search(clause):
        return "expression"
    if seeming or _INFERENCE.search(clause):
        return "inference"
    if _DOING.search(clause):
        return "action"
    if _SCENE.search(clause):
        return "scene"
    if not states:
        return "action"
    return "person" if _PERSON_WORD.search(clause) else "object"


def polarity_of(clause: str) -> Polarity:
    return "negated" if _NEGATED.search(_NOT_THE_VERB.sub(" ", clause)) else "affirmed"


# --- times that are no numbers ---------------------------------------------------------------------------------------

FIFTH = 0.2
BEGINNING = re.compile(
    r"\b(?:at|in|from|since|near)\s+the\s+(?:very\s+)?(?:beginning|start|outset)\b(?!\s+to)|\binitially\b|\bin\s+the\s+opening\s+(?:frames?|seconds?|moments?)\b|开始时|一开始|开头|起初|视频开始|片段开始|最初",
    re.IGNORECASE,
)
END = re.compile(
    r"\b(?:at|in|by|toward|towards|near|until)\s+the\s+(?:very\s+)?end(?!\s+of\s+the\s+(?:table|room|line|row|street|bench|couch|sofa|hall|bed))\b|结束时|结尾|末尾|最后时刻|视频最后|片段最后",
    re.IGNORECASE,
)
THROUGHOUT = re.compile(
    r"\bthroughout\b|\b(?:during|for)\s+the\s+(?:entire|whole)\s+(?:video|clip|scene|time)\b|\bthe\s+(?:entire|whole)\s+(?:time|video|clip)\b|自始至终|始终|全程|整个(?:视频|片段|过程)|从头到尾",
    re.IGNORECASE,
)
GOES_ON = re.compile(
    r"\s*(?:then\b|at\s+this\s+moment\b|at\s+the\s+same\s+time\b|meanwhile\b|此时|这时|同时|然后)", re.IGNORECASE
)
