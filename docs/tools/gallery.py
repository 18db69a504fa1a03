"""The gallery: pages and pictures of the scripts in examples/gallery.

    python docs/tools/gallery.py            # run the scripts whose pictures are missing or old
    python docs/tools/gallery.py --force    # run all of them

Each script begins with a docstring, whose first line is the title and whose second paragraph says what one sees, and saves one picture by
`save(figure)` of `examples/gallery/picture.py`. Pictures lie in build/gallery with a stamp of the script's text.
"""

import ast
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "examples" / "gallery"
PICTURES = ROOT / "build" / "gallery"
ENDINGS = (".png", ".gif")
GROUPS = {"0": "First runs", "1": "Mechanisms of your own", "2": "Formulations and solvers", "3": "Comparisons and orders",
          "4": "Jacobians", "5": "Vehicles and large mechanisms"}


def scripts():
    """The scripts in their order."""
    return sorted(SCRIPTS.glob("[0-9][0-9]_*.py"))


def group(script):
    """The heading under which a script stands: by the first digit of its number."""
    return GROUPS[script.name[0]]


def picture(script):
    """The picture of a script, or `None` if it has not been made."""
    return next((p for ending in ENDINGS if (p := PICTURES / f"{script.stem}{ending}").exists()), None)


def pictures():
    """All pictures that belong to a script."""
    return [p for script in scripts() if (p := picture(script))]


def texts(script):
    """Title and description of a script."""
    title, _, more = (ast.get_docstring(ast.parse(script.read_text())) or script.stem).partition("\n")
    return title.rstrip("."), " ".join(more.split())


def pages():
    """The pages by their names: an index, and one for each script."""
    found = {"gallery/index.md": index()}
    for k, script in enumerate(scripts()):
        around = scripts()[max(0, k - 1):k], scripts()[k + 1:k + 2]
        found[f"gallery/{script.stem}.md"] = page(script, *around)
    return found


def index():
    """Pictures with titles, in groups."""
    lines = ["# Gallery", "", f"{len(scripts())} short scripts with their pictures: copy one, run it, change it. Their `save(figure)` is "
             "`figure.savefig` with the name of the script.", ""]
    for name in GROUPS.values():
        members = [s for s in scripts() if group(s) == name]
        if members:
            lines += [f"## {name}", "", '<div class="gallery" markdown>', ""]
            lines += [f"[{image(s)}<span>{texts(s)[0]}</span>]({s.stem}.md)\n" for s in members]
            lines += ["</div>", ""]
    return "\n".join(lines)


def image(script):
    """The picture in Markdown; nothing if it has not been made."""
    found = picture(script)
    return f"![{texts(script)[0]}]({found.name})" if found else ""


def page(script, before, after):
    """A script with its picture and text."""
    title, text = texts(script)
    body = script.read_text().partition('"""\n\n')[2]
    others = [("Before", s) for s in before] + [("Next", s) for s in after]
    links = [f"[{which}: {texts(s)[0]}]({s.stem}.md)" for which, s in others]
    code = ["```python", body.rstrip(), "```"]
    end = [f"`examples/gallery/{script.name}`", "", " · ".join(["[Gallery](index.md)", *links]), ""]
    return "\n".join([f"# {title}", "", text, "", image(script), "", *code, "", *end])


def stamp(script):
    """A number of the code of the script and its helper, without docstrings at their heads."""
    trees = [ast.parse(path.read_text()) for path in (script, SCRIPTS / "picture.py")]
    return hashlib.sha256("".join(ast.dump(node) for tree in trees for node in tree.body[1:]).encode()).hexdigest()


def make(script):
    """Run a script; its picture goes to build/gallery."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"MPLBACKEND": "Agg", "MBDAE_PICTURES": str(PICTURES)}
    subprocess.run([sys.executable, str(script)], check=True, env=environment, cwd=PICTURES)
    if picture(script) is None:
        raise SystemExit(f"{script.name} has saved no picture")
    (PICTURES / f"{script.stem}.stamp").write_text(stamp(script))


def main(force=False):
    """Run the scripts whose pictures are missing or old."""
    for script in scripts():
        mark = PICTURES / f"{script.stem}.stamp"
        if force or picture(script) is None or not mark.exists() or mark.read_text() != stamp(script):
            begin = time.perf_counter()
            make(script)
            print(f"{script.name}: {time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main(force="--force" in sys.argv[1:])
