"""One thread for LAPACK, as our own code has one: to be imported before NumPy is."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
