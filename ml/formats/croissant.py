"""Croissant 1.0: what a data set's files and columns are, as JSON-LD that search engines and loaders read.

Layout (the parts written here):

    {"@context": {...}, "@type": "sc:Dataset", "conformsTo", "name", "description", "license", "url", "version",
     "datePublished", "citeAs", "distribution": [FileObject | FileSet], "recordSet": [{"@type": "cr:RecordSet", "@id",
     "name", "key", "field": [{"@type": "cr:Field", "@id", "name", "dataType", "repeated"?, "source": {"fileObject":
     {"@id"}, "extract": {"column"}}}]}]}

A file is named by its path below the data set (`contentUrl`), with size and sha256. Fields beyond these are kept in
`extra`. Reading is `parse` (bytes to `Croissant`), writing is `build` (to a tree for JSON); both are pure. Whether a
document is valid beyond its shape, and its files fit, is `mlcroissant`'s word (see `ml.formats.check_release`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ml.formats import jsonfields as read
from ml.formats.errors import FormatError

CONFORMS = "http://mlcommons.org/croissant/1.0"
# The context of the specification: short names for its own terms, schema.org's being the default.
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
TYPES = {"sc:Text", "sc:Integer", "sc:Float", "sc:Boolean", "sc:Date", "sc:URL", "cr:Split"}
HEAD = (
    "@context", "@type", "conformsTo", "name", "description", "license", "url", "version", "datePublished", "citeAs",
    "distribution", "recordSet",
)  # fmt: skip
_SHA = re.compile(r"[0-9a-f]{64}")


@dataclass
class FileObject:
    """One file: its id and path below the data set."""

    id: str
    content_url: str
    encoding_format: str
    content_size: int
    sha256: str
    description: str = ""


@dataclass
class Field:
    """One column of a record set. `repeated`: a list of the type."""

    name: str
    data_type: str
    file: str  # id of the file object
    column: str
    repeated: bool = False
    description: str = ""


@dataclass
class RecordSet:
    """Rows of one kind: an id, the name of the key column, columns."""

    id: str
    key: str
    fields: list[Field]
    description: str = ""


@dataclass
class Croissant:
    name: str
    description: str
    license: str
    url: str
    version: str
    date_published: str
    cite_as: str
    files: list[FileObject]
    record_sets: list[RecordSet]
    extra: dict[str, Any] = field(default_factory=dict)


def build(data: Croissant) -> dict[str, Any]:
    """The tree that `json.dumps` writes; `parse` of it gives an equal `Croissant`."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": data.name,
        "description": data.description,
        "license": data.license,
        "url": data.url,
        "version": data.version,
        "datePublished": data.date_published,
        "citeAs": data.cite_as,
        **data.extra,
        "distribution": [_file(one) for one in data.files],
        "recordSet": [_record_set(one) for one in data.record_sets],
    }


def _file(one: FileObject) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": one.id,
        "name": one.id,
        "description": one.description,
        "contentUrl": one.content_url,
        "contentSize": f"{one.content_size} B",
        "encodingFormat": one.encoding_format,
        "sha256": one.sha256,
    }


def _record_set(one: RecordSet) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": one.id,
        "name": one.id,
        "description": one.description,
        "key": {"@id": f"{one.id}/{one.key}"},
        "field": [_field(each, one.id) for each in one.fields],
    }


def _field(one: Field, owner: str) -> dict[str, Any]:
    tree = {
        "@type": "cr:Field",
        "@id": f"{owner}/{one.name}",
        "name": f"{owner}/{one.name}",
        "description": one.description,
        "dataType": one.data_type,
        "source": {"fileObject": {"@id": one.file}, "extract": {"column": one.column}},
    }
    return tree | ({"repeated": True} if one.repeated else {})


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def parse(data: bytes | str) -> Croissant:
    """Read and check one document as `build` writes it; `FormatError` names the place and the cause."""
    tree = read.mapping(read.load(data), "the file")
    kind = read.text(read.member(tree, "@type", ""), "@type")
    if kind not in ("sc:Dataset", "Dataset"):
        raise read.fail("@type", "sc:Dataset", kind)
    conforms = read.text(read.member(tree, "conformsTo", ""), "conformsTo")
    if conforms != CONFORMS:
        raise read.fail("conformsTo", CONFORMS, conforms)
    files = read.sequence(read.member(tree, "distribution", ""), "distribution")
    sets = read.sequence(read.member(tree, "recordSet", ""), "recordSet")
    result = Croissant(
        name=_text(tree, "name", ""),
        description=_text(tree, "description", ""),
        license=_text(tree, "license", ""),
        url=_text(tree, "url", ""),
        version=_text(tree, "version", ""),
        date_published=_text(tree, "datePublished", ""),
        cite_as=_text(tree, "citeAs", ""),
        files=[_parse_file(one, f"distribution[{at}]") for at, one in enumerate(files)],
        record_sets=[_parse_set(one, f"recordSet[{at}]") for at, one in enumerate(sets)],
        extra={key: read.plain(tree[key], read.step("", key)) for key in tree if key not in HEAD},
    )
    _check_references(result)
    return result


def _text(tree: Mapping[str, Any], key: str, place: str) -> str:
    return read.text(read.member(tree, key, place), read.step(place, key))


def _parse_file(value: Any, place: str) -> FileObject:
    tree = read.mapping(value, place)
    kind = _text(tree, "@type", place)
    if kind != "cr:FileObject":
        raise read.fail(f"{place}.@type", "cr:FileObject", kind)
    size = _text(tree, "contentSize", place)
    number, _, unit = size.partition(" ")
    if unit != "B" or not (number.isascii() and number.isdigit()) or len(number) > 15:
        raise read.fail(f"{place}.contentSize", 'a number of bytes such as "1024 B"', size)
    sha256 = _text(tree, "sha256", place)
    if not _SHA.fullmatch(sha256):
        raise read.fail(f"{place}.sha256", "64 hexadecimal digits", sha256)
    return FileObject(
        id=_text(tree, "@id", place),
        content_url=_text(tree, "contentUrl", place),
        encoding_format=_text(tree, "encodingFormat", place),
        content_size=int(number),
        sha256=sha256,
        description=_text(tree, "description", place),
    )


def _parse_set(value: Any, place: str) -> RecordSet:
    tree = read.mapping(value, place)
    id = _text(tree, "@id", place)
    fields = read.sequence(read.member(tree, "field", place), f"{place}.field")
    found = [_parse_field(one, f"{place}.field[{at}]", id) for at, one in enumerate(fields)]
    key = _reference(read.member(tree, "key", place), f"{place}.key")
    name = key.removeprefix(f"{id}/")
    if name not in {one.name for one in found}:
        raise FormatError(f"{place}.key: there is no field {read.shown(key)}.")
    return RecordSet(id, name, found, _text(tree, "description", place))


def _parse_field(value: Any, place: str, owner: str) -> Field:
    tree = read.mapping(value, place)
    id = _text(tree, "@id", place)
    if not id.startswith(f"{owner}/"):
        raise FormatError(f"{place}.@id: {read.shown(id)} does not begin with its record set's id.")
    kind = _text(tree, "dataType", place)
    if kind not in TYPES:
        raise read.fail(f"{place}.dataType", f"one of {', '.join(sorted(TYPES))}", kind)
    where = f"{place}.source"
    source = read.mapping(read.member(tree, "source", place), where)
    extract = read.mapping(read.member(source, "extract", where), f"{where}.extract")
    repeated = tree.get("repeated", False)
    if not isinstance(repeated, bool):
        raise read.fail(f"{place}.repeated", "true or false", repeated)
    return Field(
        name=id.removeprefix(f"{owner}/"),
        data_type=kind,
        file=_reference(read.member(source, "fileObject", where), f"{where}.fileObject"),
        column=_text(extract, "column", f"{where}.extract"),
        repeated=repeated,
        description=_text(tree, "description", place),
    )


def _reference(value: Any, place: str) -> str:
    return _text(read.mapping(value, place), "@id", place)


def _check_references(data: Croissant) -> None:
    ids = [one.id for one in data.files]
    if len(set(ids)) < len(ids):
        raise FormatError("distribution: two files have one id.")
    for at, one in enumerate(data.record_sets):
        for number, each in enumerate(one.fields):
            if each.file not in ids:
                place = f"recordSet[{at}].field[{number}].source.fileObject"
                raise FormatError(f"{place}: there is no file {read.shown(each.file)}.")
