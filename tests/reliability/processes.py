"""Runs beside and within other runs."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import mbdae

from . import models
from .fault import Trial, fault
from .models import AT, T_END
from .outcomes import Promise
from .subjects import Subject

GROUP = "Runs beside and within other runs"


@fault(GROUP, "four runs in threads on one system", "solved")
def threads(subject: Subject) -> Trial:
    system = models.plain()

    def run():
        with ThreadPoolExecutor(4) as pool:
            runs = [pool.submit(subject.solve, system, (0.0, T_END)) for _ in range(4)]
            found = [r.result() for r in runs]
        return min(found, key=lambda s: all(np.array_equal(s.q, o.q) for o in found))  # one that differs from another one, if there is one

    return Trial(run, Promise(models.undisturbed(), refusal="one run at a time|at the same time|within|another"))


@fault(GROUP, "a run in a child process made by fork", "solved")
def fork(subject: Subject) -> Trial:
    system = models.plain()

    def run():
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                s = subject.solve(system, (0.0, T_END))
                with os.fdopen(writing, "wb") as file:
                    pickle.dump((s.t, s.q, s.v, s.a, s.lam, int(s.status), s.message), file)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            t, q, v, a, lam, status, message = pickle.load(file)
        os.waitpid(child, 0)
        statistics = mbdae.Statistics(steps=len(t) - 1)
        trajectory = mbdae.results.trajectory.Trajectory(t, q, v, a, lam, statistics, mbdae.Status(status), message)
        return mbdae.Solution(system, trajectory, subject.name, "")

    return Trial(run, Promise(models.undisturbed()))


@fault(GROUP, "the same method called within a force of its run", "solved, or refused by name")
def run_within_a_force(subject: Subject) -> Trial:
    inner, done = models.plain(), []

    def law(length, rate, t):
        if t > AT and not done:
            done.append(True)
            subject.solve(inner, (0.0, 0.02))
        return 0.1 * length

    def run():
        done.clear()
        return subject.solve(models.pendulum(law=law), (0.0, T_END))

    return Trial(run, Promise(models.undisturbed(), refusal="within|another run|at a time"))


@fault(GROUP, "the same method called by `progress`", "solved, or refused by name")
def run_within_progress(subject: Subject) -> Trial:
    inner, done = models.plain(), []

    def progress(t):
        if not done:
            done.append(True)
            subject.solve(inner, (0.0, 0.02))

    def run():
        done.clear()
        return subject.solve(models.plain(), (0.0, T_END), progress=progress)

    return Trial(run, Promise(models.undisturbed(), refusal="within|another run|at a time"))
