"""What the tests of Assimulo share: its solvers and the forms they take, mechanisms whose force misbehaves, and how users write scripts."""


import numpy as np

from mbdae.adapters.assimulo import SOLVERS, configure, explicit_problem, implicit_problem, overdetermined_problem
from mbdae.driver.support import FORMS
from mbdae.problems import FORMULATIONS

from .helpers import BREAKS_AT, with_law

MISSING = "Assimulo is not installed: pip install 'mbdae[assimulo]'"
WORKING = [name for name in SOLVERS if name != "DASP3ODE"]
BEST = [(name, SOLVERS[name].formulations[0]) for name in WORKING]
CELLS = [(name, form) for name in WORKING for form in SOLVERS[name].formulations]
REFUSED = [(name, form) for name in SOLVERS for form in FORMS if form not in SOLVERS[name].formulations]
WITH_JACOBIAN = [name for name in WORKING if SOLVERS[name].jacobian == "exact"]
WITH_EVENTS = [(name, form) for name, form in CELLS if SOLVERS[name].stops]
TOL = 1e-6


def throwing_system():
    """A system whose force raises `law.error` after some time."""

    def law(length, rate, t):
        if t > BREAKS_AT:
            raise law.error
        return 0.1 * length

    system = with_law(law)
    system.law = law
    return system


class Mine(Exception):
    """An exception that nobody else knows."""


def kinds():
    """Kinds of exceptions that one or the other solver takes for its own."""
    from assimulo.exception import AssimuloRecoverableError, TerminateSimulation

    return Mine, ZeroDivisionError, np.linalg.LinAlgError, AssimuloRecoverableError, TerminateSimulation, KeyboardInterrupt


def native(system, form, **options):
    """A system as a problem of Assimulo."""
    problem = FORMULATIONS[form](system)
    if form == "overdetermined":
        return overdetermined_problem(problem, **options)
    return (implicit_problem if problem.implicit else explicit_problem)(problem, **options)


def solver_for(name, problem, **options):
    """What a user writes: `configure(IDA(problem), ...)`."""
    import assimulo.solvers

    return configure(getattr(assimulo.solvers, name)(problem), **options)
