"""Stiff mechanisms for the tests."""

import math

import mbdae

T1, T2 = 0.3, 0.7  # between which the damper of `clutched` is engaged
DAMPING = 2e5  # [N s/m], of a particle of 1 kg


def engaged(t):
    """0 outside of [T1, T2], 1 within, with smooth transitions."""
    return 0.5 * (math.tanh(200.0 * (t - T1)) - math.tanh(200.0 * (t - T2)))


def clutched():
    """A particle on a spring with a damper that is very strong for a while, and a free one beside it."""
    def law(length, rate, t):
        return DAMPING * engaged(t) * rate

    bodies = [mbdae.Particle("held", 1.0, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), mbdae.Particle("free", 1.0, (0.0, 1.0, 0.0), (0.0, 0.0, 0.0))]
    forces = [mbdae.TSDA("clutch", "ground", "held", k=100.0, l0=0.8, law=law), mbdae.TSDA("spring", "ground", "free", k=400.0, l0=0.9)]
    return mbdae.System(mbdae.Mechanism("clutched", bodies, forces=forces, gravity=(0.0, 0.0, 0.0)))


def swinging_springs(particles):
    """Particles one below the other on stiff springs with dampers, released from a horizontal line: `6 particles` unknowns."""
    names = ["ground", *(f"p{k}" for k in range(particles))]
    bodies = [mbdae.Particle(name, 1.0, (0.3 * (k + 1), 0.0, 0.0)) for k, name in enumerate(names[1:])]
    forces = [mbdae.TSDA(f"s{k}", names[k], names[k + 1], k=1e6, c=2e3, l0=0.3) for k in range(particles)]
    return mbdae.System(mbdae.Mechanism(f"springs-{particles}", bodies, forces=forces, gravity=(0.0, 0.0, -9.81)))
