"""Studies over a grid of mechanisms, formulations, methods and settings: cached by content, on several cores or a cluster.

>>> from mbdae.studies import grid
>>> table = grid.study("tolerance", ["andrews", "four-link"], methods=["RosenbrockNystrom", "Ida:ggl"], rtol=(1e-4, 1e-6), folder="results")
>>> table.write("results/tolerance")
"""

from .cache import Cache
from .engine import carry_out
from .executors import Dask, Executor, Joblib, Serial
from .runs import Cell, RunRow, RunTask, run_cells
from .studies import STUDIES, Selection, Study, study
from .table import StudyTable
from .target import Target

__all__ = ["STUDIES", "Cache", "Cell", "Dask", "Executor", "Joblib", "RunRow", "RunTask", "Selection", "Serial", "Study", "StudyTable",
           "Target", "carry_out", "run_cells", "study"]
