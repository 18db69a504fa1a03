"""What docs/solvers.md tells beyond the settings: what was measured and tried with single solvers."""

RADAU13 = """\
The form is in index 2, `MassMatrix(system)`. Errors of RADAU in positions and velocities, in tolerances with `atol = rtol` from 1e-4 to
1e-9, the largest at 41 output times on Andrews' mechanism, the single and the double pendulum, the closed-loop bars, the slider-crank, the
four-link, the flexible slider-crank and the precessing top:

| form | q | v | remarks |
| --- | --- | --- | --- |
| index 3, tolerances 0.1 | 3000 | 540000 | `STEP_TOO_SMALL` on the single pendulum at 1e-4 |
| index 3, tolerances 0.001 | 100 | 190000 | twice the evaluations |
| index 2, tolerances 1 | 630 | 2900 | |
| index 2, tolerances 0.1 | 110 | 290 | |
| index 2, tolerances 0.01 | 11 | 830 | |
| index 2, tolerances 0.01, output projected | 11 | 48 | the default |

In index 3, `MassMatrix(system, level=3)`, the tolerances get the factor 0.1, and what the first line says holds, but for what the
projection of the output takes away."""

# `python -m tests.benchmarks.assimulo_traps` tries each of them with plain problems
ASSIMULO = """\
## Assimulo 3.0 and 3.9

The adapter accepts Assimulo from 3.0 on; 3.9 is the release that is tested. `mbdae matrix` gives 161 cells with Assimulo, all of them good with
both. Dopri5, LSODAR, ODASSL, Radau5DAE, Radau5ODE, RodasODE and RungeKutta34 take the same steps to the same errors in every bit. CVode and
IDA come with another SUNDIALS (6.4 when 3.0 was built, 2.7 in 3.9): CVode takes the same steps, IDA 0.88 to 1.17 times as many, with a largest error of
37 tolerances in both; GLIMDA 1.00 to 1.04 times as many, 26 and 27 tolerances.

What users of Assimulo meet, tried with plain problems of the package (`python -m tests.benchmarks.assimulo_traps`), and what the adapter does:

| | 3.0 | 3.9.0b2 | the adapter |
| --- | --- | --- | --- |
| exception of a user in the right-hand side | IDA: replaced by its own, traceback printed; CVode: hangs, loses one that is raised once; RungeKutta34: lost, wrong result; others: arrives, messages on standard error | CVode: replaced by its own; Radau5DAE: replaced; else as 3.0 | kept by the callback, which gives harmless values; raised when the solver has stopped |
| `ZeroDivisionError`, `AssimuloRecoverableError` | IDA, CVode: hang; Radau5ODE: replaced; RungeKutta34: lost | IDA: hangs; CVode, Radau5DAE, Radau5ODE: replaced; RungeKutta34: lost | the same |
| exception in a state event | IDA, CVode: replaced; others: arrives | RodasODE, Dopri5, RungeKutta34: lost, success; IDA, CVode: replaced | the same |
| Ctrl-C | IDA: replaced; CVode: lost; others: arrives | IDA, CVode: replaced; others: arrives | held for the run, raised after a step |
| not a number from the right-hand side | IDA, RodasODE, CVode: hang; Radau5DAE, Radau5ODE, RungeKutta34: success with NaN; others: raise | CVode: raises; else as 3.0 | counted and refused by the callback; results are looked at |
| text on the terminal from a run that fails | Fortran text from Radau5DAE, Radau5ODE, ODASSL, RodasODE, LSODAR, Dopri5; warnings from IDA and CVode | Radau5ODE: none; else as 3.0 | taken into `Solution.message` |
| text from a normal run | GLIMDA: its whole log at `verbosity = 50`, none at 49 | as 3.0 | `verbosity = 49` |
| ODASSL: first row of the results | the last state | as 3.0 | the start is kept from the beginning |
| ODASSL: `algvar` | leaves `atol = 1e7` for algebraic unknowns | as 3.0 | is not told |
| ODASSL: unknowns that are zero | increments of difference quotients drown in rounding, Newton's method fails | as 3.0 | unknowns are shifted |
| ODASSL: `maxord` | refuses 1 to 5 | as 3.0 | set in `options` |
| backward in time | output right with IDA and CVode only | as 3.0 | runs forward on a clock of its own |
| start reported twice | Radau5DAE, Radau5ODE, RodasODE, Dopri5 | Radau5DAE, RodasODE, Dopri5 | stored once |
| `y` of a callback is a buffer that is used again | all but RungeKutta34 | all but RungeKutta34, Radau5ODE | results are copies |
| a run within another one: steps | ODASSL: wrong; LSODAR: fails | as 3.0 | refused |
| a run within another one: interpolation afterwards | Radau5DAE, Radau5ODE, RodasODE, Dopri5: wrong | Radau5DAE, RodasODE, Dopri5: wrong | refused |
| `interpolate` after `simulate` | right | Radau5ODE: wrong without an error | asked during the run only |
| `finalize` after `simulate` | harmless | Radau5ODE: crashes | called only where a run is broken off |
| memory kept per run (two unknowns) | IDA 1.0 kB | IDA 0.9 kB, CVode 0.3 kB | - |
| memory kept per run that `handle_event` ends | IDA 1.0 kB | IDA 1.0 kB, CVode 0.3 kB, Radau5ODE 1.7 kB (121 kB with 60 unknowns) | `finalize`; 0.1 kB |
| Jacobian where warnings are errors | CVode: lost without a word, 3378 evaluations for 9 | fine | 3.0: the warning is filtered |
| `usejac` | LSODAR does not use the Jacobian unasked, Radau5DAE complains | as 3.0 | set where it can be |
| `statistics[...]` | 0 for what is not counted; Radau5DAE, RodasODE, ODASSL, GLIMDA count less than there was | as 3.0 | counted by the callbacks |
| `maxsteps` | ignored by IDA, CVode, LSODAR, ODASSL; 2^31 fails in others | as 3.0 | counted by the listener; 2^31 - 1 |
| state events | ignored by ODASSL, GLIMDA; without direction from LSODAR; without end from Radau5DAE at negative times | as 3.0 | refused; direction from the flow; refused |
| GLIMDA: matrix before `yd` | taken for constant | as 3.0 | form `ggl` is divided by a mass matrix that is not constant, `index2` and `index3` are refused then |
| GLIMDA: flags | `KeyError` for some | as 3.0 | named |
| sparse direct solver | none | CVode, Radau5ODE | - |
| RungeKutta34: steps with errors above the tolerances | accepted; the error only sets the next step, and its estimate is zero for forces of time alone | as 3.0 | repeated, with a second estimate |
| Dopri5: `rtol = atol = 1e-160` | the first step is NaN and repeated without an end | as 3.0 | the exception is raised through it after 200 evaluations |
| DASP3ODE | one fast unknown works, more are refused | wrong with one, too: flag 3 or success at t = 8e17 | takes nothing |
| Radar5ODE (delays) | `KeyError` | works | - |
"""
