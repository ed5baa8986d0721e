"""What a Chinese gaze or gesture clause states in the proof evaluator's terms, where tags hold both roles.

Who does it stands right before the verb (times and manners may stand between), whoever it is done to right after it, or
before it after 朝, 向, 往, 对 or 给. Word lists stand for a grammar, so a heuristic; what is not sure states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ml.evidence.package import LOOKED_AT, LOOKER, Statement
from ml.social.event import MUTUAL
from ml.text.persons import Mention

LONGEST = 40  # characters between the two tags
_TO = r"(?:朝着?|向着?|往|对着?|冲着?|给)"
# 看到, 看见: sees; 看起来, 看似: seems; 看法: a view
_LOOK = r"(?:(?:注|凝|直)视|[看望](?![到见出似法待作成来不得清懂护守病书])|盯|瞪|瞥|瞧)"
_AFTER = r"(?:了|着|住|过|一眼|一下)*[向朝]?(?:了|着|过)?(?:一眼|一下)?"
_LOOK_AT = re.compile(
    rf"(?P<verb>{_LOOK}{_AFTER}|(?:视线|目光|眼神)(?:转|移|投|看|望|落|指)?(?:向|在|到|朝)(?:了|着)?)[ ]*$"
)
_LOOK_AFTER = re.compile(rf"^[ ]*(?:的方向)?(?P<verb>(?:一直|又|静静地?|默默地?)?{_LOOK}(?:去|了|着|过去|来|看|一眼)*)")
_MUTUAL = re.compile(
    r"对视|互相(?:注视|凝视|看|望)|相互(?:注视|凝视|看|望)|四目相对|目光(?:相遇|交汇|相接)|眼神(?:交流|接触|交汇)"
)
_GESTURES: tuple[tuple[str, str], ...] = (
    ("pointing", r"(?:用(?:右|左)?手指?)?指(?:向|着|了指|了一下|了)"),
    ("giving", r"(?:递给|递向|交给|拿给|送给|传给|递到)(?:了)?"),
    ("showing", r"(?:展示给|出示给|拿给.{0,3}看)(?:了)?"),
    ("reaching", r"(?:伸手(?:去)?(?:够|拿|抓|碰|触碰|摸|拉|指)?|把手伸)(?:向|着|了)?"),
)
_AFTERWARDS = (  # done to whom 向 or 给 named before
    ("pointing", re.compile(r"^[ ]*指(?:去|了指|着|了)")),
    ("giving", re.compile(r"^[ ]*递(?:去|过去|出|来|了)")),
    ("showing", re.compile(r"^[ ]*(?:展示|出示)")),
    ("reaching", re.compile(r"^[ ]*(?:伸(?:手|出(?:了)?(?:双|右|左)?手))")),
)
# what follows the second tag and makes something of theirs, or a place beside them, the target
_NOT_THEM = re.compile(
    r"^[ ]*(?:的(?!脸|眼睛|眼|面部|方向|双眼)|身[后旁前边上]|[旁背](?:边|后)|"
    r"[前后左右](?:边|面|方|侧)|手[中里上]|那[边里]|这[边里]|旁|附近)"
)
_NOT_DONE = re.compile(
    r"想要?|打算|试图|准备|企图|差点|几乎|险些|避免|避开|回避|拒绝|假装|装作|似乎|好像|仿佛|可能|也许|大概(?!在)|应该|即将|正要|将要|"
    r"不愿|不肯|不敢|没能|未能|忘记|犹豫|没有?必要|看样子"
)
# between who does it and the verb: times and manners, no other subject and no other verb
_BETWEEN = re.compile(
    r"^(?:[ ，,]|在?第?[0-9０-９.．:：到至\-–—~～]++(?:秒钟?|s)?(?:左右)?(?:的?时候?|处)?|大约|约|"
    r"从|此时|这时|突然|忽然|一直|始终|正在?|仍然?|还|又|也|再次|随后|然后|先|转头|转身|转过头|转过身|抬头|抬起头|低头|回头|侧头|扭头|微笑着|笑着|"
    r"没有?|并?没有?|不再?|从未|未|的|把?(?:视线|目光|眼神)|[\u4e00-\u9fff]{1,3}地|开始|都|很?快速?地?|持续|主动|用(?:右|左)?手)*$"
)
_GIVEN = re.compile(r"^(?P<before>.*?)[把将](?:[^，,]{1,12}?)$")


def statement(said: str, type: str, mentions: Sequence[Mention]) -> Statement | None:
    """The statement of a gaze or gesture clause with these mentions of persons, in order; None where it is not read."""
    if type not in ("gaze", "gesture") or _NOT_DONE.search(said):
        return None
    if type == "gaze" and _MUTUAL.search(said):
        members = tuple(dict.fromkeys(number for one in mentions for number in one.numbers))
        if len(members) != 2:
            return None
        return Statement("gaze", (MUTUAL,), tuple(("member", number) for number in members))
    if len(mentions) != 2 or any(len(one.numbers) != 1 for one in mentions):
        return None
    (first,), (second,) = mentions[0].numbers, mentions[1].numbers
    lead, rest = said[mentions[0].end : mentions[1].start], said[mentions[1].end :]
    if first == second or len(lead) > LONGEST:
        return None
    if type == "gaze":
        return Statement("gaze", (), ((LOOKER, first), (LOOKED_AT, second))) if _looks(lead, rest) else None
    name = _gesture(lead, rest)
    return Statement("gesture", (name,), (("initiator", first), ("target", second))) if name else None


def _looks(lead: str, rest: str) -> bool:
    if found := _LOOK_AT.search(lead):
        return bool(_BETWEEN.match(lead[: found.start()])) and not _NOT_THEM.search(rest)
    return bool(
        (to := re.search(rf"{_TO}[ ]*$", lead)) and _BETWEEN.match(lead[: to.start()]) and _LOOK_AFTER.match(rest)
    )


def _gesture(lead: str, rest: str) -> str | None:
    for name, words in _GESTURES:
        if found := re.search(rf"(?:{words})[ ]*$", lead):
            before = lead[: found.start()]
            given = _GIVEN.match(before) if name in ("giving", "showing") else None
            fits = _BETWEEN.match(given["before"] if given else before) and not _NOT_THEM.search(rest)
            return name if fits else None
    if to := re.search(rf"{_TO}[ ]*$", lead):
        before = lead[: to.start()]
        if _BETWEEN.match(before):
            return next((name for name, words in _AFTERWARDS if words.match(rest)), None)
    return None
