"""The house has three floors and no stairs going up: who may import whom, and what the web process never loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"torch", "transformers", "onnxruntime", "cv2", "av", "scenedetect", "onnx"}
LIGHT_ML = {
    "social", "questions", "text", "rewards", "statistics", "formats", "progress", "endpoint", "evidence", "evaluation",
}  # fmt: skip
LIGHT_TRAINING = {"rows", "configs", "folder", "preflight"}  # of `ml.training`, whose other modules need torch
# `ml` parts that only name errors and packages, so that a worker or a command can explain them
COMMANDS_ONLY = {"evidence_folder.py"}  # reads Parquet
STUDIO_ML = LIGHT_ML | {"media", "weights"}


def modules(floor: str) -> list[Path]:
    return sorted(p for p in (ROOT / floor).rglob("*.py") if "migrations" not in p.parts)


def imports(path: Path, *, top_only: bool = False) -> Iterator[str]:
    """Dotted names a module imports; `top_only` leaves out imports inside functions."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules("ml"), ids=named)
def test_ml_imports_nothing_above_it(path: Path) -> None:
    above = {name for name in imports(path) if name.split(".")[0] in {"webapp", "workers", "django", "celery", "tests"}}
    assert not above


@pytest.mark.parametrize("path", modules("webapp"), ids=named)
def test_webapp_imports_no_worker_nothing_heavy_and_only_the_light_parts_of_ml(path: Path) -> None:
    allowed = STUDIO_ML if "studio" in path.parts else LIGHT_ML
    for name in imports(path):
        first, *rest = name.split(".")
        assert first not in {"workers", "tests"}, name
        assert first not in HEAVY, name
        if first == "ml" and rest[:1] == ["training"]:
            assert not rest[1:] or rest[1] in LIGHT_TRAINING, name
        elif first == "ml" and rest:
            assert rest[0] in allowed, name


@pytest.mark.parametrize("path", [*modules("ml"), *modules("webapp"), *modules("workers")], ids=named)
def test_nothing_is_unpickled(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert not {"pickle", "dill", "joblib", "shelve", "marshal"} & {name.split(".")[0] for name in imports(path)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load" and "np" in ast.dump(node.func):
            keywords = {k.arg: getattr(k.value, "value", None) for k in node.keywords}
            assert keywords.get("allow_pickle", False) is False, named(path)


def test_importing_a_light_part_of_ml_loads_nothing() -> None:
    assert (ROOT / "ml/__init__.py").read_text().strip() == ""


def test_the_web_process_loads_no_heavy_package() -> None:
    """Import the ASGI application and resolve every address, in a fresh interpreter."""
    script = (
        "import sys; import webapp.asgi; from django.urls import get_resolver; get_resolver().url_patterns; "
        "import webapp.urls; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not (HEAVY | {"pyarrow", "scipy", "lap"}) & set(done.stdout.split())


def test_what_pages_need_of_ml_needs_no_extra() -> None:
    """Whatever of `ml` the web process imports, be it inside a function, loads with the base dependencies alone."""
    wanted = {
        name
        for path in modules("webapp")
        if "studio" not in path.parts and path.name not in COMMANDS_ONLY
        for name in imports(path)
        if name.startswith("ml.") and (ROOT / f"{name.replace('.', '/')}.py").exists()
    }
    wanted -= {"ml.social.matching", "ml.social.relink"}  # deriving and accepting: done by workers and commands
    assert "ml.formats.coco_rle" in wanted and len(wanted) > 20
    script = (
        f"import sys, importlib; sys.modules.update(dict.fromkeys({sorted(extras())}))\n"
        f"for name in {sorted(wanted)}: importlib.import_module(name)\n"
        "import numpy as np; from ml.formats import coco_rle as rle; mask = np.eye(3, dtype=bool)\n"
        "assert (rle.decode(rle.encode(mask), (3, 3)) == mask).all()"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def extras() -> set[str]:
    """Names under which the packages of the extras perception and ml are imported, those of the base left out."""
    import tomllib
    from importlib.metadata import packages_distributions

    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = {name_of(line) for line in told["dependencies"]}
    optional = {name_of(line) for extra in ("perception", "ml") for line in told["optional-dependencies"][extra]} - base
    own = {top for top, homes in packages_distributions().items() if optional & {name_of(home) for home in homes}}
    return own | HEAVY | {"pyarrow"}


def name_of(line: str) -> str:
    """The package of a requirement, as it is compared."""
    return re.split(r"[\[=<>;]", line)[0].strip().lower().replace("_", "-")


def test_no_two_packages_overwrite_each_other() -> None:
    """All OpenCV wheels share one folder, and the build tool ninja has the module of django-ninja: whichever comes last
    wins, without a warning."""
    from importlib.metadata import distributions

    owners: dict[str, set[str]] = defaultdict(set)
    for package in distributions():
        name = package.name
        for line in (package.read_text("RECORD") or "").splitlines():
            file = line.partition(",")[0]
            if file.endswith(".py") and not file.startswith(".."):
                owners[file].add(name)
    assert {file: names for file, names in owners.items() if len(names) > 1} == {}


@pytest.mark.parametrize("path", [*modules("ml"), *modules("workers")], ids=named)
def test_models_are_read_from_safetensors_alone(path: Path) -> None:
    """A model class of transformers takes pickled weights, too, where it is not told otherwise."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "from_pretrained":
            called = ast.unparse(node.func.value)
            told = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if "Model" in called and not called.startswith("Peft"):  # of adapters the folder's file is asked for before
                assert told.get("use_safetensors") == "True", f"{path}:{node.lineno}: {called}"
            if "Auto" in called:  # else whoever sits at the terminal is asked whether the folder's code may be run
                assert told.get("trust_remote_code") == "False", f"{path}:{node.lineno}: {called}"
