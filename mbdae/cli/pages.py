"""`mbdae pages`: a page in Markdown and a picture for every mechanism of the library."""

import argparse

from .. import library
from ..pages.pages import write_pages
from .console import output, progress_bar
from .options import output_folder


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    names = [library.entry(name).name for name in arguments.names]  # raises for unknown names before anything is written
    folder = output_folder(arguments.output)
    with progress_bar() as bar:
        written = write_pages(folder, names, not arguments.no_pictures, bar)
    output().print(f"written: {folder}, {len(written)} files", soft_wrap=True, markup=False)
    return 0
