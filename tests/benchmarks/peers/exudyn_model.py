"""A described mechanism in Exudyn (BSD-3): rigid bodies with Euler parameters, joints as constraints, generalised-alpha in index 2."""

import time

import exudyn as exu
import exudyn.itemInterface as items
import numpy as np
from exudyn.utilities import RigidBodyInertia

GROUND = "ground"


class Model:
    """The mechanism, and its motion by the implicit solver.

    Parameters
    ----------
    about : dict
        See `describe.described`.
    """

    def __init__(self, about):
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.about, self.bodies, self.nodes = about, {}, {}
        self.places = {b["name"]: b for b in about["bodies"]}
        self.ground = self.mbs.CreateGround(referencePosition=[0.0, 0.0, 0.0])
        for body in about["bodies"]:
            (self._planar if body["planar"] else self._rigid)(body)
        for joint in about["joints"]:
            {"spherical": self._spherical, "revolute": self._revolute, "planar revolute": self._planar_revolute}[joint["kind"]](joint)
        for load in about["loads"]:
            {"spring": self._spring, "torque": self._torque}[load["kind"]](load)
        self.mbs.Assemble()

    # bodies

    def _rigid(self, b):
        A = np.array(b["A"])
        self.bodies[b["name"]] = self.mbs.CreateRigidBody(
            inertia=RigidBodyInertia(mass=b["mass"], inertiaTensor=np.array(b["inertia"])), referencePosition=b["r"],
            referenceRotationMatrix=A, initialVelocity=b["v"], initialAngularVelocity=(A @ b["omega"]).tolist(),
            gravity=self.about["gravity"])

    def _planar(self, b):
        node = self.mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[b["r"][0], b["r"][1], b["angle"]],
                                                      initialVelocities=[b["v"][0], b["v"][1], b["omega"]]))
        body = self.mbs.AddObject(items.ObjectRigidBody2D(mass=b["mass"], inertia=b["inertia"], nodeNumber=node))
        self.bodies[b["name"]] = body
        marker = self.mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        self.mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=self.about["gravity"]))

    # joints

    def _number(self, name):
        return self.ground if name == GROUND else self.bodies[name]

    def _spherical(self, j):
        self.mbs.CreateSphericalJoint(itemNumbers=[self._number(j["i"]), self._number(j["j"])], position=self._point(j["i"], j["s_i"]))

    def _revolute(self, j):
        self.mbs.CreateRevoluteJoint(itemNumbers=[self._number(j["i"]), self._number(j["j"])], position=self._point(j["i"], j["s_i"]),
                                     axis=self._direction(j["i"], j["a_i"]))

    def _planar_revolute(self, j):
        markers = [self.mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=self._number(j[x]), localPosition=j[f"s_{x}"])) for x in "ij"]
        self.mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))

    def _frame(self, name):
        if name == GROUND:
            return np.zeros(3), np.eye(3)
        b = self.places[name]
        if b["planar"]:
            c, s = np.cos(b["angle"]), np.sin(b["angle"])
            return np.array(b["r"]), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return np.array(b["r"]), np.array(b["A"])

    def _point(self, name, s):
        r, A = self._frame(name)
        return (r + A @ s).tolist()

    def _direction(self, name, a):
        return (self._frame(name)[1] @ a).tolist()

    # loads

    def _spring(self, f):
        markers = [self.mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=self._number(f[x]), localPosition=f[f"s_{x}"])) for x in "ij"]
        self.mbs.AddObject(items.ObjectConnectorSpringDamper(markerNumbers=markers, stiffness=f["k"], damping=f["c"],
                                                             referenceLength=f["l0"]))

    def _torque(self, f):
        marker = self.mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=self._number(f["body"]), localPosition=[0.0, 0.0, 0.0]))
        self.mbs.AddLoad(items.LoadTorqueVector(markerNumber=marker, loadVector=f["torque"]))

    # the run

    def run(self, t_end, h, sparse=True):
        """Processor time of `t_end / h` steps [s]; the positions of the bodies are then those at the end."""
        steps = round(t_end / h)
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, t_end
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
        settings.timeIntegration.verboseMode = 0
        settings.solution.file.write = False
        settings.show.computationTime = False
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse if sparse else exu.LinearSolverType.EigenDense
        if not sparse:  # redundant constraints
            settings.linearSolver.ignoreSingularJacobian = True
        begin = time.process_time()
        if not self.mbs.SolveDynamic(settings):
            raise RuntimeError("Exudyn: the solver has failed")
        return time.process_time() - begin

    def positions(self):
        """Centres of mass of the bodies, in the order of the description."""
        kind = exu.OutputVariableType.Position
        return [list(map(float, self.mbs.GetObjectOutputBody(self.bodies[b["name"]], kind, [0.0, 0.0, 0.0]))) for b in self.about["bodies"]]
