"""The report of an audit as one HTML page: no script, nothing from outside, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

Tree = dict[str, Any]

UNBOUNDED = ("fragments",)  # measures that no line from 0 to 1 can show
MOST_LISTED = 2000  # claims; the JSON has all
TITLES = {
    "supported": "supported", "weak": "weak", "unsupported": "unsupported", "contradicted": "contradicted",
    "wrong_person": "wrong person", "wrong_time": "wrong time", "ambiguous": "ambiguous",
    "not_groundable": "not groundable", "not_in_vocabulary": "not in vocabulary", "error": "error",
}  # fmt: skip
CORRECT = {
    "correct_by_machine": ("by the machine's verdicts", "supported", "unsupported"),
    "correct_by_people": ("by people's verdicts", "supported", "unsupported"),
    "correct_by_relevance": ("by the relevance of masks, as people see it", "relevant", "irrelevant"),
}


def html(tree: Tree) -> str:
    """The page of a tree that `ml.evidence.report.build` made."""
    rules = tree["rules"]
    thresholds = (
        f"Thresholds: score {rules['score']:g}, {100 * rules['share']:g} % of the frames looked at in the span."
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in tree["notes"])
    groups = [_group(tree, group) for group in tree["groups"]] or ["<p>There is no response in this audit yet.</p>"]
    body = [
        f"<header><h1>{escape(tree['title'])}</h1>{_about(tree['about'])}</header>",
        *groups,
        _comparisons(tree["comparisons"]),
        _claims(tree["claims"]),
        f"<section><h2>How to read this</h2><ul>{notes}</ul><p class='dim'>{thresholds}</p></section>",
    ]
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += f"<title>{escape(tree['title'])}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"


def notes_of(about: Mapping[str, Any]) -> list[str]:
    """What has to be said of where the responses and the words of people come from, each note once: the audit's own,
    or those of the audits that are compared."""
    found = [*about.get("notes", []), *(note for one in about.get("audits", []) for note in notes_of(one))]
    return list(dict.fromkeys(found))


def _about(about: Mapping[str, Any]) -> str:
    """The notes as sentences, then the rest as a list."""
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in notes_of(about))
    told = [(name, value) for name, value in about.items() if name != "notes" and value not in ("", None, [], {})]
    rows = "".join(f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(_words(value))}</dd>" for name, value in told)
    return notes + (f"<dl>{rows}</dl>" if rows else "")


def _words(value: Any) -> str:
    """A value of JSON as a reader has it: no brackets, no quotes."""
    if isinstance(value, Mapping):
        told = {name: one for name, one in value.items() if name != "notes" and one not in ("", None, [], {})}
        return ", ".join(f"{name.replace('_', ' ')} {_words(one)}" for name, one in told.items())
    if isinstance(value, list | tuple):
        return ("; " if any(isinstance(one, Mapping) for one in value) else ", ").join(map(_words, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _group(tree: Tree, group: Tree) -> str:
    sizes = ", ".join(_count(group[f"{word}s"], word) for word in ("response", "claim", "video"))
    name = " · ".join(filter(None, (group["model"] or "no model named", group["set"])))
    failed = "".join(f"<li>{escape(one['id'])}: {escape(one['error'])}</li>" for one in group["failed"])
    mended = ""
    if group["repaired"]:
        mended = f" {_count(group['repaired'], 'reply', 'replies')} had to be mended to be read."
    return "".join(
        [
            f"<section><h2>{escape(name)}</h2>",
            f"<p>{sizes}.{mended} Right answers: {escape(group['accuracy']['says'])}.</p>",
            f"<h3>No package ({len(group['failed'])})</h3><ul>{failed}</ul>" if failed else "",
            "<h3>Verdicts</h3>",
            _bar(group["verdicts"], group["claims"]),
            "<h3>Measures</h3><table class='measures'><tbody>",
            *(_measure(tree["measures"][key], one, key not in UNBOUNDED) for key, one in group["measures"].items()),
            "</tbody></table><h3>Is the answer right where the reasoning holds?</h3>",
            *(_correct(title, group[key], (good, bad)) for key, (title, good, bad) in CORRECT.items()),
            "<h3>People and machine</h3>",
            _agreement(group["agreement"]),
            "</section>",
        ]
    )


def _count(n: int, word: str, many: str = "") -> str:
    return f"{n:,} {word if n == 1 else many or word + 's'}"


def _bar(verdicts: Mapping[str, int], claims: int) -> str:
    if not claims:
        return "<p class='dim'>There are no claims.</p>"
    shown = [(name, count) for name, count in verdicts.items() if count]
    parts = "".join(f"<i class='v-{n}' style='flex:{count}' title='{TITLES[n]}: {count}'></i>" for n, count in shown)
    legend = "".join(f"<li><i class='v-{n}'></i>{TITLES[n]} <b>{count:,}</b></li>" for n, count in shown)
    return f"<div class='bar' role='presentation'>{parts}</div><ul class='legend'>{legend}</ul>"


def _measure(about: Mapping[str, str], one: Mapping[str, Any], drawn: bool) -> str:
    name = f"{escape(about['title'])}<small>{escape(about['means'])}</small>"
    line = _whisker(one) if drawn else ""
    return f"<tr><th scope='row'>{name}</th><td>{line}</td><td>{escape(one['says'])}</td></tr>"


def _whisker(one: Mapping[str, Any]) -> str:
    """The value on a line from 0 to 1 with its interval; nothing for values beyond."""
    value, low, high = one.get("value"), one.get("low"), one.get("high")
    if value is None or not 0 <= value <= 1:
        return ""
    low, high = max(0.0, value if low is None else low), min(1.0, value if high is None else high)
    dot, start, end = (2 + 100 * x for x in (value, low, high))
    return (
        "<svg viewBox='0 0 104 12' width='156' height='18' aria-hidden='true'><path class='axis' d='M2 6H102'/>"
        f"<path class='range' d='M{start:.1f} 6H{end:.1f}'/><circle cx='{dot:.1f}' cy='6' r='3'/></svg>"
    )


def _correct(title: str, both: Mapping[str, Any], words: tuple[str, str]) -> str:
    rows = "".join(
        f"<tr><th scope='row'>P(right | {word})</th><td>{_whisker(both[word])}</td>"
        f"<td>{escape(both[word]['says'])}</td></tr>"
        for word in words
    )
    rest = f"{_count(both['untold'], 'response')} neither; whether it is right is not known of {both['unknown']:,}."
    return (
        f"<h4>… {escape(title)}</h4><table class='measures'><tbody>{rows}</tbody></table>"
        f"<p>{escape(both['says'])} <span class='dim'>{rest}</span></p>"
    )


def _agreement(found: Mapping[str, Any]) -> str:
    words = {"supported": "supported", "contradicted": "contradicted", "cannot_tell": "cannot tell"}
    head = "".join(f"<th scope='col'>{word}</th>" for word in words.values())
    rows = "".join(
        f"<tr><th scope='row'>{title}</th>{_cells(found['table'][word], words)}</tr>" for word, title in words.items()
    )
    failed, even = _count(found["errors_left_out"], "failed claim"), _count(found["even"], "claim")
    left = f"{failed} left out; people are even on {even}."
    return (
        f"<p>Machine against people: {escape(found['machine']['says'])}.</p>"
        f"<p>People among themselves: {escape(found['people']['says'])}.</p>"
        f"<table class='cross'><thead><tr><th>machine \\ people</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p class='dim'>{left}</p>"
    )


def _cells(counts: Mapping[str, int], order: Iterable[str]) -> str:
    return "".join(f"<td>{counts[word]:,}</td>" for word in order)


def _comparisons(pairs: Iterable[Mapping[str, Any]]) -> str:
    found = "".join(
        f"<h3>{escape(pair['a'])} and {escape(pair['b'])}</h3><p>{escape(pair['correct']['says'])}</p>"
        f"<p>{escape(pair['support']['says'])}</p>{_left_out(pair['left_out'])}"
        for pair in pairs
    )
    return f"<section><h2>Two models on the same questions</h2>{found}</section>" if found else ""


def _left_out(count: int) -> str:
    return f"<p class='dim'>Left out: {count:,}, since their question was asked more than once.</p>" if count else ""


def _claims(claims: list[Tree]) -> str:
    if not claims:
        return ""
    rows = "".join(
        f"<tr><td>{escape(one['model'])}</td><td>{escape(one['response'])} · {escape(one['claim'])}</td>"
        f"<td>{escape(one['text'])}</td><td><i class='v-{one['verdict']}'></i>{TITLES[one['verdict']]}</td>"
        f"<td>{escape(one['sentence'])}</td><td>{escape((one['people'] or '').replace('_', ' '))}</td></tr>"
        for one in claims[:MOST_LISTED]
    )
    more = f"<p>The first {MOST_LISTED:,}; the JSON has all.</p>" if len(claims) > MOST_LISTED else ""
    head = "".join(f"<th scope='col'>{word}</th>" for word in ("model", "claim", "text", "verdict", "why", "people"))
    return (
        f"<section><details><summary><h2>Claims ({len(claims):,})</h2></summary>{more}<table class='claims'><thead>"
        f"<tr>{head}</tr></thead><tbody>{rows}</tbody></table></details></section>"
    )


COLOURS = {
    "supported": "#2e9e6b", "weak": "#a3c76d", "unsupported": "#d9822b", "contradicted": "#c73e3a",
    "wrong_person": "#a0408f", "wrong_time": "#6a5acd", "ambiguous": "#c9b037", "not_groundable": "#8b95a1",
    "not_in_vocabulary": "#b8c0c8", "error": "#8a5a2b",
}  # fmt: skip
STYLE = """
:root{color-scheme:light dark;--bg:#fff;--text:#1c2024;--dim:#60646c;--line:#dfe2e6;--accent:#2b6cb0}
@media (prefers-color-scheme:dark){:root{--bg:#15181b;--text:#e6e8ea;--dim:#9aa1a9;--line:#343a40;--accent:#6aa9e9}}
*{box-sizing:border-box}
body{margin:0 auto;padding:24px;max-width:1080px;background:var(--bg);color:var(--text)}
body{font:14px/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums}
h1{font-size:22px}h2{font-size:18px;margin:0}h3{font-size:14px;margin:18px 0 4px}
h4{font-size:13px;font-weight:500;margin:10px 0 2px;color:var(--dim)}
.note{padding:8px 12px;border-left:3px solid #c9902e;background:color-mix(in srgb,#c9902e 12%,transparent)}
section{border-top:1px solid var(--line);padding:18px 0}p,ul{margin:4px 0}.dim,small{color:var(--dim)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 12px}dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:4px 10px 4px 0;border-top:1px solid var(--line);font-weight:400}
th,td{overflow-wrap:anywhere}th small{display:block}thead th{color:var(--dim)}
.measures th{width:44%}.measures td:nth-child(2){width:170px}.cross{width:auto}.claims{font-size:12px}
.bar{display:flex;height:18px;border-radius:3px;overflow:hidden;gap:1px}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;padding:0;list-style:none}
.legend i,td i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
svg .axis{stroke:var(--line)}svg .range{stroke:var(--accent);stroke-width:3}svg circle{fill:var(--accent)}
summary h2{display:inline}
@media (max-width:720px){.measures tr{display:block;border-top:1px solid var(--line);padding:4px 0}
.measures th,.measures td{display:block;border:0;padding:0;width:auto!important}.claims{display:block;overflow-x:auto}}
""" + "".join(f".v-{name}{{background:{colour}}}" for name, colour in COLOURS.items())
