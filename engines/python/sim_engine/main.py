"""An adapter's command line: `main.py MODULE describe | run JOB.json OUT_DIR | compile JOB.json OUT_DIR |
drive JOB.json OUT_DIR | identify`.

`compile` builds the worlds of a job and steps them twice, so that every kernel is compiled, and leaves
the kernels in OUT_DIR. `identify` says which interpreter and which packages there are; the build keeps
it as python.json. `drive` is described in `drive`.
"""

import os
import sys

# Kernels print to file descriptor 1. What is said to whoever started us has another one from here on.
STDOUT = os.dup(1)
os.dup2(2, 1)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

USAGE = "usage: adapter describe | adapter run|compile|drive JOB.json OUT_DIR"


def main(arguments: list[str]) -> int:
    """Gives the exit code."""
    import importlib
    from pathlib import Path

    from sim_engine import environment

    module, *words = arguments
    adapter = Path(HERE).parent.parent
    if words == ["identify"]:
        os.write(STDOUT, environment.identity().encode())
        return 0
    environment.enter(adapter)
    # numpy lies in the environment.
    from sim_engine import compiling, host

    make = importlib.import_module(f"sim_engine.{module}").Engine
    if words[:1] == ["compile"]:
        if len(words) != 3:
            print(USAGE, file=sys.stderr)
            return 2
        return compiling.run(make, Path(words[1]), Path(words[2]))
    engine = make(environment.Cache())
    library = host.load(adapter / "lib" / "libsim_python_host.so")
    if words[:1] == ["drive"]:
        if len(words) != 3 or not hasattr(engine, "batch"):
            print(f"{USAGE}\n{module} drives nothing", file=sys.stderr)
            return 2
        from sim_engine import drive

        memory = lambda: (host.memory(library) or (None,))[0]  # noqa: E731
        return drive.serve(engine.batch, Path(words[1]), Path(words[2]), memory)
    return host.serve(engine, words, STDOUT, library)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
