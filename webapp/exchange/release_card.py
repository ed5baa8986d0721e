"""What a release says of itself in words: the data set card, and its Croissant description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ml.formats import croissant, hf_dataset
from ml.questions.taxonomy import CATEGORIES
from webapp.bench.agreeing import LEAST_UNITS, TOO_FEW
from webapp.exchange import release_plots

if TYPE_CHECKING:
    from webapp.exchange.release_folder import Content

# Names the Hub knows, by how people write them; any other licence is "other" with its name beside it
LICENCES = {
    "cc by 4.0": "cc-by-4.0", "cc-by-4.0": "cc-by-4.0", "cc by-nc 4.0": "cc-by-nc-4.0", "cc-by-nc-4.0": "cc-by-nc-4.0",
    "cc by-sa 4.0": "cc-by-sa-4.0", "cc-by-sa-4.0": "cc-by-sa-4.0", "cc0": "cc0-1.0", "cc0 1.0": "cc0-1.0",
    "cc by-nc-sa 4.0": "cc-by-nc-sa-4.0", "cc-by-nc-sa-4.0": "cc-by-nc-sa-4.0", "mit": "mit",
    "apache-2.0": "apache-2.0",
}  # fmt: skip
LICENCE_PAGES = {
    "cc-by-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "cc-by-nc-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "cc-by-sa-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "cc-by-nc-sa-4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    "cc0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "mit": "https://opensource.org/licenses/MIT",
    "apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
}
CITE = "Give the name, the number and the sha256 of this release."
MEASURES = {"raw": "raw", "cohen": "Cohen's κ", "fleiss": "Fleiss' κ", "alpha": "Krippendorff's α"}
DIFFICULTIES = ("easy", "medium", "hard")
TYPES = {"string": "sc:Text", "int32": "sc:Integer", "int64": "sc:Integer", "float64": "sc:Float"}


def licence_of(content: Content) -> str:
    return LICENCES.get(content.licence.strip().lower(), "other")


def card(content: Content, shards: Mapping[str, bytes]) -> str:
    """The text of README.md."""
    licence = licence_of(content)
    more: dict[str, Any] = {"tags": ["video", "social-gaze", "gestures", "benchmark"]}
    if licence == "other":
        more["license_name"] = content.licence.strip() or "not stated"
    return hf_dataset.build_card(
        hf_dataset.Card(
            pretty_name=f"{content.title}, release {content.number}",
            license=licence,
            language=["en"],
            task_categories=["video-text-to-text", "visual-question-answering"],
            size_categories=[hf_dataset.size_category(len(content.entries))],
            splits=[
                hf_dataset.Split(path[5:].partition("-")[0], path, _count(content, path), len(data))
                for path, data in shards.items()
            ],
            features=hf_dataset.features(),
            download_size=sum(len(data) for data in shards.values()),
            body=body(content),
            extra=more,
        )
    )


def _count(content: Content, path: str) -> int:
    split = path[5:].partition("-")[0]
    return sum(entry.split == split for entry in content.entries)


def body(content: Content) -> str:
    """The Markdown of the card."""
    facts = content.facts
    parts = [f"# {_plain(content.title)}, release {content.number}", ""]
    parts += [
        f"{len(content.entries):,} questions about who looks at whom, who points, shows, gives or reaches, and when.",
        f"Items as released have the sha256 `{content.sha256}`; the newest change to them is of {facts['date']}.",
        "",
    ]
    if content.notes:
        parts += [_plain(content.notes), ""]
    parts += ["## Changes", "", *_changes(content), "", "## Composition", ""]
    for what, counts in counts_in_words(content).items():
        parts += [f"![{_plain(release_plots.finding(what, counts))}](composition/{what}.svg)", ""]
        parts += [release_plots.table(what, counts)]
    parts += ["## Agreement of blind raters", "", *_agreement(facts["agreement"]), "", "## Limits", ""]
    parts += [f"- {sentence}" for sentence in facts["limits"]]
    parts += ["", "## Files", "", *_files(), ""]
    if content.retired:
        parts += ["## Retired", "", "These items should no longer be used; `retired.json` has them as well.", ""]
        parts += [f"- item {one['number']} ({one['date']}): {_plain(one['reason'])}" for one in content.retired]
        parts += [""]
    if content.withdrawn:
        parts += ["## Withdrawn", "", "Only their hashes are left.", ""]
        parts += [f"- item {one['number']}: `{one['sha256']}`" for one in content.withdrawn] + [""]
    return "\n".join(parts)


def counts_in_words(content: Content) -> dict[str, dict[str, int]]:
    """The counts of the release, categories by their words and in the order of the taxonomy, easy before hard."""
    found = dict(content.facts["counts"])
    found["difficulty"] = {one: found["difficulty"][one] for one in sorted(found["difficulty"], key=_hardness)}
    found["category"] = {one.words: n for slug, one in CATEGORIES.items() if (n := found["category"].get(slug))}
    return found


def _hardness(difficulty: str) -> int:
    return DIFFICULTIES.index(difficulty) if difficulty in DIFFICULTIES else len(DIFFICULTIES)


def _plain(text: str) -> str:
    """Words of people in Markdown: one paragraph without markup of its own."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _changes(content: Content) -> list[str]:
    changes = content.facts["changes"]
    if changes["since"] is None:
        return ["This is the first release."]
    lines = [f"Since release {changes['since']}: {changes['same']} items are the same."]
    for what in ("added", "changed", "removed"):
        if changes[what]:
            lines.append(f"- {what}: {', '.join(changes[what])}")
    return lines


def _agreement(agreement: Mapping[str, Any]) -> list[str]:
    rows = agreement.get("rows", [])
    if not rows:
        return ["No question of the project has two blind answers, so no agreement can be told."]
    found = [row[key] for row in rows for key in MEASURES if row[key]]
    if any(one.get("low") is not None for one in found):
        intervals = f"with {100 * agreement['level']:.0f} % intervals from a bootstrap by video"
    else:
        intervals = "without intervals, which need answers about two videos or more"
    told = [
        f"Over {agreement['units']:,} complete rounds of the whole project ({agreement['answers']:,} answers), "
        f"{intervals}; a dash where a measure is not defined.",
        "",
        f"| category | rounds | {' | '.join(MEASURES.values())} |",
        f"|---|---:|{'---|' * len(MEASURES)}",
    ]
    for row in rows:
        name = CATEGORIES[row["category"]].words if row["category"] else "all"
        cells = [TOO_FEW if row["units"] < LEAST_UNITS else _measure(row[key]) for key in MEASURES]
        told.append(f"| {name} | {row['units']} | {' | '.join(cells)} |")
    return told


def _measure(found: Mapping[str, Any] | None) -> str:
    if not found or found.get("value") is None:
        return "–"
    value = f"{found['value']:.2f}"
    low, high = found.get("low"), found.get("high")
    return value if low is None or high is None else f"{value} [{low:.2f}, {high:.2f}]"


def _files() -> list[str]:
    return [
        "- `data/`: one row an item, for `datasets`; `video` names the clip below this folder",
        "- `json/`, `annotations.jsonl`: the layout of GRASP-Bench, categories by data codes",
        "- `lmms_eval/`, `vlmevalkit/`: a task and a table for these; paths are relative to this folder",
        "- `croissant.json`: Croissant 1.0",
        "- `provenance.jsonl`: question, version, set and revision, template, raters and adjudication of each item",
        "- `release.json`: everything said here, with size and sha256 of every file",
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Croissant


def croissant_of(content: Content, shards: Mapping[str, bytes]) -> croissant.Croissant:
    """The tables of the release with their columns; columns of nested events are left to the table itself."""
    from hashlib import sha256

    licence = licence_of(content)
    files, sets = [], []
    for path, data in shards.items():
        split = path[5:].partition("-")[0]
        files.append(
            croissant.FileObject(
                f"{split}.parquet", path, "application/x-parquet", len(data), sha256(data).hexdigest(),
                f"The items of the split {split}.",
            )
        )  # fmt: skip
        fields = [
            field for name, kind in hf_dataset.COLUMNS.items() if (field := _field(name, kind, split)) is not None
        ]
        sets.append(croissant.RecordSet(split, "id", fields, f"One record an item of the split {split}."))
    return croissant.Croissant(
        name=f"{content.slug}-r{content.number}",
        description=f"{content.title}: {len(content.entries)} questions about social gaze and gestures in video.",
        license=LICENCE_PAGES.get(licence, content.licence.strip() or "not stated"),
        url=f"urn:sha256:{content.sha256}",
        version=f"{content.number}.0.0",
        date_published=content.facts["date"],
        cite_as=CITE,
        files=files,
        record_sets=sets,
        extra={"isLiveDataset": False},
    )


def _field(name: str, kind: Any, split: str) -> croissant.Field | None:
    inner = kind[0] if isinstance(kind, list) else kind
    if not isinstance(inner, str):
        return None
    return croissant.Field(name, TYPES[inner], f"{split}.parquet", name, isinstance(kind, list), f"Column {name}.")
