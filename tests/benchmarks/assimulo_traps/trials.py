"""Trials: each in a process of its own, since several hang or crash."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np

from .base import END_OF_RUN, PROGRESS, SECONDS, SILENT, TRAPS, told

# --- processes ---------------------------------------------------------------------------------------------------------------------------


def worker(trial, file):
    """Try one trap in this process; the sentence goes to the file."""
    PROGRESS.file = file
    threading.Thread(target=PROGRESS.give_up, daemon=True).start()
    name, _, solver = trial.partition(":")
    t = TRAPS[name]
    np.seterr(all="ignore")  # what is printed shall be the solver's
    try:
        sentence = t.function(*([solver] if solver else []))
    except BaseException as error:
        sentence = f"the trial raises {told(error)}"
    with open(file, "w") as out:
        out.write(sentence)
    sys.stdout.flush()
    os.write(1, END_OF_RUN.encode())


def attempt(trial):
    """One trial in a process of its own: what has happened, as a sentence."""
    command = [sys.executable, "-m", "tests.benchmarks.assimulo_traps", "--worker", trial]
    with tempfile.NamedTemporaryFile("r") as file:
        process = subprocess.Popen([*command, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
        try:
            out, err = process.communicate(timeout=SECONDS)
            ended = ""
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            ended = "hangs in compiled code"
        sentence = file.read()
    if process.returncode and not ended:
        name = signal.Signals(-process.returncode).name if process.returncode < 0 else process.returncode
        ended = f"crashes ({name})" + (", after all: " + sentence if sentence else "")
    return "; ".join(x for x in (ended or sentence, _printed(trial, out, err)) if x)


def _printed(trial, out, err):
    """What has been printed, as the first line of each stream; for the traps about prints, also that nothing has."""
    before, _, after = out.partition(END_OF_RUN)
    lines = [("prints a traceback" if "Traceback" in err else f"prints '{_first(err)}' on stderr") if err.strip() else "",
             f"prints {_lines(before)}" if before.strip() else "", f"prints {_lines(after)} when Python ends" if after.strip() else ""]
    told = " and ".join(line for line in lines if line)
    return told or (SILENT if trial.startswith("prints") else "")


def _first(text):
    line = " ".join(next(line for line in text.split("\n") if line.strip()).split())
    line = re.sub(r"^\S+\.py:\d+: ", "", line)
    return re.sub(r"[-+]?\d+\.\d+(e[-+]?\d+)?", "...", line, flags=re.IGNORECASE)[:70]


def _lines(text):
    n = text.strip().count("\n") + 1
    return f"'{_first(text)}'" + (f" and {'more' if n < 9 else 'many'} lines" if n > 1 else "")
