"""Persons and times in Chinese text: 人物2, 人物1和3, 第2个人, 3秒, 第3.5秒, 从3秒到5秒, 持续2秒.

What is found has the shapes of `persons` and `times`. Forms in Latin letters ("Person 2", "P2", "0:07", "3.0 s") are
theirs; this module reads only what they cannot. Numbers are digits (also full-width ones) or 零 to 十二.
"""

from __future__ import annotations

import re

from ml.text import persons, times

_NUMERALS = dict(zip("零一二三四五六七八九十", range(11), strict=True)) | {"两": 2, "十一": 11, "十二": 12}
_DIGIT = r"[0-9０-９]"
_NUMBER = rf"(?:{_DIGIT}{{1,9}}|十[一二]?|[零一二两三四五六七八九])"
_VALUE = rf"(?:{_DIGIT}{{1,6}}(?:[.．]{_DIGIT}{{1,9}})?|十[一二]?|[零一二两三四五六七八九])"
_NO_UNIT = rf"(?!{_DIGIT}|[.．:：]{_DIGIT}|\s*(?:秒|分|毫|次|个|名|位|人|帧|岁))"
_PERSON = re.compile(
    rf"(?:人物|人员|角色)[ \t]*[#＃]?[ \t]*(?P<number>{_NUMBER}){_NO_UNIT}"
    rf"|第[ \t]*(?P<nth>{_NUMBER})[ \t]*(?:个|位|名)(?:人物|人)"
)
_ALSO = re.compile(rf"[ \t]*(?:、|和|与|及|以及|或|跟)[ \t]*(?P<number>{_NUMBER}){_NO_UNIT}")
_CLOCK = rf"(?:{_DIGIT}{{1,2}}[:：])?{_DIGIT}{{1,3}}[:：]{_DIGIT}{{2}}(?:[.．]{_DIGIT}{{1,6}})?(?![0-9０-９:：])"
_SECONDS = r"[ \t]*(?:秒钟?|s(?![A-Za-z]))"
_TIME = re.compile(
    rf"第?[ \t]*(?P<low>(?<![0-9０-９.．]){_VALUE})(?:{_SECONDS})?[ \t]*(?:到|至|-|–|—|~|～)[ \t]*"
    rf"第?[ \t]*(?P<high>{_VALUE})[ \t]*(?:秒|s(?![A-Za-z]))"
    rf"|(?<![0-9０-９.．:：])(?P<from>{_CLOCK})(?:[ \t]*(?:到|至|-|–|—|~|～)[ \t]*(?P<to>{_CLOCK}))?"
    rf"|(?P<nth>第)?[ \t]*(?P<value>(?<![0-9０-９.．]){_VALUE})[ \t]*(?:秒|s(?![A-Za-z]))(?P<after>钟)?"
)
_LENGTH_BEFORE = re.compile(
    r"(?:持续|历时|长达|时长|耗时|过|等)(?:了|大约|约|为)*[ \t]*$|(?<!到)了(?:大约|约|整整|足足|近)?[ \t]*$"
)
_LENGTH_AFTER = re.compile(r"[ \t]*(?:钟|之?后|以后|之?前|内|左右的|长|的时间)")


def _number(words: str) -> float:
    return float(_NUMERALS[words]) if words in _NUMERALS else float(words.replace("．", "."))


def _clock(words: str) -> float:
    total = 0.0
    for part in words.replace("：", ":").split(":"):
        total = total * 60 + _number(part)
    return total


def mentions(text: str) -> list[persons.Mention]:
    """Every mention of persons in Chinese, in order, not overlapping."""
    found, at = [], 0
    while match := _PERSON.search(text, at):
        numbers, at = [int(_number(match["number"] or match["nth"]))], match.end()
        while not match["nth"] and (step := _ALSO.match(text, at)):
            numbers.append(int(_number(step["number"])))
            at = step.end()
        found.append(persons.Mention(match.start(), at, tuple(numbers), len(numbers) > 1))
    return found


def times_of(text: str) -> list[times.Mention]:
    """Every time in Chinese text, in order, not overlapping: a span ("从3秒到5秒"), a point ("3秒", "第3秒", "0:05"),
    or a length ("持续2秒", "看了2秒", "2秒后"). A plain number of seconds is a point unless a word says otherwise."""
    found = []
    for match in _TIME.finditer(text):
        if match["low"]:
            low, high = _number(match["low"]), _number(match["high"])
            found.append(times.Mention(match.start(), match.end(), "span", low, high))
            continue
        if match["from"]:
            low, high = _clock(match["from"]), _clock(match["to"] or match["from"])
            found.append(times.Mention(match.start(), match.end(), "span" if match["to"] else "point", low, high))
            continue
        value = _number(match["value"])
        length = not match["nth"] and bool(
            match["after"]
            or _LENGTH_BEFORE.search(text[max(0, match.start() - 8) : match.start()])
            or _LENGTH_AFTER.match(text, match.end())
        )
        found.append(times.Mention(match.start(), match.end(), "length" if length else "point", value, value))
    return found
