"""Mechanisms as plain data, for processes without mbdae."""

import numpy as np

import mbdae
from mbdae.model import rotations

GROUND = "ground"


def described(system, state):
    """Bodies with their states, joints, springs, torques and gravity of a mechanism of spherical, revolute and planar revolute joints.

    Vectors are those of the mechanism: points and axes in the frames of the bodies, positions and velocities in the global frame, angular
    velocities in the frame of the body. Planar bodies have an angle and its rate.
    """
    m = system.mechanism
    return {"name": m.name, "gravity": list(map(float, m.gravity)), "bodies": [_body(system, state, b) for b in m.bodies],
            "joints": [_joint(j) for j in m.joints], "loads": [_load(f) for f in m.forces]}


def _body(system, state, body):
    where, rates = system.coordinates(body.name)
    q, v = state.q[where], state.v[rates]
    if isinstance(body, mbdae.PlanarBody):
        return {"name": body.name, "planar": True, "mass": float(body.mass), "inertia": float(body.inertia), "r": [*q[:2].tolist(), 0.0],
                "angle": float(q[2]), "v": [*v[:2].tolist(), 0.0], "omega": float(v[2])}
    I = np.reshape(body.inertia, (3, 3)).tolist()
    return {"name": body.name, "planar": False, "mass": float(body.mass), "inertia": I, "r": q[:3].tolist(),
            "A": rotations.to_matrix(q[3:]).tolist(), "v": v[:3].tolist(), "omega": v[3:].tolist()}


def _joint(j):
    known = {mbdae.Spherical: "spherical", mbdae.Revolute: "revolute", mbdae.PlanarRevolute: "planar revolute"}
    kind = known[type(j)]
    found = {"kind": kind, "i": j.i, "j": j.j, "s_i": [*map(float, j.s_i), 0.0][:3], "s_j": [*map(float, j.s_j), 0.0][:3]}
    return found | ({"a_i": list(map(float, j.a_i)), "a_j": list(map(float, j.a_j))} if kind == "revolute" else {})


def _load(f):
    if isinstance(f, mbdae.TSDA):
        return {"kind": "spring", "i": f.i, "j": f.j, "s_i": list(map(float, f.s_i)), "s_j": list(map(float, f.s_j)), "k": float(f.k),
                "c": float(f.c), "l0": float(f.l0)}
    if isinstance(f, mbdae.PointTorque):
        return {"kind": "torque", "body": f.body, "torque": [x.value for x in f.torque]}
    raise ValueError(f"{f.name}: {type(f).__name__} has no counterpart in the other packages")
