"""Asking the endpoint for one object of a known shape.

    with Endpoint(Config.from_environment(), stop=check) as endpoint:
        reply = endpoint.ask([system("..."), user(words("..."), picture(jpeg))], Gestures, name="gestures")
        reply.value                                             # a Gestures

A reply is checked with pydantic; a broken one is asked for once more, with what is wrong with it. Tried again, after a
growing random wait: 408, 425, 429, 5xx, time-outs and lost connections. `stop` is called several times a second for as
long as a call takes, in the caller's thread; what it raises ends the call at once, and the connection with it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import TimeoutError as NotYet
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Generic, TypeVar

import httpx
import tenacity
from pydantic import BaseModel, ValidationError

from ml.endpoint.config import BrokenReply, Config, EndpointError

Message = dict[str, Any]
Shape = TypeVar("Shape", bound=BaseModel)
T = TypeVar("T")

TICK_S = 0.2  # how often `stop` is called
LARGEST_REPLY = 8 << 20  # bytes
RETRIED = {408, 425, 429}  # and 5xx
QUOTED = 200  # characters of a server's own words in an error
SHOWN = 20_000  # characters of a broken reply that the model is shown again


# --- messages ------------------------------------------------------------------------------------------------------


def words(text: str) -> Message:
    return {"type": "text", "text": text}


def picture(jpeg: bytes) -> Message:
    """A JPEG as a data URL: nothing is fetched by the endpoint."""
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"}}


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def user(*parts: Message) -> Message:
    return {"role": "user", "content": list(parts)}


# --- what comes back -----------------------------------------------------------------------------------------------


@dataclass
class Spent:
    """What calls cost. `calls`: requests that were answered, `unmetered`: those whose answer did not say its tokens,
    `failed`: requests that had no usable answer in the end, whose price nobody told.

    `cost` is in the currency of the configured prices, None without prices.
    """

    calls: int = 0
    retries: int = 0
    reasked: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    unmetered: int = 0
    failed: int = 0
    cost: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Reply(Generic[Shape]):
    """A checked reply. `prompt` is the sha256 of everything that was asked, `model` the name the server gave itself."""

    value: Shape
    text: str
    model: str
    prompt: str
    seconds: float


@dataclass(frozen=True)
class Said:
    """A reply in the model's own words. `finish`: why it ended, as the server says it ("stop", "length", ..)."""

    text: str
    model: str
    prompt: str
    seconds: float
    finish: str


class Transient(EndpointError):
    """A failure worth another attempt; `wait_s` is what the server asked for."""

    def __init__(self, sentence: str, wait_s: float | None = None) -> None:
        super().__init__(sentence)
        self.wait_s = wait_s


class Endpoint:
    """A client of one endpoint. Use as a context. `spent` counts everything asked through it.

    `sent`: when requests went out lately, for clients that share one rate.
    """

    def __init__(
        self, config: Config, *, stop: Callable[[], None] = lambda: None, sent: deque[float] | None = None
    ) -> None:
        self.config, self.stop = config, stop
        self.spent = Spent(cost=0.0 if config.price_in is not None or config.price_out is not None else None)
        self._sent: deque[float] = deque() if sent is None else sent
        self._rate = threading.Lock()  # several threads may ask at once
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True)
        self._thread.start()
        headers = {"Authorization": f"Bearer {config.key}"} if config.key else {}
        # an endpoint that redirects would be given the key for another place: redirects are not followed
        self._client = httpx.AsyncClient(headers=headers, timeout=config.timeout_s, follow_redirects=False)

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._loop.is_running():
            asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result(timeout=5)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=5)
        self._loop.close()

    def ask(
        self,
        messages: Sequence[Message],
        shape: type[Shape],
        *,
        name: str,
        temperature: float = 0.0,
        max_tokens: int = 4096,
    ) -> Reply[Shape]:
        """Ask for an object of `shape`. Raises EndpointError with a sentence, or what `stop` raises."""
        began = time.monotonic()
        body = self._body(messages, shape, name, temperature, max_tokens)
        prompt = prompt_hash(body)
        answer = self._send(body)
        try:
            value = read_reply(answer, shape)
        except BrokenReply as broken:
            self.spent.reasked += 1
            again = f"{broken} Answer once more, with nothing but one JSON object that follows the schema."
            said = {"role": "assistant", "content": reply_text(answer)[:SHOWN] or "(nothing)"}
            answer = self._send(body | {"messages": [*body["messages"], said, user(words(again))]})
            try:
                value = read_reply(answer, shape)
            except BrokenReply as still:
                still.raw = reply_text(answer)
                raise
        model = str(answer.get("model") or self.config.model)[:QUOTED]
        return Reply(value, reply_text(answer), model, prompt, time.monotonic() - began)

    def say(
        self,
        messages: Sequence[Message],
        *,
        temperature: float = 0.0,
        max_tokens: int = 4096,
        stop_at: Sequence[str] = (),
    ) -> Said:
        """Ask for a reply in the model's own words, which may be empty. Raises as `ask` does."""
        began = time.monotonic()
        plain: dict[str, Any] = {
            "model": self.config.model,
            "messages": list(messages),
            "temperature": temperature,
            "max_tokens": max_tokens,
        } | ({"stop": list(stop_at)} if stop_at else {})
        body = {key: value for key, value in (plain | dict(self.config.extra)).items() if value is not None}
        answer = self._send(body)
        choice = answer["choices"][0]
        finish = str(choice.get("finish_reason") or "") if isinstance(choice, dict) else ""
        if finish == "content_filter":
            raise BrokenReply("The endpoint's filter held the reply back.")
        model = str(answer.get("model") or self.config.model)[:QUOTED]
        return Said(reply_text(answer), model, prompt_hash(body), time.monotonic() - began, finish)

    def _body(
        self, messages: Sequence[Message], shape: type[BaseModel], name: str, temperature: float, max_tokens: int
    ) -> dict[str, Any]:
        schema = shape.model_json_schema()
        wanted = {"name": name, "schema": schema, "strict": True}
        plain: dict[str, Any] = {
            "model": self.config.model,
            "messages": list(messages),
            "temperature": temperature,
            "max_tokens": max_tokens,
            "response_format": {"type": "json_schema", "json_schema": wanted},
        }
        body = {key: value for key, value in (plain | dict(self.config.extra)).items() if value is not None}
        if body.get("response_format") != plain["response_format"]:  # then the words have to say it
            body["messages"] = [*body["messages"], user(words(f"Answer by this JSON schema: {json.dumps(schema)}"))]
        return body

    # -- one request, as often as it takes

    def _send(self, body: dict[str, Any]) -> dict[str, Any]:
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(Transient),
            stop=tenacity.stop_after_attempt(self.config.attempts),
            wait=self._wait,
            sleep=self._pause,
            before_sleep=self._count_retry,
            reraise=True,
        )
        try:
            answer: dict[str, Any] = attempts(self._attempt, body)
        except EndpointError:
            self.spent.failed += 1
            raise
        self._count(answer)
        return answer

    def _attempt(self, body: dict[str, Any]) -> dict[str, Any]:
        self._keep_rate()
        status, headers, content = self._patiently(self._post(body))
        if status == 200:
            return self._read(content)
        sentence = self._why(status, content)
        if status in RETRIED or status >= 500:
            if b"insufficient_quota" in content:
                raise EndpointError(sentence)  # waiting does not pay a bill
            wait_s = retry_after(headers.get("retry-after"))
            if wait_s is not None and wait_s > self.config.patience_s:
                raise EndpointError(f"{sentence} It asks to be left alone for {wait_s:.0f} s.")
            raise Transient(sentence, wait_s)
        raise EndpointError(sentence)

    async def _post(self, body: dict[str, Any]) -> tuple[int, httpx.Headers, bytes]:
        """Status, headers and content, all within the time limit: also of a server that sends byte after byte."""
        address, limit = f"{self.config.url}/chat/completions", self.config.timeout_s
        try:
            async with asyncio.timeout(limit), self._client.stream("POST", address, json=body) as response:
                pieces, size = [], 0
                async for piece in response.aiter_bytes():
                    pieces.append(piece)
                    size += len(piece)
                    if size > LARGEST_REPLY:
                        raise EndpointError(f"{self._place} sent more than {LARGEST_REPLY >> 20} MB.")
                return response.status_code, response.headers, b"".join(pieces)
        except (TimeoutError, httpx.TimeoutException):
            raise Transient(f"{self._place} did not answer within {limit:g} s.") from None
        except httpx.TransportError as error:
            raise Transient(
                f"{self._place} cannot be reached ({self._clean(str(error) or type(error).__name__)})."
            ) from None
        except httpx.HTTPError as error:
            raise EndpointError(f"{self._place} gave no usable answer ({self._clean(str(error))}).") from None

    @property
    def _place(self) -> str:
        return f"The endpoint {self.config.url}"

    def _read(self, content: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):  # the latter: brackets within brackets
            answer = None
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list) or not answer["choices"]:
            raise Transient(f"{self._place} answered with something that is no chat completion.")
        return answer

    def _why(self, status: int, content: bytes) -> str:
        if status in (401, 403):  # servers quote parts of the key here: their words stay out
            return f"{self._place} does not accept the configured key ({status})."
        try:
            error = json.loads(content)["error"]
            said = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, KeyError, TypeError, RecursionError):
            said = content.decode(errors="replace")
        said = " ".join(self._clean(said).split())[:QUOTED]
        return f"{self._place} answered {status}{f': {said}' if said else ''}".rstrip(".") + "."

    def _clean(self, text: str) -> str:
        return text.replace(self.config.key, "[key]") if self.config.key else text

    # -- waiting

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, Transient) and error.wait_s is not None:
            return error.wait_s
        longest = self.config.longest_wait_s
        return tenacity.wait_random_exponential(multiplier=self.config.first_wait_s, max=longest)(state)

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.stop()
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(TICK_S, left))
            self.stop()

    def _keep_rate(self) -> None:
        """Wait until fewer than `per_minute` requests went out in the last minute; a rate below 1 spaces them wider."""
        most, window = max(1, int(self.config.per_minute)), 60.0 * max(1.0, 1 / self.config.per_minute)
        with self._rate:
            while len(self._sent) >= most and (wait_s := self._sent[0] + window - time.monotonic()) > 0:
                self._pause(wait_s)
            while len(self._sent) >= most:
                self._sent.popleft()
            self.stop()
            self._sent.append(time.monotonic())

    def _patiently(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine in the loop's thread, while this one listens to `stop`."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            while True:
                try:
                    return future.result(timeout=TICK_S)
                except NotYet:
                    if future.done():
                        raise
                    self.stop()
        finally:
            future.cancel()

    # -- counting

    def _count_retry(self, state: tenacity.RetryCallState) -> None:
        self.spent.retries += 1

    def _count(self, answer: dict[str, Any]) -> None:
        usage, spent = answer.get("usage"), self.spent
        spent.calls += 1
        try:
            tokens_in, tokens_out = int(usage["prompt_tokens"]), int(usage["completion_tokens"])  # type: ignore[index]
            if min(tokens_in, tokens_out) < 0:
                raise ValueError
        except (TypeError, KeyError, ValueError, OverflowError):  # the latter: Infinity is no JSON, but is read
            spent.unmetered += 1
            return
        spent.tokens_in += tokens_in
        spent.tokens_out += tokens_out
        if spent.cost is not None:
            price_in, price_out = self.config.price_in or 0.0, self.config.price_out or 0.0
            spent.cost += (tokens_in * price_in + tokens_out * price_out) / 1e6


# --- reading replies -----------------------------------------------------------------------------------------------


def reply_text(answer: dict[str, Any]) -> str:
    """What the model wrote; content may be a text or a list of parts."""
    choice = answer["choices"][0]
    message = choice.get("message") if isinstance(choice, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def read_reply(answer: dict[str, Any], shape: type[Shape]) -> Shape:
    """The object in a completion. Raises BrokenReply with a sentence that names what is wrong."""
    choice = answer["choices"][0]
    reason = choice.get("finish_reason") if isinstance(choice, dict) else None
    if reason == "content_filter":
        raise BrokenReply("The endpoint's filter held the reply back.")
    text = reply_text(answer)
    try:
        return shape.model_validate_json(bare_json(text))
    except ValidationError as error:
        if reason == "length":
            raise BrokenReply("The reply was cut off before its end; be shorter.") from None
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise BrokenReply(f"The reply does not follow the schema: {place}: {first['msg']}.") from None


def bare_json(text: str) -> str:
    """The JSON of a reply, without thoughts before it and the fence that some models put around it."""
    bare = text.strip()
    while not bare.startswith(("{", "[", "```")) and "</think>" in bare:  # the JSON itself may hold such tags
        bare = bare.partition("</think>")[2].strip()
    if bare.startswith("```") and bare.endswith("```"):
        bare = bare.partition("\n")[2].removesuffix("```").strip()
    return bare


def retry_after(header: str | None) -> float | None:
    """Seconds a Retry-After header asks for (seconds or a date, RFC 9110 10.2.3); None without a sensible one."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def prompt_hash(body: dict[str, Any]) -> str:
    """sha256 of all that is asked: model, words, pictures, schema, settings."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
