"""docs/command-line.md: an example of every command, with what it prints today where that does not depend on the machine."""

import importlib.util
from pathlib import Path

import pytest

from mbdae.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
SAME = ("mbdae --help", "mbdae equations 4.91", "mbdae list", "mbdae show four-link")  # everywhere


@pytest.fixture(scope="module")
def tool():
    """docs/tools/commands.py, which writes the page."""
    spec = importlib.util.spec_from_file_location("commands", ROOT / "docs" / "tools" / "commands.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def blocks(tool):
    return tool.blocks_of(tool.PAGE.read_text(encoding="utf-8"))


def test_every_command_has_an_example(tool, blocks):
    assert list(blocks) == list(tool.COMMANDS)
    assert {command.split()[1] for command in blocks} == {*COMMANDS, "--help"}
    assert all(blocks.values())


def test_every_command_is_listed(tool):
    shown = tool.PAGE.read_text(encoding="utf-8").partition("```sh\n")[2].partition("```")[0]
    assert {line.split()[1] for line in shown.splitlines()} == set(COMMANDS)


@pytest.mark.parametrize("command", SAME)
def test_the_page_has_what_a_command_prints(tool, blocks, command, tmp_path):
    told = [lines[:-1] if lines[-1].startswith("... ") else lines for lines in (tool.printed(command, tmp_path), blocks[command])]
    assert told[0] == told[1], f"{command}: run docs/tools/commands.py"


def test_examples_have_no_paths_of_a_machine(blocks):
    for command, lines in blocks.items():
        assert not any(str(ROOT) in line or "/site-packages" in line for line in lines), command


def test_nothing_is_cut(blocks):
    """Tables of 100 columns have all their numbers."""
    for command, lines in blocks.items():
        assert not any("…" in line for line in lines), command
