"""The client against a scripted server over real HTTP: what is tried again, what is not, what it costs."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from pydantic import BaseModel, ConfigDict

from ml.endpoint import BrokenReply, EndpointError
from ml.endpoint.client import Endpoint, bare_json, picture, retry_after, system, user, words
from ml.progress import Cancelled
from tests.ml.endpoint.server import KEY, Answer, Server, fails, said, says


class Count(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int


RIGHT = {"count": 3}
ASKED = [system("Count."), user(words("How many?"), picture(b"\xff\xd8jpeg"))]


def ask(server: Server, stop: Callable[[], None] = lambda: None, **config: object) -> tuple[Count, Endpoint]:
    with Endpoint(server.config(**config), stop=stop) as endpoint:
        return endpoint.ask(ASKED, Count, name="count").value, endpoint


def test_it_sends_what_was_asked_and_reads_the_reply() -> None:
    with Server([says(RIGHT)]) as server, Endpoint(server.config()) as endpoint:
        reply = endpoint.ask(ASKED, Count, name="count", temperature=0.3, max_tokens=50)
    assert reply.value == Count(count=3) and reply.model == "scripted-1" and reply.text == json.dumps(RIGHT)
    body = server.asked[0]
    assert body["model"] == "scripted" and body["temperature"] == 0.3 and body["max_tokens"] == 50
    assert body["messages"][1]["content"][1]["image_url"]["url"] == "data:image/jpeg;base64,/9hqcGVn"
    wanted = body["response_format"]["json_schema"]
    assert body["response_format"]["type"] == "json_schema" and wanted["strict"] and wanted["name"] == "count"
    assert wanted["schema"]["properties"] == {"count": {"title": "Count", "type": "integer"}}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_the_prompt_hash_knows_words_pictures_and_settings() -> None:
    with Server(lambda body: says(RIGHT)) as server, Endpoint(server.config()) as endpoint:
        first = endpoint.ask(ASKED, Count, name="count").prompt
        assert endpoint.ask(ASKED, Count, name="count").prompt == first and len(first) == 64
        others = [
            endpoint.ask([system("Count!"), ASKED[1]], Count, name="count").prompt,
            endpoint.ask([ASKED[0], user(words("How many?"), picture(b"another"))], Count, name="count").prompt,
            endpoint.ask(ASKED, Count, name="count", temperature=0.5).prompt,
        ]
    assert len({first, *others}) == 4


@pytest.mark.parametrize(
    "failure",
    [
        fails(500, "boom"),
        fails(503),
        fails(529),
        fails(408),
        fails(429, "slow down"),
        Answer(pause_s=0.6),  # nothing within the limit
        says(RIGHT, drip_s=0.02),  # a byte every 20 ms never gets there
        Answer(body=b'{"choices": [', cut=5),  # the connection is lost
        Answer(body=b"<html>gateway</html>"),
        Answer(body=b"[]"),
        Answer(body=b'{"choices": []}'),
    ],
    ids=["500", "503", "529", "408", "429", "silent", "slow", "cut", "html", "list", "no choice"],
)
def test_what_passes_is_tried_again(failure: Answer) -> None:
    with Server([failure, failure, says(RIGHT)]) as server:
        value, endpoint = ask(server, timeout_s=0.3)
    assert value.count == 3 and len(server.asked) == 3
    assert (endpoint.spent.calls, endpoint.spent.retries) == (1, 2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 302])
def test_what_does_not_pass_is_not(status: int) -> None:
    with Server([fails(status, "no such thing", Location="http://127.0.0.1:9/")]) as server:
        with pytest.raises(EndpointError, match=str(status)):
            ask(server)
        assert len(server.asked) == 1


def test_a_spent_quota_is_not_waited_for() -> None:
    over = Answer(429, b'{"error": {"code": "insufficient_quota", "message": "You exceeded your quota."}}')
    with Server([over]) as server, pytest.raises(EndpointError, match="429: You exceeded your quota"):
        ask(server)


def test_it_gives_up_after_so_many_attempts() -> None:
    with Server(lambda body: fails(500, "boom")) as server:
        with pytest.raises(EndpointError, match=r"The endpoint http://127.0.0.1:\d+/v1 answered 500: boom\."):
            ask(server, attempts=4)
        assert len(server.asked) == 4


def test_an_endpoint_that_is_not_there_is_one_sentence() -> None:
    with Server([]) as server:
        config = server.config(attempts=2)
    with Endpoint(config) as endpoint, pytest.raises(EndpointError, match="cannot be reached"):
        endpoint.ask(ASKED, Count, name="count")


# --- waits ---------------------------------------------------------------------------------------------------------


def test_it_waits_as_long_as_the_server_asks() -> None:
    with Server([fails(429, Retry_After="1"), says(RIGHT)]) as server:
        ask(server)
    assert 1.0 <= server.times[1] - server.times[0] < 2.0  # longer than the longest wait of its own, 0.1 s


def test_a_wait_beyond_its_patience_is_said() -> None:
    waits = "busy. It asks to be left alone for 3600 s"
    with Server([fails(429, "busy", Retry_After="3600")]) as server, pytest.raises(EndpointError, match=waits):
        ask(server)


@pytest.mark.parametrize(("header", "seconds"), [(None, None), ("7", 7.0), (" 7 ", 7.0), ("soon", None), ("-3", None)])
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_retry_after_may_be_a_date() -> None:
    coming = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 < (retry_after(coming) or 0) <= 30
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_waits_grow_at_random_up_to_a_limit() -> None:
    """Six attempts with a first wait of at most 0.05 s: all waits within 0.05 * 2^k and 0.2 s, and not all alike."""
    with Server([fails(500)] * 5 + [says(RIGHT)]) as server:
        ask(server, first_wait_s=0.05, longest_wait_s=0.2)
    waits = [b - a for a, b in zip(server.times, server.times[1:], strict=False)]
    slack = 0.15  # of a busy machine
    assert all(wait <= min(0.2, 0.05 * 2**k) + slack for k, wait in enumerate(waits))
    assert len({round(wait, 3) for wait in waits}) > 1


def test_it_keeps_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 3 a minute the fourth request waits for the first to be a minute old; time is made to fly."""
    now, slept = [100.0], [0.0]

    def pause(seconds: float) -> None:
        slept[0] += seconds
        now[0] += seconds

    with Server(lambda body: says(RIGHT)) as server, Endpoint(server.config(per_minute=3)) as endpoint:
        monkeypatch.setattr("ml.endpoint.client.time.monotonic", lambda: now[0])
        monkeypatch.setattr(endpoint, "_pause", pause)
        for expected in (0.0, 0.0, 0.0, 60.0):
            endpoint._keep_rate()
            assert slept[0] == expected
        now[0] += 30.0
        endpoint._keep_rate()  # the second and third went out at 100, now it is 190
        assert slept[0] == 60.0


def test_it_stops_in_the_middle_of_a_request() -> None:
    """A server that takes 30 s; stopped after 0.5 s, in the caller's thread, and the connection is let go."""
    began, threads = time.monotonic(), set()

    def stop() -> None:
        threads.add(threading.current_thread())
        if time.monotonic() - began > 0.5:
            raise Cancelled("stop")

    with Server([Answer(pause_s=30)]) as server, pytest.raises(Cancelled):
        ask(server, stop, timeout_s=60)
    assert time.monotonic() - began < 3 and threads == {threading.main_thread()}


def test_it_stops_in_the_middle_of_a_wait() -> None:
    began = time.monotonic()

    def stop() -> None:
        if time.monotonic() - began > 0.5:
            raise Cancelled("stop")

    with Server([fails(429, Retry_After="60")]) as server, pytest.raises(Cancelled):
        ask(server, stop)
    assert time.monotonic() - began < 3


# --- replies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (says("{not json"), "does not follow the schema"),
        (says({"count": "many"}), "count: "),
        (says({"number": 3}), "count: "),
        (says({"count": 3, "more": 4}), "more: "),
        (says('{"count": ', reason="length"), "cut off before its end"),
        (says("", reason="content_filter"), "filter held the reply back"),
        (Answer(body=b'{"choices": [{"message": {"content": null}}]}'), "does not follow the schema"),
        (Answer(body=b'{"choices": ["text"]}'), "does not follow the schema"),
    ],
    ids=["not json", "wrong type", "wrong name", "too much", "cut off", "filtered", "null", "no message"],
)
def test_a_broken_reply_is_asked_for_once_more(broken: Answer, why: str) -> None:
    with Server([broken, says(RIGHT)]) as server:
        value, endpoint = ask(server)
    assert value.count == 3 and (endpoint.spent.calls, endpoint.spent.reasked) == (2, 1)
    again = server.asked[1]
    assert again["messages"][:2] == server.asked[0]["messages"] and why in said(again)
    with Server([broken, broken]) as server, pytest.raises(BrokenReply, match=why):
        ask(server)


def test_thoughts_and_fences_around_the_json_are_taken_off() -> None:
    assert bare_json('<think>{"count": 1}</think>\n```json\n{"count": 3}\n```\n') == '{"count": 3}'
    assert bare_json('{"why": "<think>a</think>"}') == '{"why": "<think>a</think>"}'
    assert bare_json('hm</think> {"why": "<think>a</think>"}') == '{"why": "<think>a</think>"}'
    parts = {"choices": [{"message": {"content": [{"type": "text", "text": '{"count":'}, {"text": " 3}"}]}}]}
    with Server([Answer(body=json.dumps(parts).encode())]) as server:
        assert ask(server)[0].count == 3


def test_a_reply_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ml.endpoint.client.LARGEST_REPLY", 1 << 20)
    with Server([Answer(body=b" " * (2 << 20))]) as server, pytest.raises(EndpointError, match="more than 1 MB"):
        ask(server)


def test_fields_can_be_renamed_and_left_out() -> None:
    extra = {"temperature": None, "max_tokens": None, "max_completion_tokens": 9, "response_format": {"type": "text"}}
    with Server([says(RIGHT)]) as server:
        ask(server, extra=extra)
    body = server.asked[0]
    assert "temperature" not in body and "max_tokens" not in body and body["max_completion_tokens"] == 9
    assert "Answer by this JSON schema" in said(body)  # nobody else tells the model now


# --- counting, and the key -----------------------------------------------------------------------------------------


def test_it_counts_tokens_and_cost() -> None:
    """Two replies of 1,000 + 50 and 2,000 + 100 tokens at 3 and 15 per million: 0.009 + 0.00225 = 0.01125."""
    script = [says("nothing", tokens=(1000, 50)), fails(500), says(RIGHT, tokens=(2000, 100))]
    with Server(script) as server:
        _, endpoint = ask(server, price_in=3.0, price_out=15.0)
    spent = endpoint.spent
    assert (spent.calls, spent.retries, spent.reasked, spent.unmetered) == (2, 1, 1, 0)
    assert (spent.tokens_in, spent.tokens_out) == (3000, 150) and spent.cost == pytest.approx(0.01125)


def test_what_failed_in_the_end_is_counted_and_what_was_paid_before_it_stays() -> None:
    with Server([says(RIGHT), fails(400)]) as server, Endpoint(server.config()) as endpoint:
        endpoint.ask([user(words("Count."))], Count, name="count")
        with pytest.raises(EndpointError):
            endpoint.ask([user(words("Count."))], Count, name="count")
        assert (endpoint.spent.calls, endpoint.spent.failed, endpoint.spent.tokens_in) == (1, 1, 100)


def test_without_prices_or_usage_nothing_is_made_up() -> None:
    with Server([says(RIGHT, tokens=None)]) as server:
        _, endpoint = ask(server)
    assert endpoint.spent.cost is None and endpoint.spent.unmetered == 1 and endpoint.spent.tokens_in == 0


@pytest.mark.parametrize("prompt", ["Infinity", "NaN", "-5", '"many"'])
def test_numbers_of_tokens_that_are_none_are_not_counted(prompt: str) -> None:
    answer = says(RIGHT)
    answer.body = answer.body.replace(b'"prompt_tokens": 100', b'"prompt_tokens": ' + prompt.encode())
    with Server([answer]) as server:
        _, endpoint = ask(server, price_in=1.0)
    assert (endpoint.spent.unmetered, endpoint.spent.tokens_in, endpoint.spent.cost) == (1, 0, 0.0)


@pytest.mark.parametrize("status", [200, 500])
def test_brackets_without_end_are_no_answer(status: int) -> None:
    with Server([Answer(status, b"[" * 200_000)]) as server, pytest.raises(EndpointError, match="chat completion|500"):
        ask(server, attempts=1)


def test_a_key_that_is_cut_off_in_a_long_answer_is_not_quoted() -> None:
    """Blanks are folded before a server's words are shortened, the key is taken out before either."""
    body = b"no" + b" " * 790 + KEY.encode()
    with Server([Answer(400, body)]) as server, pytest.raises(EndpointError) as caught:
        ask(server, attempts=1)
    assert KEY[:6] not in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_the_key_is_in_no_error_and_no_log(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    script = [fails(status, f"Incorrect key {KEY} given")] * 2
    with Server(script) as server, pytest.raises(EndpointError) as caught:
        ask(server, attempts=2)
    assert KEY not in str(caught.value) and KEY not in caplog.text and KEY not in repr(server.config())
    assert caught.value.__cause__ is None
