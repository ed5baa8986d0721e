"""The composition of a release as bars: a picture (SVG) and the same as a Markdown table.

The SVG brings its own colours, dark or light by the reader's setting, and no font files: it stands on foreign pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

BAR, GAP, LEFT, WIDTH, RIGHT, TOP = 16, 6, 210, 360, 60, 34
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1a1f27}.title{font-weight:600}.bar{fill:#1b5fcc}.line{stroke:#d8dce3}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e8ee}.bar{fill:#5fa2ff}.line{stroke:#2d333d}}"
)


def finding(what: str, counts: Mapping[str, int]) -> str:
    """What the picture says, in one sentence."""
    total = sum(counts.values())
    if not total:
        return f"No items by {what}"
    most = max(counts, key=lambda name: (counts[name], name))
    if len(counts) == 1:
        return f"All {total:,} items: {most}"
    if what == "letter":
        low, high = min(counts.values()), max(counts.values())
        return f"Each letter is the key of {low:,} to {high:,} items" if low < high else f"Each letter: {low:,} items"
    first = [name for name, count in counts.items() if count == counts[most]]
    if len(first) > 1:
        return f"Items by {what}: {len(first)} of {len(counts)} have {counts[most]:,} of {total:,} each, the most"
    word = "most are" if 2 * counts[most] > total else "the largest group is"
    return f"Items by {what}: {word} {most} ({counts[most]:,} of {total:,})"


def bars(what: str, counts: Mapping[str, int]) -> str:
    """Horizontal bars, in the order given, each with its number."""
    total = max(counts.values(), default=1) or 1
    height = TOP + len(counts) * (BAR + GAP) + 8
    width = LEFT + WIDTH + RIGHT
    title = finding(what, counts)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="t">',
        f'<title id="t">{escape(title)}</title><style>{STYLE}</style>',
        f'<text class="title" x="0" y="16">{escape(title)}</text>',
        f'<line class="line" x1="{LEFT}" x2="{LEFT}" y1="{TOP - 6}" y2="{height}"/>',
    ]
    for place, (name, count) in enumerate(counts.items()):
        y = TOP + place * (BAR + GAP)
        length = WIDTH * count / total
        label = name if len(name) <= 30 else f"{name[:29]}…"
        parts += [
            f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="bar" x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}"/>',
            f'<text x="{LEFT + length + 6:.1f}" y="{y + 13}">{count:,}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def table(what: str, counts: Mapping[str, int]) -> str:
    """The same as a Markdown table."""
    total = sum(counts.values()) or 1
    rows = [f"| {_cell(name)} | {count:,} | {100 * count / total:.1f} % |" for name, count in counts.items()]
    return "\n".join([f"| {what} | items | share |", "|---|---:|---:|", *rows, ""])


def _cell(text: str) -> str:
    """Text that cannot end its cell."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
