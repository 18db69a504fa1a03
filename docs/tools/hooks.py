"""What MkDocs does for mbdae beside its configuration: generated pages, links out of the documentation, mathematics as MathML.

- `changelog.md`, `contributing.md` and the pages of the gallery are made of files outside docs/.
- Links from docs/ to files of the repository become the names of these files: the site does not contain them.
- `$...$` and `$$...$$` become MathML, which browsers set without a script.
- `mbdae.adapters` lies in adapters/; the reader of docstrings gets a copy in which all modules lie where they are imported.
"""

import html
import inspect
import re
import shutil
import sys
import textwrap
from importlib import import_module
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "build" / "api"
sys.path.insert(0, str(Path(__file__).parent))

import gallery  # noqa: E402  beside this file

OUTSIDE = re.compile(r"\[(?P<text>[^\]\n]*)\]\((?:\.\./)+(?P<path>(?:mbdae|adapters|examples|solvers|tests)/[^)\s]*)\)")
COMPOSED = re.compile(r'^class (?P<name>\w+)[^\n]*:\n    (?P<body>__doc__ = f"""(?:.*?)""")', re.S | re.M)
FORMULA = re.compile(r'<(?P<tag>span|div) class="arithmatex">(?P<body>.*?)</(?P=tag)>', re.S)


def on_startup(command, dirty):
    """An empty folder of sources: the reader of docstrings looks for it before `on_config`, and leaves out one that is missing."""
    SOURCES.mkdir(parents=True, exist_ok=True)


def on_config(config):
    """The folder of sources, and entries of the navigation for pages that may be missing."""
    sources, skipped = SOURCES, shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.rmtree(sources, ignore_errors=True)
    for folder, name in (("mbdae", "mbdae"), ("adapters", "mbdae/adapters")):
        shutil.copytree(ROOT / folder, sources / name, ignore=skipped)
    for path in sources.rglob("*.py"):
        if COMPOSED.search(text := path.read_text()):
            path.write_text(with_docstrings(text, ".".join(path.relative_to(sources).with_suffix("").parts)))
    mechanisms = sorted(p.name for p in (ROOT / "docs" / "mechanisms").glob("*.md") if p.name != "README.md")
    reference = next(entry["Reference"] for entry in config.nav if "Reference" in entry)
    reference[0] = {"Mechanisms": [f"mechanisms/{name}" for name in ("README.md", *mechanisms)]}
    papers = sorted((ROOT / "docs" / "papers").glob("*.md"))
    if papers:
        papers.sort(key=lambda p: (p.stem not in ("index", "README"), p.stem))
        config.nav.append({"Papers": [f"papers/{p.name}" for p in papers]})
    return config


def with_docstrings(text, module):
    """A source with docstrings that are composed when it is imported written out."""
    found = import_module(module)
    for match in reversed(list(COMPOSED.finditer(text))):
        docstring = textwrap.indent(inspect.getdoc(getattr(found, match["name"])), "    ").strip()
        text = f'{text[:match.start("body")]}"""{docstring}\n    """{text[match.end("body"):]}'
    return text


def on_files(files, config):
    """Pages that are made of files outside docs/."""
    pages = {f"{name.lower()}.md": from_docs((ROOT / f"{name}.md").read_text()) for name in ("CHANGELOG", "CONTRIBUTING")}
    for name, text in (pages | gallery.pages()).items():
        files.append(File.generated(config, name, content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    for path in gallery.pictures():
        files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    return files


def from_docs(text):
    """Links of a file beside docs/ as links of a file within it; those to other files as names."""
    return OUTSIDE.sub(_name, re.sub(r"\]\((?!https?:|#|docs/)([^)]*)\)", r"](../\1)", text).replace("](docs/", "]("))


def on_page_markdown(markdown, page, config, files):
    """Links to files of the repository become their names."""
    return OUTSIDE.sub(_name, markdown)


def _name(match):
    text = match["text"]
    return text if text.startswith("`") or " " in text else f"`{text}`"


def on_page_content(content, page, config, files):
    """Formulas in TeX become MathML."""
    return FORMULA.sub(_mathml, content)


def _mathml(match):
    tex = html.unescape(match["body"]).strip()
    block = tex.startswith(r"\[")
    return convert(tex[2:-2].strip(), display="block" if block else "inline")
