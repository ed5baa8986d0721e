"""Chinese sentences cut into claims, with their persons; a word list stands for a grammar, so a heuristic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ml.evidence.package import ClaimType
from ml.evidence.summarisers import rules_claims as shared
from ml.evidence.summarisers.rules_piece import Piece
from ml.text import chinese, persons

_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]+")
_JOINER = re.compile(r"然后|接着|但是|但(?!愿)|而且|而(?!已|言|后)|并且|并(?!不|没|非|未|无|排|肩)|同时|随后|因为|所以")
_NO_JOINER_BEFORE = re.compile(r"(?:然|反|从|因|进|故|继|合|一|吞|兼)$")
_AFTER_A_WHILE = ("然后", "接着", "随后")
_VERBS = re.compile(
    r"看|望|盯|注视|凝视|瞥|瞪|瞧|视线|目光|转|笑|哭|皱|点头|摇头|说|讲|问|答|喊|叫|谈|聊|听|唱|指|展示|给|递|交|伸|拿|握|抓|放|举|抬|低头|挥|拍|抱|推|拉|"
    r"走|跑|站|坐|躺|蹲|跳|来|去|进|出|离开|靠近|接近|跟随|移动|停|开始|继续|打开|关闭|穿|戴|吃|喝|写|读|打|做|是|有|在|觉得|感到|感觉|认为|想|知道|似乎|"
    r"好像|显得|表示|表明|说明|表现|保持|出现|露出|变得|试图|需要|让|使|把|被|接过|回应|注意|发现|观察|惊讶|高兴|难过|生气|伤心|开心|愤怒|紧张|害怕|没有|鼓掌|"
    r"拥抱|亲吻|握手|交谈|对视|交流|倾听|沉默|安静|发生|存在|位于|属于|看到|看见|能|可以|会|应该|可能|"
    r"扔|接|捡|倒|擦|洗|切|弹|骑|开|修|躲|追|跟|等|挡|靠|倚|弯|摸|碰|敲|按|踢|咬|眨|张开|闭|睁|叹|惊|怒|愣|呆|颤|抖|退|避|迎|送|收|换|戴|脱|提|搬|摆|翻|撕|画|教|学|帮|谢"
)
_FRAME = re.compile(
    r"^(?:在)?(?:视频|画面|片段|这段视频|镜头)(?:中|里|的?(?:开头|开始|结尾|最后|末尾|中间))?$|^(?:在|从|到|大约|约|于)?第?[0-9.:：]+\s*(?:秒|s)?(?:时|左右|处|的时候|之后|后|以后|前|到[0-9.]+秒)?(?:之间|期间)?$|"
    r"^(?:首先|其次|最后|此外|另外|总之|因此|总的来说|此时|这时|同时|随后|之后|接着|然后|具体来说|可以看到|可以看出|根据视频|从视频来看|从画面来看|一开始|开始时|结束时|结尾时)$"
)
_TASK = re.compile(r"题目|问题(?!很?(?:严重|不大))|答案|选项|让我|正确的?(?:是|为)|我(?:需要|要|来|们需要)")
_TYPES: tuple[tuple[ClaimType, str], ...] = (
    ("gaze", r"看(?!起来|上去|似|法|来)|望|盯|注视|凝视|瞥|瞪|瞧|视线|目光|对视|眼神"),
    ("gesture", r"指(?:向|着|了|出)|展示|给|递|交给|伸手|伸出|出示"),
    ("audio", r"说(?!明)|讲|喊|叫|谈|聊|笑声|声音|音乐|听|语气|语调|沉默|安静|大笑|唱|问|回答"),
    ("expression", r"笑|皱眉|哭|表情|脸|睁大|流泪|神情|神色"),
    (
        "inference",
        r"觉得|感到|感觉|认为|想|知道|似乎|好像|可能|表明|说明|显得|看起来|朋友|关系|高兴|难过|生气|伤心|开心|愤怒|紧张|害怕|惊讶|情绪|心情|意图|因为",
    ),
    ("scene", r"房间|场景|地点|室内|室外|背景|镜头|灯光|光线|画面中有"),
    ("person", r"穿|戴|头发|站在|坐在.{0,6}(?:左|右|中)|出现"),
    ("object", r"^(?:桌|椅|杯|书|盘|门|窗|车).{0,12}(?:是|有|在)"),
)
_TYPE = tuple((name, re.compile(words)) for name, words in _TYPES)
_NEGATED = re.compile(r"没有|没(?!事)|不(?!久|断|停|过|同|仅|但|由|禁|时)|未|无人|从未|并非")


def is_chinese(sentence: str) -> bool:
    """Whether a sentence has more Chinese characters than Latin words."""
    han = len(_HAN.findall(sentence))
    return han > 0 and han > len(_LATIN.findall(sentence))


def pieces(text: str) -> Iterator[Piece]:
    """The claims of a Chinese sentence, in order."""
    if shared.is_question(text):
        return
    for start, end, joiner in _cut(text, 0, len(text)):
        a, b = shared.trimmed(text, start, end)
        said = text[a:b]
        if not said or _TASK.search(said) or _FRAME.match(said):
            continue
        found = mentions(said)
        named = tuple(dict.fromkeys(number for one in found for number in one.numbers))
        if not named and not _VERBS.search(said):
            continue
        kind: ClaimType = next((name for name, words in _TYPE if words.search(said)), "action")
        negated = bool(_NEGATED.search(said))
        aligned = joiner.startswith(_AFTER_A_WHILE)
        yield Piece((a, b), kind, "negated" if negated else "affirmed", named, aligned=aligned)


def mentions(said: str) -> list[persons.Mention]:
    """Persons in Chinese and in Latin letters, in order."""
    return sorted([*chinese.mentions(said), *persons.mentions(said)], key=lambda one: one.start)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """(start, end, joiner before) of the clauses of a sentence."""
    begin, joiner = start, ""
    for at, after, word in _places(text, start, end):
        if at < begin:
            continue
        left, right = text[begin:at], text[after:end]
        if not _is_clause(left) or not _VERBS.search(right) or not right.strip(" ，,"):
            if not left.strip(" ，,") and word:
                begin, joiner = (after, joiner or word) if begin > start else (begin, joiner)
            continue
        yield begin, at, joiner
        begin, joiner = after, word
    yield begin, end, joiner


def _places(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Where commas and joiners stand; a comma before a joiner is one place with it."""
    for match in re.finditer(rf"[，,][ ]*(?P<after>{_JOINER.pattern})?|{_JOINER.pattern}", text[start:end]):
        at, after = match.start() + start, match.end() + start
        word = match["after"] or ("" if match[0][0] in "，," else match[0])
        if word == match[0] and _NO_JOINER_BEFORE.search(text[max(start, at - 1) : at]):
            continue
        yield at, after, word


_TIME_WORDS = re.compile(r"(?:一)?开始时?|开头|结尾时?|结束时?|末尾|最后|起初|最初|此时|这时")


def _is_clause(left: str) -> bool:
    bare = (
        _TIME_WORDS.sub("", left.strip(" ，,"), count=1)
        if _TIME_WORDS.match(left.strip(" ，,"))
        else left.strip(" ，,")
    )
    return bool(_VERBS.search(_without_place(bare))) and not _FRAME.match(bare)


def _without_place(bare: str) -> str:
    """Without 在 and the verbs inside a leading time or place phrase."""
    return (
        re.sub(r"^(?:在|从|当)[^，,]{0,14}?(?:时候|时|中|里|上|下|后|前|处|旁|秒)(?=$)", "", bare).replace("在", "", 1)
        if bare.startswith(("在", "从", "当"))
        else bare
    )
