"""Chinese sentences cut into claims, with their persons; a word list stands for a grammar, so a heuristic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ml.evidence.package import ClaimType, Polarity
from ml.evidence.summarisers import rules_claims as shared
from ml.evidence.summarisers.rules_chinese_statements import statement
from ml.evidence.summarisers.rules_piece import Piece
from ml.text import chinese, persons

_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]+")
_JOINER = re.compile(r"然后|接着|但是|但(?!愿)|而且|而(?!已|言|后)|并且|并(?!不|没|非|未|无|排|肩)|同时|随后|因为|所以")
_NO_JOINER_BEFORE = re.compile(r"(?:然|反|从|因|进|故|继|合|一|吞|兼)$")
_PLACE = re.compile(rf"[，,][ ]*(?P<after>{_JOINER.pattern})?|{_JOINER.pattern}")
_OPENING = re.compile(r"^(?:(?:视频|画面|片段)?(?:一开始|开始时|开头|结尾时?|结束时|末尾|最后|起初|最初)|此时|这时)")
_SEEN = re.compile(r"从[^，,]{1,8}来看|看(?:起来|上去|来)")
_AFTER_A_WHILE = ("然后", "接着", "随后")
_VERBS = re.compile(
    r"看|望|盯|注视|凝视|瞥|瞪|瞧|视线|目光|转|笑|哭|皱|点头|摇头|说|讲|问|答|喊|叫|谈|聊|听|唱|指|展示|给|"
    r"递|交|伸|拿|握|抓|放|举|抬|低头|挥|拍|抱|推|拉|"
    r"走|跑|站|坐|躺|蹲|跳|来|去|进|出|离开|靠近|接近|跟随|移动|停|开始|继续|打开|关闭|穿|戴|吃|喝|写|读|打|"
    r"做|是|有|在|觉得|感到|感觉|认为|想|知道|似乎|"
    r"好像|显得|表示|表明|说明|表现|保持|出现|露出|变得|试图|需要|让|使|把|被|接过|回应|注意|发现|观察|惊讶|"
    r"高兴|难过|生气|伤心|开心|愤怒|紧张|害怕|没有|鼓掌|"
    r"拥抱|亲吻|握手|交谈|对视|交流|倾听|沉默|安静|发生|存在|位于|属于|看到|看见|能|可以|会|应该|可能|"
    r"扔|接|捡|倒|擦|洗|切|弹|骑|开|修|躲|追|跟|等|挡|靠|倚|弯|摸|碰|敲|按|踢|咬|眨|张开|闭|睁|叹|惊|怒|愣|"
    r"呆|颤|抖|退|避|迎|送|收|换|脱|捂|.(?:了|着|住)|提|搬|摆|翻|撕|画|教|学|帮|谢"
)
_FRAME = re.compile(
    r"(?:(?:大约|约|大概)?(?:在|从|到|于|当|随着|根据|通过|按照|就)[^，,]{0,20}"
    r"(?:时候|时|中|里|内|上|下|间|后|前|处|旁|边|秒|来看|看来|"
    r"起|左右|刻|开始|结束|而言)|(?:大约|约|大概)?"
    r"第?[0-9.:：]+[ ]*(?:秒|s)?(?:钟)?(?:时|左右|处|的时候|之?后|以后|之?前)?|"
    r"(?:整个|这段|该|本)?(?:视频|画面|片段|镜头|过程)(?:的|里|中)?(?:一?开始|开头|结尾|最后|末尾|中间|中|里|"
    r"前半段|后半段)?时?|"
    r"首先|其次|再次|最后|此外|另外|总之|因此|总的来说|总体来说|综上所述|综上|此时|这时|同时|随后|之后|接着|"
    r"然后|后来|具体来说|可以看到|可以看出|由此可见|"
    r"一开始|开始时|刚开始|结束时|结尾时|不久|突然|接下来|与此同时|相比之下|显然|当然|其实|实际上|不过|然而|"
    r"于是|紧接着|片刻后)"
)
_PREDICATE = re.compile(
    r"很|非常|十分|有点|有些|更|太|极|越来越|严肃|平静|冷静|轻松|自然|僵硬|放松|温柔|激动|兴奋|愉快|悲伤|"
    r"沮丧|失落|尴尬|疲惫|专注|认真|热情|友好|和谐|融洽|明亮|"
    r"昏暗|热闹|空旷|整洁|凌乱|苍白|通红|湿润|坚定|犹豫|急促|缓慢|低沉|他|她|它|大家|双方|两人|低|人物|"
    r"第[0-9一二三四五六七八九十]+个人"
)
_REPORTS = re.compile(r"(?:选项|题目|问题|答案)[^，,]{0,4}(?:说|提到|问|认为|描述|指出|是|声称|表示)")
_APART = ("但", "而", "因为", "所以")
_TASK = re.compile(
    r"题目|问题(?!很?(?:严重|不大))|答案|选项|让我|正确的?(?:是|为)|我(?:需要|要|来|们需要)|"
    r"这(?:就)?(?:是|并)?(?:错误|不对|对的|正确|不正确)"
)
_TYPES: tuple[tuple[ClaimType, str], ...] = (
    ("gaze", r"看(?!起来|上去|似|法|来)|望|盯|注视|凝视|瞥|瞪|瞧|视线|目光|对视|眼神"),
    ("gesture", r"指(?:向|着|了|出)|展示|给|递|交给|伸手|伸出|出示"),
    ("audio", r"说(?!明)|讲|喊|叫|谈|聊|笑声|声音|音乐|听|语气|语调|沉默|安静|大笑|唱|问|回答"),
    ("expression", r"笑|皱眉|哭|表情|脸|睁大|流泪|神情|神色"),
    (
        "inference",
        r"觉得|感到|感觉|认为|想|知道|似乎|好像|可能|表明|说明|显得|看起来|朋友|关系|高兴|难过|生气|伤心|"
        r"开心|愤怒|紧张|害怕|惊讶|情绪|心情|意图|因为",
    ),
    ("scene", r"房间|场景|地点|室内|室外|背景|镜头|灯光|光线|画面(?:中|里|上)?(?:并?没)?有"),
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
    swallowed = False
    for start, end, joiner in _cut(text):
        a, b = shared.trimmed(text, start, end)
        said = text[a:b]
        swallowed = swallowed and not joiner.startswith(_APART)
        if not said or swallowed or _FRAME.fullmatch(said):
            continue
        if _TASK.search(said):
            swallowed = bool(_REPORTS.search(said))
            continue
        found = mentions(said)
        named = tuple(dict.fromkeys(number for one in found for number in one.numbers))
        if not named and not _says(said):
            continue
        bare = _SEEN.sub("", said)
        kind: ClaimType = next((name for name, words in _TYPE if words.search(bare)), "action")
        negated = bool(_NEGATED.search(said))
        aligned = joiner.startswith(_AFTER_A_WHILE)
        stated = statement(said, kind, found)
        polarity: Polarity = "negated" if negated else "affirmed"
        yield Piece((a, b), kind, polarity, named, statement=stated, aligned=aligned)


def mentions(said: str) -> list[persons.Mention]:
    """Persons in Chinese and in Latin letters, in order."""
    return sorted([*chinese.mentions(said), *persons.mentions(said)], key=lambda one: one.start)


def _cut(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, joiner before) of the clauses of a sentence."""
    begin, joiner = 0, ""
    for at, after, word in _places(text):
        left, right = text[begin:at].strip(" ，,"), text[after:]
        comma = text[at] in "，,"
        if _FRAME.fullmatch(left) or not _says(right.split("，")[0]) or not left:
            continue
        if not (comma or _VERBS.search(_OPENING.sub("", left))) or (comma and not _stands(left)):
            continue
        yield begin, at, joiner
        begin, joiner = after, word
    yield begin, len(text), joiner


def _places(text: str) -> Iterator[tuple[int, int, str]]:
    """Where commas and joiners stand; a comma before a joiner is one place with it."""
    for match in _PLACE.finditer(text):
        word = match["after"] or ("" if match[0][0] in "，," else match[0])
        if word == match[0] and _NO_JOINER_BEFORE.search(text[max(0, match.start() - 1) : match.start()]):
            continue
        yield match.start(), match.end(), word


def _says(part: str) -> bool:
    """Whether there is a verb, or an adjective that stands for one."""
    return bool(_VERBS.search(part) or _PREDICATE.search(part))


def _stands(left: str) -> bool:
    """Whether what is left of a comma is more than an opening ("然后她", "突然")."""
    return len(left) > 1 and (_says(left) or len(left) > 2)
