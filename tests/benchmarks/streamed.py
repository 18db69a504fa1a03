"""A million states of a chain of 1024 links in the plane, streamed to a folder: `python -m tests.benchmarks.streamed [OUTPUTS] [FOLDER]`.

The positions take 24.6 GB, which must be free in the folder; the size of the process is printed on the way. The folder is removed.
"""

import sys
import tempfile
import time

import numpy as np
import psutil

import mbdae
from mbdae import library

LINKS, H = 1024, 1e-4


def main(outputs: int, folder: str | None = None) -> None:
    """Print time, memory during the run, and the constraint violation of some of the states read back from the folder."""
    system, sizes, process = library.system("chain", links=LINKS, joints="planar"), [], psutil.Process()
    times = np.arange(outputs + 1) * H
    with tempfile.TemporaryDirectory(dir=folder) as path:
        begin = time.process_time()
        run = mbdae.solve(system, mbdae.HalfImplicit(h=H), (0.0, times[-1]), t_eval=times,
                          output=mbdae.Output(path, columns=["q"]), progress=lambda t: sizes.append(process.memory_info().rss / 1e6))
        seconds = time.process_time() - begin
        some = np.linspace(0, len(run.t) - 1, 50).astype(int)
        violation = max(float(np.abs(system.phi(float(run.t[k]), np.array(run.q[k]))).max()) for k in some)
        print(f"{len(run.t)} states, {run.q.nbytes / 1e9:.1f} GB, {run.message}; {seconds:.0f} s of processor time; "
              f"{sizes[0]:.0f} MB after the first steps, at most {max(sizes):.0f} MB; constraint violation at most {violation:.1e} m")
        del run


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000, *sys.argv[2:])
