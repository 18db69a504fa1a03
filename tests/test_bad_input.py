"""Malformed input to bodies, joints, forces and mechanisms: refused with a `ValueError` that names the culprit."""

import numpy as np
import pytest

import mbdae
from mbdae import (
    CD,
    DP1,
    DP2,
    RSDA,
    TSDA,
    AngleDriver,
    Coincident,
    CoordinateDriver,
    Cylindrical,
    D,
    DistanceDriver,
    Friction,
    Mechanism,
    Particle,
    PlanarAngle,
    PlanarAngleDriver,
    PlanarBody,
    PlanarCoincident,
    PlanarRevolute,
    PlanarTranslational,
    PointForce,
    PointTorque,
    Polynomial,
    Revolute,
    RigidBody,
    Rod,
    Spherical,
    Translational,
    Turn,
    Universal,
    UserForce,
)

G, NAN, INF = "ground", float("nan"), float("inf")
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
REFLECTION = np.diag([1.0, 1.0, -1.0])


def rigid(name="link", mass=1.0, inertia=(1, 1, 1), **more):
    return RigidBody(name, mass, inertia, **more)


BODIES = {
    "mass zero": (lambda: Particle("ball", 0.0), "ball.*mass.*positive"),
    "mass negative": (lambda: PlanarBody("disc", -1.0, 1.0), "disc.*mass.*positive"),
    "mass NaN": (lambda: rigid(mass=NAN), "link.*mass.*finite"),
    "mass infinite": (lambda: rigid(mass=INF), "link.*mass.*finite"),
    "mass a word": (lambda: rigid(mass="heavy"), "link.*mass.*'heavy'"),
    "mass a truth value": (lambda: Particle("ball", True), "ball.*mass must be a number, got True"),
    "mass a numeral": (lambda: rigid(mass="1.0"), r"link.*mass must be a number, got '1\.0'"),
    "inertia truth values": (lambda: rigid(inertia=(True, True, True)), "link.*inertia must consist of numbers"),
    "inertia numerals": (lambda: rigid(inertia=("1", "1", "1")), "link.*inertia must consist of numbers"),
    "inertia of no body": (lambda: rigid(inertia=(3, 1, 1)), r"link.*inertia.*principal moments 1, 1, 3.*sum.*any_inertia=True"),
    "inertia of no body, turned": (lambda: rigid(inertia=[[1, 0.9, 0], [0.9, 1, 0], [0, 0, 0.5]]),
                                     r"link.*inertia.*principal moments 0\.1, 0\.5, 1\.9"),
    "inertia neither any nor not": (lambda: rigid(any_inertia="yes"), "link.*any_inertia must be True or False, got 'yes'"),
    "name and mass swapped": (lambda: Particle(1.0, "ball"), "particle.*name.*1.0; it is the first argument"),
    "mass missing": (lambda: rigid(mass=None), "link.*mass.*None"),
    "planar inertia zero": (lambda: PlanarBody("disc", 1.0, 0.0), "disc.*inertia.*positive"),
    "inertia indefinite": (lambda: rigid(inertia=(1, 1, -1)), "link.*inertia.*positive definite.*-1"),
    "inertia singular": (lambda: rigid(inertia=(1, 1, 0)), "link.*inertia.*positive definite"),
    "inertia asymmetrical": (lambda: rigid(inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "link.*inertia.*symmetric"),
    "inertia of wrong shape": (lambda: rigid(inertia=(1, 2)), r"link.*inertia.*shape \(2,\)"),
    "inertia NaN": (lambda: rigid(inertia=(1, 1, NAN)), "link.*inertia.*finite"),
    "inertia words": (lambda: rigid(inertia=("a", "b", "c")), "link.*inertia.*numbers"),
    "inertia ragged": (lambda: rigid(inertia=[[1, 0], [0, 1, 0], [1]]), "link.*inertia.*numbers"),
    "quaternion not unit": (lambda: rigid(orientation=(1, 1, 0, 0)), "link.*quaternion.*length 1.*1.41421356"),
    "quaternion zero": (lambda: rigid(orientation=(0, 0, 0, 0)), "link.*quaternion.*length 1"),
    "orientation reflected": (lambda: rigid(orientation=REFLECTION), "link.*orientation.*rotation.*det A is -1"),
    "orientation not orthogonal": (lambda: rigid(orientation=np.diag([1, 1, 2.0])), "link.*orientation.*rotation"),
    "orientation of wrong shape": (lambda: rigid(orientation=(1, 0, 0)), r"link.*orientation.*shape \(3,\)"),
    "orientation NaN": (lambda: rigid(orientation=(NAN, 0, 0, 0)), "link.*orientation.*finite"),
    "orientation words": (lambda: rigid(orientation="upright"), "link.*orientation.*'upright'"),
    "position too short": (lambda: Particle("ball", 1.0, (1, 2)), "ball.*position.*3 components.*2"),
    "planar position too long": (lambda: PlanarBody("disc", 1, 1, (1, 2, 3)), "disc.*position.*2 components.*3"),
    "position a number": (lambda: Particle("ball", 1.0, 3.0), "ball.*position.*3 numbers"),
    "velocity with a word": (lambda: rigid(velocity=(1, None, "fast")), r"link.*velocity\[2\] must be a number"),
    "position with a gap": (lambda: Particle("ball", 1.0, (1, None, 2)), r"ball.*position\[1\] must be a number, got None"),
    "position with NaN": (lambda: Particle("ball", 1.0, (0, NAN, 0)), r"ball.*position\[1\].*finite"),
    "velocity too short": (lambda: rigid(velocity=(1, 2)), "link.*velocity.*3 components"),
    "omega a number": (lambda: rigid(omega=1.0), "link.*omega.*3 numbers"),
    "planar omega a vector": (lambda: PlanarBody("disc", 1, 1, omega=(0, 0, 1)), "disc.*omega.*number"),
    "angle infinite": (lambda: PlanarBody("disc", 1, 1, angle=INF), "disc.*angle.*finite"),
    "called ground": (lambda: rigid(name="ground"), "ground.*kept for the fixed frame"),
    "name empty": (lambda: Particle("", 1.0), "particle.*name.*non-empty"),
    "name blank": (lambda: PlanarBody("  ", 1.0, 1.0), "planar body.*name.*non-empty"),
    "name a number": (lambda: Particle(7, 1.0), "particle.*name.*7"),
}

JOINTS = {
    "axis not unit": (lambda: Revolute("pin", G, "link", a_i=(1, 1, 0)), "pin.*a_i.*unit vector.*1.41421356"),
    "axis zero": (lambda: Revolute("pin", G, "link", a_j=(0, 0, 0)), "pin.*a_j.*zero"),
    "axis too short": (lambda: Cylindrical("pin", G, "link", a_i=(1, 0)), "pin.*a_i.*3 components"),
    "planar axis not unit": (lambda: PlanarTranslational("guide", G, "disc", a_i=(1, 1)), "guide.*a_i.*unit"),
    "planar point spatial": (lambda: PlanarRevolute("pin", G, "disc", (1, 2, 3)), "pin.*s_i.*2 components.*3"),
    "point too short": (lambda: Spherical("ball", G, "link", (1, 2)), "ball.*s_i.*3 components.*2"),
    "point with infinity": (lambda: Spherical("ball", G, "link", s_j=(1, INF, 2)), r"ball.*s_j\[1\].*finite"),
    "helper not perpendicular": (lambda: Translational("guide", G, "link", b_i=Z), "guide.*b_i.*perpendicular to a_i"),
    "rod of no length": (lambda: Rod("rod", G, "link", length=0.0), "rod.*length.*positive"),
    "rod of negative length": (lambda: Rod("rod", G, "link", length=-1.0), "rod.*length.*positive"),
    "distance zero": (lambda: D("rod", G, "link", X, Y, 0.0), "rod.*squared distance.*positive"),
    "distance negative": (lambda: D("rod", G, "link", X, Y, -1.0), "rod.*squared distance.*positive"),
    "distance driver negative": (lambda: DistanceDriver("pull", G, "link", -2.0), "pull.*f must be positive"),
    "distance driver zero": (lambda: DistanceDriver("pull", G, "link", 0.0), "pull.*f must be positive"),
    "direction zero": (lambda: DP1("dot", G, "link", X, (0, 0, 0)), "dot.*a_j.*zero"),
    "global direction zero": (lambda: CD("comp", G, "link", (0, 0, 0)), "comp.*c must not be the zero vector"),
    "right-hand side a word": (lambda: DP1("dot", G, "link", X, Y, "fast"), "dot.*f must be a number.*'fast'"),
    "right-hand side NaN": (lambda: DP1("dot", G, "link", X, Y, NAN), "dot.*f must be finite"),
    "driver direction not unit": (lambda: CoordinateDriver("pull", G, "link", 1.0, (1, 1, 0)), "pull.*c must be a unit"),
    "driver axes not perpendicular": (lambda: AngleDriver("drive", G, "link", 0.0, Z, Z, X), "drive.*b_i.*perpendicular"),
    "driver without function": (lambda: AngleDriver("drive", G, "link", None, Z, X, X), "drive.*f must be a number.*None"),
    "joint name empty": (lambda: Revolute("", G, "link"), "Revolute.*name.*non-empty"),
    "driver name empty": (lambda: PlanarAngleDriver("", G, "disc", 0.0), "PlanarAngleDriver.*name.*non-empty"),
    "polynomial too long": (lambda: Polynomial(range(9)), "Polynomial.*8 coefficients.*9"),
    "polynomial empty": (lambda: Polynomial(()), "Polynomial.*coefficients.*0"),
    "polynomial a number": (lambda: Polynomial(3.0), "Polynomial.*coefficients.*3.0"),
    "polynomial with NaN": (lambda: Polynomial((1, NAN)), r"Polynomial.*coefficients\[1\].*finite"),
    "harmonic with NaN": (lambda: mbdae.Harmonic(1.0, NAN), "Harmonic.*omega.*finite"),
    "constant NaN": (lambda: mbdae.Constant(NAN), "Constant.*value.*finite"),
    "function not callable": (lambda: mbdae.Function(3.0), "Function.*f must be callable"),
}

FORCES = {
    "stiffness a numeral": (lambda: TSDA("spring", G, "link", k="200"), "spring.*k must be a number, got '200'"),
    "damping a truth value": (lambda: TSDA("spring", G, "link", c=np.True_), "spring.*c must be a number"),
    "stiffness negative": (lambda: TSDA("spring", G, "link", k=-1.0), "spring.*k must not be negative"),
    "damping NaN": (lambda: TSDA("spring", G, "link", c=NAN), "spring.*c must be finite"),
    "free length negative": (lambda: TSDA("spring", G, "link", l0=-1.0), "spring.*l0 must not be negative"),
    "law not callable": (lambda: TSDA("spring", G, "link", law=3.0), "spring.*law must be a function"),
    "torsion law not callable": (lambda: RSDA("coil", G, "link", law="linear"), "coil.*law must be a function"),
    "torsion axis alone": (lambda: RSDA("coil", G, "link", a_i=Z), "coil.*all of a_i, b_i, b_j"),
    "torsion directions not perpendicular": (lambda: RSDA("coil", G, "link", a_i=Z, b_i=Z, b_j=X), "coil.*b_i.*perpendicular"),
    "force of two components": (lambda: PointForce("push", "link", (1, 2)), "push.*force.*3 components.*2"),
    "force a number": (lambda: PointForce("push", "link", 3.0), "push.*force.*3.0"),
    "force a word": (lambda: PointForce("push", "link", (1, 2, "up")), r"push.*force\[2\].*'up'"),
    "force in no frame": (lambda: PointForce("push", "link", (1, 2, 3), frame="local"), "push.*frame.*'local'"),
    "torque in no frame": (lambda: PointTorque("turn", "link", (1, 2, 3), frame="inertial"), "turn.*frame.*'inertial'"),
    "force point too long": (lambda: PointForce("push", "link", (1, 2, 3), (1, 2, 3, 4)), "push.*s must have 3 components.*4"),
    "user force on nobody": (lambda: UserForce("wind", (), lambda *x: None), r"wind.*bodies.*\(\)"),
    "user force on a number": (lambda: UserForce("wind", 3, lambda *x: None), "wind.*bodies.*3"),
    "user force twice on a body": (lambda: UserForce("wind", ("link", "link"), lambda *x: None), "wind.*twice"),
    "user force without function": (lambda: UserForce("wind", ("link",), None), "wind.*function must be callable"),
    "friction negative": (lambda: Friction("rub", "guide", -0.1), "rub.*mu must not be negative"),
    "friction radius zero": (lambda: Friction("rub", "pin", 0.1, radius=0.0), "rub.*radius must be positive"),
    "friction transition zero": (lambda: Friction("rub", "guide", 0.1, v_s=0.0), "rub.*v_s must be positive"),
    "friction rows a number": (lambda: Friction("rub", "guide", 0.1, normal=3), "rub.*normal.*3"),
}


def build(bodies=None, joints=(), drivers=(), forces=(), **more):
    return Mechanism("machine", [rigid()] if bodies is None else bodies, joints, drivers, forces, **more)


def planar(*joints, **more):
    return build([PlanarBody("disc", 1, 1), PlanarBody("ring", 1, 1)], joints, **more)


PIN, GUIDE = Revolute("pin", G, "link"), Translational("guide", G, "link")

MECHANISMS = {
    "no bodies": (lambda: build([]), "machine.*at least one body"),
    "bodies not a list": (lambda: build(rigid()), "machine.*bodies must be a list.*RigidBody"),
    "joint among the bodies": (lambda: build([PIN]), "machine.*bodies must not contain.*pin"),
    "force among the joints": (lambda: build(joints=[PointForce("push", "link", X)]), "machine.*joints must not contain.*push"),
    "joint among the forces": (lambda: build(forces=[PIN]), "machine.*forces must not contain.*pin"),
    "joint among the drivers": (lambda: build(drivers=[PIN]), "machine.*drivers must not contain.*pin"),
    "element in a wrong list": (lambda: build([PIN]), "bodies must not contain Revolute 'pin', which belongs into joints"),
    "class among the joints": (lambda: build(joints=[Revolute]), "joints must not contain Revolute, which is a class"),
    "force of other arguments": (lambda: UserForce("wind", ["link"], lambda t, r: None),
                                 r"wind.*must take the arguments \(t, r, A, v, omega"),
    "gravity too short": (lambda: build(gravity=(0, -9.81)), "machine.*gravity.*3 components"),
    "gravity a number": (lambda: build(gravity=9.81), "machine.*gravity.*9.81"),
    "mechanism without a name": (lambda: Mechanism("", [rigid()]), "Mechanism.*name"),
    "two bodies of one name": (lambda: build([rigid(), rigid()]), "machine.*'link' appears twice among the bodies"),
    "two joints of one name": (lambda: build(joints=[PIN, PIN]), "machine.*'pin' appears twice among the joints"),
    "two forces of one name": (lambda: build(forces=[PointForce("push", "link", X)] * 2), "machine.*'push' appears twice among the forces"),
    "joint and driver of one name": (lambda: build(joints=[CD("x", G, "link", X)], drivers=[CoordinateDriver("x", G, "link", 0.0, X)]),
                                     "machine.*'x'"),
    "equations of one name": (lambda: build(joints=[PIN, DP1("pin.b", G, "link", X, Z)]), r"machine.*'pin\.b'"),
    "joint to nobody": (lambda: build(joints=[Spherical("ball", "link", "lnik")]), "ball.*no body 'lnik'.*ground, link"),
    "driver on nothing": (lambda: build(drivers=[CoordinateDriver("pull", G, "cart", 0.0, X)]), "pull.*no body 'cart'"),
    "driver on the ground": (lambda: build(drivers=[CoordinateDriver("pull", G, G, 0.0, X)]), "pull.*both ends are on 'ground'"),
    "spring to nobody": (lambda: build(forces=[TSDA("spring", G, "lnik")]), "spring.*no body 'lnik'"),
    "load on nobody": (lambda: build(forces=[PointForce("push", "lnik", X)]), "push.*no body 'lnik'"),
    "user force on a stranger": (lambda: build(forces=[UserForce("wind", ("link", "leaf"), lambda *x: None)]), "wind.*no body 'leaf'"),
    "both ends on one body": (lambda: build(joints=[Spherical("ball", "link", "link")]), "ball.*both ends are on 'link'"),
    "spring with both ends on one body": (lambda: build(forces=[TSDA("spring", "link", "link", s_j=X)]), "spring.*both ends are on 'link'"),
    "force on the ground": (lambda: build(forces=[PointForce("push", G, X)]), "push.*force on the ground"),
    "torque on the ground": (lambda: build(forces=[PointTorque("turn", G, X)]), "turn.*force on the ground"),
    "user force on the ground": (lambda: build(forces=[UserForce("wind", (G,), lambda *x: None)]), "wind.*force on the ground"),
    "direction on a particle": (lambda: build([Particle("ball", 1)], [DP1("dot", G, "ball", X, Y)]),
                                "dot.*a_j is a direction.*'ball' is a particle"),
    "direction of a particle": (lambda: build([Particle("ball", 1), rigid()], [DP2("dot", "ball", "link", X)]),
                                "dot.*a_i.*'ball' is a particle"),
    "revolute on a particle": (lambda: build([Particle("ball", 1)], [Revolute("pin", G, "ball")]), "pin.*'ball' is a particle"),
    "offset on a particle": (lambda: build([Particle("ball", 1)], [Rod("rod", G, "ball", s_j=X)]),
                             "rod.*s_j must be zero.*'ball' is a particle"),
    "spring offset on a particle": (lambda: build([Particle("ball", 1)], forces=[TSDA("spring", G, "ball", s_j=X)]),
                                    "spring.*s_j must be zero.*'ball'"),
    "load offset on a particle": (lambda: build([Particle("ball", 1)], forces=[PointForce("push", "ball", X, Y)]),
                                  "push.*s must be zero.*'ball'"),
    "torque on a particle": (lambda: build([Particle("ball", 1)], forces=[PointTorque("turn", "ball", X)]), "turn.*'ball' is a particle"),
    "torsion spring on a particle": (lambda: build([Particle("ball", 1)], forces=[RSDA("coil", G, "ball")]), "coil.*particle"),
    "torsion spring without an axis": (lambda: build(forces=[RSDA("coil", G, "link")]), "coil.*axis a_i"),
    "planar angle on rigid bodies": (lambda: build(joints=[PlanarAngle("angle", G, "link")]), "angle.*planar bodies only"),
    "planar driver on rigid bodies": (lambda: build(drivers=[PlanarAngleDriver("motor", G, "link", 0.0)]), "motor.*planar bodies only"),
    "planar pin on rigid bodies": (lambda: build(joints=[PlanarRevolute("pin", G, "link")]), "pin.*planar.*'link' is a rigid body"),
    "planar guide on rigid bodies": (lambda: build(joints=[PlanarTranslational("guide", G, "link")]), "guide.*planar"),
    "spatial pin between planar bodies": (lambda: planar(Revolute("pin", "disc", "ring")), "pin.*planar bodies only"),
    "spatial guide between planar bodies": (lambda: planar(Translational("guide", G, "ring", a_i=X, a_j=X)), "guide.*planar bodies only"),
    "spatial sleeve between planar bodies": (lambda: planar(Cylindrical("sleeve", "disc", "ring")), "sleeve.*planar bodies only"),
    "spatial cross between planar bodies": (lambda: planar(Universal("cross", "disc", "ring", a_j=X)), "cross.*planar bodies only"),
    "spatial point between planar bodies": (lambda: planar(Coincident("ball", "disc", "ring")), "ball.*planar bodies only"),
    "planar point between rigid bodies": (lambda: build(joints=[PlanarCoincident("pin", G, "link")]), "planar bodies only; use Coi"),
    "spatial turn between planar bodies": (lambda: planar(Turn("motor", G, "disc", X, Y, X, 0.0)), "motor.*planar bodies only"),
    "spatial driver between planar bodies": (lambda: planar(drivers=[AngleDriver("motor", G, "disc", 0.0, Z, X, X)]),
                                             "motor.*planar bodies only"),
    "friction in no joint": (lambda: build(joints=[PIN], forces=[Friction("rub", "pni", 0.1)]), "rub.*no joint 'pni'"),
    "friction in a ball": (lambda: build(joints=[Spherical("ball", G, "link")], forces=[Friction("rub", "ball", 0.1)]),
                           "rub.*'ball' is of type Spherical"),
    "friction in a primitive": (lambda: build(joints=[CD("x", G, "link", X)], forces=[Friction("rub", "x", 0.1)]),
                                "rub.*'x' is of type CD"),
    "friction in a pin without radius": (lambda: build(joints=[PIN], forces=[Friction("rub", "pin", 0.1)]), "rub.*radius"),
    "friction in a planar pin without radius": (
        lambda: planar(PlanarRevolute("pin", G, "disc"), forces=[Friction("rub", "pin", 0.1)]), "rub.*radius"),
    "friction with an unknown row": (
        lambda: build(joints=[GUIDE], forces=[Friction("rub", "guide", 0.1, normal="guide.dd")]), r"rub.*'guide\.dd'.*guide\.db"),
    "friction with a row that carries a torque": (
        lambda: build(joints=[GUIDE], forces=[Friction("rub", "guide", 0.1, normal=("guide.turn",))]), r"rub.*'guide\.turn'"),
    "friction with a row twice": (
        lambda: build(joints=[GUIDE], forces=[Friction("rub", "guide", 0.1, normal=("guide.db", "guide.db"))]), r"rub.*'guide\.db'.*twice"),
    "friction with rows of a pin": (
        lambda: build(joints=[PIN], forces=[Friction("rub", "pin", 0.1, 0.1, normal=("pin.x",))]), "rub.*normal.*translational"),
}

CASES = [pytest.param(make, pattern, id=name) for part in (BODIES, JOINTS, FORCES, MECHANISMS) for name, (make, pattern) in part.items()]


@pytest.mark.parametrize(("make", "pattern"), CASES)
def test_malformed_input_is_refused_by_name(make, pattern):
    with pytest.raises(ValueError, match=f"(?s){pattern}"):
        make()
