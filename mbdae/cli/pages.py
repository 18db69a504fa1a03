"""`mbdae pages`: a page in Markdown and a picture for every mechanism of the library."""

import argparse

from .. import library
from ..pages.pages import write_pages
from .console import output, progress_bar
from .options import Commands, output_folder

_EPILOG = """\
examples:
  mbdae pages                                  all of them, and the index
  mbdae pages andrews chain --output pages
  mbdae pages --no-pictures                    the text only
"""


def add_parser(commands: Commands) -> None:
    """The parser of `pages`."""
    p = commands.add_parser("pages", help="a page and a picture for every mechanism", description="Write the properties of mechanisms as "
                            "Markdown, with an index, and their pictures.", epilog=_EPILOG, allow_abbrev=False,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", metavar="NAME", nargs="*", help="mechanisms, see 'mbdae list'; by default all")
    p.add_argument("--output", metavar="DIR", default="docs/mechanisms", help="folder (default docs/mechanisms)")
    p.add_argument("--no-pictures", action="store_true", help="write the text only")
    p.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    names = [library.entry(name).name for name in arguments.names]  # raises for unknown names before anything is written
    folder = output_folder(arguments.output)
    with progress_bar() as bar:
        written = write_pages(folder, names, not arguments.no_pictures, bar)
    output().print(f"written: {folder}, {len(written)} files", soft_wrap=True, markup=False)
    return 0
