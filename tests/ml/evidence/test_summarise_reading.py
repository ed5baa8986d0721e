"""Replies as they come: blocks, broken tags and what is said of them, answers and their letters."""

from __future__ import annotations

import pytest

from ml.evidence.reading import parsed
from ml.text import answers


@pytest.mark.parametrize(
    ("reply", "reasoning", "answer", "letters", "repaired"),
    [
        ("<think>a<gaze>b</gaze>c</think>\n<answer>B</answer>", ["a", "b", "c"], "B", "B", []),
        ("<context>x</context><think>y</think><answer>B, C</answer>", ["x", "y"], "B, C", "BC", []),
        ("Only words.\nAnswer: D", ["Only words.\n"], "D", "D", []),
        ("只有文字。\n答案：C", ["只有文字。\n"], "C", "C", []),
        ("<think>He sits.\nFinal answer: A\nShe stands.</think>", ["He sits.\n", "\nShe stands."], "A", "A", []),
        ("<think>The child <answer>B", ["The child "], "B", "B", ["<think> at 0 is never", "<answer> at 17 is never"]),
        ("a</think><answer>B</answer>", ["a"], "B", "B", ["</think> at 1 closes is never opened"]),
        ("< Think >a</THINK><answer>b</answer>", ["a"], "b", "B", ["'< Think >' at 0", "'</THINK>' at 10"]),
        ("<think>a</think><answer>B<answer>", ["a"], "B", "B", ["never closed", "never closed"]),
        ("<think a</think>", ["a"], "", "", ["'<think ' at 0 was read as <think>"]),
        ("[think]a[/think]", ["a"], "", "", ["'[think]'", "'[/think]'"]),
        ("<think>a <b>bold</b> c</think>", ["a ", "bold", " c"], "", "", []),
        ("<think>a</answer>", ["a"], "", "", ["<think> at 0 is never closed", "</answer> at 8 closes nothing"]),
        ("<answer>B</answer>", [], "B", "B", []),
        ("", [], "", "", []),
    ],
)  # fmt: skip
def test_a_reply(reply: str, reasoning: list[str], answer: str, letters: str, repaired: list[str]) -> None:
    found = parsed(reply)
    assert [reply[a:b] for a, b in found.rationale_spans if reply[a:b].strip()] == reasoning
    assert (found.answer, "".join(found.letters)) == (answer, letters)
    assert len(found.repairs) == len(repaired)
    for said, part in zip(sorted(found.repairs), sorted(repaired), strict=True):
        assert any(part in repair for repair in found.repairs), (said, part)


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("B", "B"), ("B, C", "BC"), ("B,C", "BC"), ("A.", "A"), ("A and D", "AD"), ("(b)", "B"), ("BC", "BC"),
        ("A、C", "AC"), ("Answer: B", "B"), ("A) Person 2", "A"), ("<answer>C</answer>", "C"), ("B, B", "B"),
        ("know", ""), ("Because of her", ""), ("A person", ""), ("Dad", ""), ("", ""), ("E", ""),
    ],
)  # fmt: skip
def test_letters_of_an_answer(text: str, letters: str) -> None:
    """With and without blanks the same ("B, C" and "B,C"), and "A." is an A: their evaluation loses both."""
    assert "".join(answers.letters(text)) == letters
