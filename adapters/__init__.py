"""Adapters: external solvers as methods for `mbdae.solve`, and their arguments for scripts.

Checklist for a new adapter:

1. A frozen dataclass derived from `mbdae.driver.method.Method`, whose fields are the options of the solver; `__post_init__` validates them
   with a ValueError.
2. `label` names the solver in tables; `support` tells how each formulation is run, or why it is refused.
3. `package` is the name of the package, `availability` tells whether it is installed. The module of the adapter must be importable without
   the package.
4. `integrate` makes `SolverCallbacks` for the problem and a `Run`, packs the state, compiles, sets the options that `support` lists, and
   lets `Run.carry_out` drive the solver: by `Run.pull(stepper)` in single steps, by `Run.accept` if the solver calls back after each step.
5. `Statistics` has what the solver counts; what it does not count is `None`.
"""
