"""Described chains of spherical joints in MuJoCo (steps) and Pinocchio (accelerations)."""

import time

import numpy as np

GROUND = "ground"


def _relative(about):
    """For each body: its description, that before, its joint, and orientation and angular velocity relative to the body before."""
    places = {b["name"]: b for b in about["bodies"]}
    for joint in about["joints"]:
        if joint["kind"] != "spherical" or joint["j"] not in places:
            raise ValueError("chains of spherical joints only")
        body, before = places[joint["j"]], places.get(joint["i"])
        A, B = np.array(body["A"]), np.eye(3) if before is None else np.array(before["A"])
        omega = np.zeros(3) if before is None else np.array(before["omega"])
        yield body, before, joint, B.T @ A, np.array(body["omega"]) - A.T @ B @ omega


class MuJoCo:
    """Steps of MuJoCo's semi-implicit Euler or classical Runge-Kutta method, without contacts."""

    def __init__(self, about, integrator="Euler"):
        import mujoco

        self.mujoco, self.about = mujoco, about
        self.model = mujoco.MjModel.from_xml_string(self._xml(integrator))
        self.data = mujoco.MjData(self.model)
        self.data.qvel[:] = np.concatenate([omega for *_, omega in _relative(about)])

    def _xml(self, integrator):
        inner = ""
        for body, _, joint, R, _ in reversed(list(_relative(self.about))):
            centre = np.array(joint["s_i"]) - R @ joint["s_j"]
            I = np.array(body["inertia"])
            full = " ".join(repr(float(x)) for x in (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
            inner = (f'<body name="{body["name"]}" pos="{_text(centre)}" quat="{_text(_quaternion(R))}">'
                     f'<inertial pos="0 0 0" mass="{body["mass"]}" fullinertia="{full}"/>'
                     f'<joint type="ball" pos="{_text(joint["s_j"])}"/>{inner}</body>')
        return (f'<mujoco><compiler angle="radian"/><option integrator="{integrator}" gravity="{_text(self.about["gravity"])}">'
                f'<flag contact="disable"/></option><worldbody>{inner}</worldbody></mujoco>')

    def run(self, t_end, h):
        """Processor time [s]."""
        self.model.opt.timestep = h
        begin = time.process_time()
        self.mujoco.mj_step(self.model, self.data, round(t_end / h))
        return time.process_time() - begin

    def positions(self):
        """Centres of mass of the bodies."""
        self.mujoco.mj_forward(self.model, self.data)
        return [self.data.body(b["name"]).xipos.tolist() for b in self.about["bodies"]]


class Pinocchio:
    """Calls of Pinocchio's articulated-body algorithm from Python at the initial state."""

    def __init__(self, about):
        import pinocchio as pin

        self.pin, self.about, model = pin, about, pin.Model()
        model.gravity.linear = np.array(about["gravity"])
        ids, places, self.frames, v = {}, {}, {}, []
        for body, before, joint, R, omega in _relative(about):
            here = pin.SE3(R, np.array(joint["s_i"]) - (0.0 if before is None else np.array(places[before["name"]])))
            number = model.addJoint(0 if before is None else ids[before["name"]], pin.JointModelSpherical(), here, body["name"])
            ids[body["name"]], places[body["name"]] = number, joint["s_j"]
            centre = pin.SE3(np.eye(3), -np.array(joint["s_j"]))
            model.appendBodyToJoint(number, pin.Inertia(body["mass"], np.zeros(3), np.array(body["inertia"])), centre)
            self.frames[body["name"]] = model.addFrame(pin.Frame(f"{body['name']} centre", number, 0, centre, pin.FrameType.OP_FRAME))
            v.append(omega)
        self.model, self.data = model, model.createData()
        self.q, self.v, self.tau = pin.neutral(model), np.concatenate(v), np.zeros(model.nv)

    def run(self, calls):
        """Processor time of a number of calls [s]."""
        aba, model, data, q, v, tau = self.pin.aba, self.model, self.data, self.q, self.v, self.tau
        begin = time.process_time()
        for _ in range(calls):
            aba(model, data, q, v, tau)
        return time.process_time() - begin

    def accelerations(self):
        """Accelerations of the centres of mass."""
        pin = self.pin
        pin.forwardKinematics(self.model, self.data, self.q, self.v, pin.aba(self.model, self.data, self.q, self.v, self.tau))
        return [pin.getFrameClassicalAcceleration(self.model, self.data, self.frames[b["name"]], pin.LOCAL_WORLD_ALIGNED).linear.tolist()
                for b in self.about["bodies"]]


def _text(x):
    return " ".join(repr(float(value)) for value in x)


def _quaternion(R):
    """Of a rotation matrix, scalar first."""
    w = np.array([1 + R[0, 0] + R[1, 1] + R[2, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2], 1 - R[0, 0] + R[1, 1] - R[2, 2],
                  1 - R[0, 0] - R[1, 1] + R[2, 2]])
    k = int(np.argmax(w))
    x = 0.5 * np.sqrt(w[k])
    d = 0.25 / x
    parts = {0: (x, (R[2, 1] - R[1, 2]) * d, (R[0, 2] - R[2, 0]) * d, (R[1, 0] - R[0, 1]) * d),
             1: ((R[2, 1] - R[1, 2]) * d, x, (R[0, 1] + R[1, 0]) * d, (R[0, 2] + R[2, 0]) * d),
             2: ((R[0, 2] - R[2, 0]) * d, (R[0, 1] + R[1, 0]) * d, x, (R[1, 2] + R[2, 1]) * d),
             3: ((R[1, 0] - R[0, 1]) * d, (R[0, 2] + R[2, 0]) * d, (R[1, 2] + R[2, 1]) * d, x)}
    return parts[k]
