"""The endpoint's configuration: what is missing or wrong is one sentence that names the variable."""

from __future__ import annotations

import pytest

from ml.endpoint import Config, NotConfigured

FINE = {"SIGHTLINE_ENDPOINT_URL": "https://example.org/v1/", "SIGHTLINE_ENDPOINT_MODEL": "m"}


def test_the_least_that_is_needed() -> None:
    config = Config.from_environment(FINE)
    assert (config.url, config.model, config.key) == ("https://example.org/v1", "m", "")
    assert config.price_in is None and config.per_minute == 30 and config.extra == {}


def test_everything() -> None:
    more = {
        "KEY": "abc", "PRICE_IN": "0.5", "PRICE_OUT": "2", "RATE": "0.5", "TIMEOUT": "9", "ATTEMPTS": "2",
        "EXTRA": '{"seed": 1}',
    }  # fmt: skip
    config = Config.from_environment(FINE | {f"SIGHTLINE_ENDPOINT_{name}": value for name, value in more.items()})
    assert (config.key, config.price_in, config.price_out, config.per_minute) == ("abc", 0.5, 2.0, 0.5)
    assert (config.timeout_s, config.attempts, config.extra) == (9.0, 2, {"seed": 1})
    assert "abc" not in repr(config)


@pytest.mark.parametrize("missing", ["URL", "MODEL"])
def test_what_is_missing_is_named(missing: str) -> None:
    name = f"SIGHTLINE_ENDPOINT_{missing}"
    with pytest.raises(NotConfigured, match=f"No multimodal endpoint is set up here: {name} is missing"):
        Config.from_environment(FINE | {name: " "})
    with pytest.raises(NotConfigured, match="_URL and SIGHTLINE_ENDPOINT_MODEL are missing"):
        Config.from_environment({})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("URL", "example.org/v1"),
        ("URL", "file:///etc/passwd"),
        ("URL", "http://"),
        ("URL", "http://host:port/v1"),
        ("URL", "https://user:secret@example.org/v1"),
        ("URL", "https://example.org/v1?key=secret"),
        ("KEY", "secret\nX-Other: 1"),
        ("KEY", "sécret"),
        ("PRICE_IN", "free"),
        ("PRICE_OUT", "-1"),
        ("RATE", "0"),
        ("RATE", "nan"),
        ("TIMEOUT", "inf"),
        ("ATTEMPTS", "0"),
        ("EXTRA", "[1]"),
        ("EXTRA", "{"),
    ],
)
def test_what_is_wrong_is_named(name: str, value: str) -> None:
    with pytest.raises(NotConfigured, match=f"SIGHTLINE_ENDPOINT_{name} ") as caught:
        Config.from_environment(FINE | {f"SIGHTLINE_ENDPOINT_{name}": value})
    assert "secret" not in str(caught.value)


def test_what_is_kept_of_extra_fields_holds_no_value() -> None:
    extra = '{"max_tokens": null, "api_token": "sesame", "nested": {"password": "sesame"}}'
    told = Config.from_environment(FINE | {"SIGHTLINE_ENDPOINT_EXTRA": extra}).told_extra
    assert told["fields"] == ["api_token", "max_tokens", "nested"] and "sesame" not in str(told)
    other = Config.from_environment(FINE | {"SIGHTLINE_ENDPOINT_EXTRA": extra.replace("sesame", "poppy")}).told_extra
    assert other["fields"] == told["fields"] and other["sha256"] != told["sha256"]
    assert Config.from_environment(FINE).told_extra == {}
