"""The environment of an adapter: the packages it was built with, the interpreter, the compile cache.

    SIM_ENGINE_ENVIRONMENT   the tree of packages
    SIM_ENGINE_CACHE         compiled kernels of an earlier run, read-only; absent where there are none
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path


def digest(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def interpreter() -> dict[str, str]:
    """What the interpreter is."""
    program = Path(os.path.realpath(sys.executable))
    return {"version": sys.version, "sha256": digest(program)}


def _given() -> Path:
    given = os.environ.get("SIM_ENGINE_ENVIRONMENT")
    if not given:
        raise SystemExit("SIM_ENGINE_ENVIRONMENT does not name the adapter's environment")
    return Path(given)


def identity() -> str:
    """Which interpreter and which packages there are, as a JSON text."""
    found = {"interpreter": interpreter(), "packages": digest(_given() / "environment.json")}
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


def enter(adapter: Path) -> None:
    """Makes the packages importable. Refuses others than the adapter was built with, and another
    interpreter. `adapter` is the adapter's tree."""
    said, found = (adapter / "python.json").read_text(), identity()
    if said != found:
        raise SystemExit(
            f"the adapter was built with {said}, and here is {found}: run the pipeline again, which "
            "builds it anew"
        )
    sys.path.append(os.fspath(_given() / "site"))


class Cache:
    """A folder for compiled kernels: a copy of those of an earlier run, so that what is shared stays
    as it is and what is missing can be added."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is where new kernels stay; without it they go with the process."""
        self._own = None if folder else tempfile.TemporaryDirectory(prefix="kernels-")
        self.folder = folder or Path(self._own.name)
        earlier = os.environ.get("SIM_ENGINE_CACHE")
        if earlier:
            shutil.copytree(earlier, self.folder, dirs_exist_ok=True, copy_function=_copy)
        for path in [self.folder, *self.folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        self._before = self._files()

    def _files(self) -> set[Path]:
        return {path for path in self.folder.rglob("*") if path.is_file()}

    def added(self) -> int:
        """Files that were compiled since the cache was opened."""
        return len(self._files() - self._before)


def _copy(source: str, to: str) -> None:
    shutil.copyfile(source, to)
