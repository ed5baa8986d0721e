"""What the style sheets and icons promise: contrast, one palette for both themes, icons that exist, no inline style."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOKENS = (ROOT / "static/css/tokens.css").read_text()
SPRITE = (ROOT / "static/icons/sprite.svg").read_text()
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
BACKGROUNDS = ("bg", "bg-raised", "bg-sunken")


def block(selector: str) -> dict[str, str]:
    """Custom properties of the first rule with this selector."""
    body = TOKENS.split(selector, 1)[1].split("{", 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", body))


LIGHT = block(":root ")
DARK = LIGHT | block(':root[data-theme="dark"]')


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_the_known_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(theme: dict[str, str]) -> None:
    for text, back in product(("text", "text-dim", "accent", "danger", "warn", "ok"), BACKGROUNDS):
        assert contrast(theme[text], theme[back]) >= 4.5, (text, back)
    for kind in ("danger", "warn", "ok"):
        assert contrast(theme[kind], theme[f"{kind}-soft"]) >= 4.5, kind
    assert contrast(theme["accent"], theme["accent-soft"]) >= 4.5
    assert contrast(theme["on-accent"], theme["accent"]) >= 4.5
    assert contrast(theme["text-dim"], theme["bg-hover"]) >= 4.5
    assert contrast(theme["text-dim"], theme["bg-selected"]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_controls_and_focus_can_be_seen(theme: dict[str, str]) -> None:
    for mark, back in product(("line-strong", "focus"), BACKGROUNDS):
        assert contrast(theme[mark], theme[back]) >= 3, (mark, back)


def test_every_person_can_be_seen_on_every_background() -> None:
    colours = [LIGHT[f"p{n}"] for n in range(20)]
    assert len(set(colours)) == 20
    for colour, theme, back in product(colours, (LIGHT, DARK), BACKGROUNDS):
        assert contrast(colour, theme[back]) >= 3, (colour, back)


def test_both_dark_themes_are_the_same() -> None:
    assert block(':root[data-theme="dark"]') == block(':root[data-theme="system"]')


def test_every_icon_that_is_named_exists() -> None:
    there = set(re.findall(r'<symbol id="([\w-]+)"', SPRITE))
    named = {name for path in TEMPLATES for name in re.findall(r'\{% icon "([\w-]+)"', path.read_text())}
    assert named - there == set()


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: str(p.relative_to(ROOT / "templates")))
def test_templates_hold_no_inline_style_or_script(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:", text)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text))


def mixed(first: str, second: str, share: float) -> str:
    """#rrggbb of `share` of the first colour in the second: color-mix in srgb."""
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


INSPECTOR = (ROOT / "static/css/workspace/inspector.css").read_text()


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_numbers_of_the_matrix_can_be_read_in_every_cell(theme: dict[str, str]) -> None:
    (most,) = re.findall(r"var\(--accent\) calc\(var\(--share\) \* ([\d.]+)\), var\(--bg-sunken\)", INSPECTOR)
    for share in range(101):
        cell = mixed(theme["accent"], theme["bg-sunken"], float(most) * share / 100)
        assert contrast(theme["text"], cell) >= 4.5, share


def test_white_numbers_can_be_read_on_every_persons_badge() -> None:
    shares = set(re.findall(r"color-mix\(in srgb, var\(--who\) (\d+)%, black\)", INSPECTOR))
    assert shares == {"85"}
    for number in range(20):
        assert contrast("#ffffff", mixed(LIGHT[f"p{number}"], "#000000", 0.85)) >= 4.5, number
