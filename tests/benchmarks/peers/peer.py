"""One contender on one case in a process of its own: reads a description, prints a line of JSON. Needs no mbdae.

    python peer.py exudyn description.json SETTINGS
"""

import json
import resource
import sys

ABA_CALLS = 2000
MEMORY = 8 * 2**30  # bytes; Pinocchio keeps tables of n^3 numbers for n velocities


def exudyn(about, settings):
    """Steps of the implicit solver."""
    from exudyn_model import Model

    model = Model(about)
    seconds = model.run(settings["t_end"], settings["h"], settings["sparse"])
    return {"seconds": seconds, "count": round(settings["t_end"] / settings["h"]), "positions": model.positions()}


def mujoco(about, settings):
    """Steps of the semi-implicit Euler method."""
    from tree_peers import MuJoCo

    model = MuJoCo(about, settings.get("integrator", "Euler"))
    model.run(10 * settings["h"], settings["h"])  # warms up
    model = MuJoCo(about, settings.get("integrator", "Euler"))
    seconds = model.run(settings["t_end"], settings["h"])
    return {"seconds": seconds, "count": round(settings["t_end"] / settings["h"]), "positions": model.positions()}


def pinocchio(about, settings):
    """Calls of the articulated-body algorithm."""
    from tree_peers import Pinocchio

    model = Pinocchio(about)
    model.run(100)
    return {"seconds": model.run(ABA_CALLS), "count": ABA_CALLS, "accelerations": model.accelerations()}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    name, path, settings = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        about = json.load(file)
    print(json.dumps({"exudyn": exudyn, "mujoco": mujoco, "pinocchio": pinocchio}[name](about, json.loads(settings))))
