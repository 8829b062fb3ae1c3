"""The harness, as a library: phases, clock, sampler, gates, accuracy and files.

The library asks through one function; `serve` gives it one that passes on what is asked.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from sim_engine.contract import AdapterError, Engine, Failed, OutOfMemory, Simulation

# Numbers of what is asked; the same stand in host/src/adapter.rs.
DESCRIBE, BUILD, RESET, STEP, SYNC, POSES, VELOCITIES, COUNTERS = range(8)

CALL = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_size_t,
)


def load(path: Path) -> ctypes.CDLL:
    """The library with its signatures."""
    library = ctypes.CDLL(os.fspath(path))
    library.sim_host_serve.argtypes = [
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.c_size_t,
        CALL,
        ctypes.c_int,
    ]
    library.sim_host_serve.restype = ctypes.c_int
    library.sim_host_reply.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.sim_host_reply.restype = None
    pointer = ctypes.POINTER(ctypes.c_uint64)
    library.sim_host_memory.argtypes = [pointer, pointer]
    library.sim_host_memory.restype = ctypes.c_int
    return library


def memory(library: ctypes.CDLL) -> tuple[int, int] | None:
    """Resident memory of this process now and at most, bytes, by the harness's own reader; None where
    this system has no such counter."""
    current, peak = ctypes.c_uint64(), ctypes.c_uint64()
    failed = library.sim_host_memory(ctypes.byref(current), ctypes.byref(peak))
    return None if failed else (current.value, peak.value)


class Caller:
    """Answers what the library asks, with an engine and its simulation."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.simulation: Simulation | None = None

    def built(self) -> Simulation:
        if self.simulation is None:
            raise Failed("nothing has been built")
        return self.simulation

    def answer(self, ask: int, number: int, text: str, out: np.ndarray) -> Any:
        """What is to be replied as JSON; None for nothing."""
        if ask == DESCRIBE:
            return self.engine.describe()
        if ask == BUILD:
            given = json.loads(text)
            self.simulation = self.engine.build(given["scene"], given["job"])
            built = self.simulation
            return {"settings": built.settings(), "translation": built.translation()}
        if ask == RESET:
            return self.built().reset()
        if ask == POSES:
            return self.built().poses(number, out.reshape(-1, 7))
        if ask == VELOCITIES:
            return self.built().velocities(number, out.reshape(-1, 6))
        if ask == COUNTERS:
            return self.built().counters()
        raise Failed(f"the library asks for {ask}, which this adapter does not know")


def serve(engine: Engine, words: list[str], stdout: int, library: ctypes.CDLL) -> int:
    """Serves `describe` or `run JOB.json OUT_DIR`; a description goes to the file descriptor `stdout`.
    Gives the exit code."""
    caller = Caller(engine)

    def reply(text: str) -> None:
        raw = text.encode()
        library.sim_host_reply(raw, len(raw))

    def call(ask: int, number: int, text: int, length: int, out: Any, count: int) -> int:
        try:
            # The measured interval, and the wait for its end: nothing beside the engine's own loop.
            if ask == STEP:
                caller.built().step(number)
                return 0
            if ask == SYNC:
                caller.built().sync()
                return 0
            given = ctypes.string_at(text, length).decode() if length else ""
            room = np.ctypeslib.as_array(out, (count,)) if count else np.empty(0)
            found = caller.answer(ask, number, given, room)
            if found is not None:
                reply(json.dumps(found, allow_nan=False))
            return 0
        except AdapterError as error:
            reply(str(error))
            return error.code
        except MemoryError as error:
            reply(f"{error}" or "memory ran out")
            return OutOfMemory.code
        except BaseException as error:  # noqa: BLE001 - whatever happens becomes an outcome
            traceback.print_exc(file=sys.stderr)
            reply(f"{type(error).__name__}: {error}")
            return Failed.code

    raw = [os.fsencode(word) for word in words]
    return library.sim_host_serve((ctypes.c_char_p * len(raw))(*raw), len(raw), CALL(call), stdout)
