"""One method of mbdae, or of a solver through it, on one case in a process of its own; prints a line of JSON.

    python -m tests.benchmarks.peers.ours "chain" '{"links": 8}' SETTINGS
"""

import json
import sys
import time

import numpy as np

import mbdae
from mbdae import library
from mbdae.registry import find

ABA_CALLS = 2000


def system_of(name, parameters, coordinates="cartesian"):
    """The system of a mechanism of the library."""
    return mbdae.System(library.mechanism(name, **parameters), coordinates=coordinates)


def run(name, parameters, settings):
    """Steps of a method with fixed step, or a run of a solver with its tolerances: `seconds` of the integration, positions at the end."""
    system = system_of(name, parameters)
    method = find(settings["method"])
    form = {} if method.formulation is None else {"formulation": method.formulation}
    made = method.make(h=settings["h"]) if "h" in settings else method.make()
    tolerances = {} if "h" in settings else {"rtol": settings["rtol"], "atol": settings["rtol"] / 100.0}
    mbdae.solve(system, made, (0.0, 0.05 * settings["t_end"]), **form, **tolerances)
    found = mbdae.solve(system, made, (0.0, settings["t_end"]), t_eval=[settings["t_end"]], **form, **tolerances)
    assert found.success, found.message
    return {"seconds": found.statistics.cpu_seconds, "count": found.statistics.steps, "positions": centres(system, found.q[-1])}


def articulated_body(name, parameters, _):
    """Calls of the articulated-body algorithm from Python, in joint coordinates."""
    system = system_of(name, parameters, "joint")
    problem = mbdae.UnderlyingODE(system)
    state, out = system.start, np.empty(problem.n)
    y, arguments, kernel = problem.pack(state)[0], problem.arguments, problem.kernel
    for _ in range(100):
        kernel(0.0, y, out, *arguments)
    begin = time.process_time()
    for _ in range(ABA_CALLS):
        kernel(0.0, y, out, *arguments)
    return {"seconds": time.process_time() - begin, "count": ABA_CALLS}


def centres(system, q):
    """Centres of mass of the bodies."""
    return [q[system.coordinates(b.name)[0]][:2 if isinstance(b, mbdae.PlanarBody) else 3].tolist() for b in system.mechanism.bodies]


if __name__ == "__main__":
    name, parameters, settings = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
    print(json.dumps((run if "method" in settings else articulated_body)(name, parameters, settings)))
