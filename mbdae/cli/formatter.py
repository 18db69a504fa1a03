"""Help of the commands, wrapped to the terminal: paragraphs are filled, tables and examples keep their columns."""

import argparse
import re
from textwrap import wrap

_GAP = re.compile(r"\S {2,}(?=\S)")  # between the columns of a table
_CONTINUED = re.compile(r" *\\\n *")  # the end of a line of a command that goes on
WIDEST_HEAD = 0.6  # of the width, of a first column beside which the second one is wrapped


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Lines as they are where they fit."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if all(len(line) <= width for line in text.splitlines()):
            return super()._fill_text(text, width, indent)
        found: list[str] = []
        paragraph: list[str] = []
        for line in [*_CONTINUED.sub(" ", text).splitlines(), ""]:
            if line and not line[0].isspace() and not line.endswith(":") and not _GAP.search(line):
                paragraph.append(line)
                continue
            found += wrap(" ".join(paragraph), width, break_on_hyphens=False) + _wrapped(line, width)
            paragraph = []
        return super()._fill_text("\n".join(found), width, indent)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _wrapped(line: str, width: int) -> list[str]:
    """A line of a table or an example; a command goes on after a backslash."""
    if len(line) <= width:
        return [line]
    lead, gap = len(line) - len(line.lstrip()), _GAP.search(line)
    hang = gap.end() if gap and gap.end() < WIDEST_HEAD * width else lead + 4
    is_command = gap is None and line.lstrip().startswith("mbdae ")
    lines = wrap(line.strip(), width - 2 * is_command, initial_indent=" " * lead, subsequent_indent=" " * hang,
                 break_long_words=False, break_on_hyphens=False)
    return [f"{x} \\" if is_command and k + 1 < len(lines) else x for k, x in enumerate(lines)]
