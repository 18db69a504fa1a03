"""Small copies of pictures for the pages."""

import io
from pathlib import Path

from PIL import Image

WIDTHS, COLOURS, LIMIT = (1000, 850, 700, 600), (64, 32, 16), 60_000  # columns, colours, bytes


def small_copy(source: Path, target: Path) -> None:
    """Write a copy with fewer pixels and colours, of at most 60 kB if that is possible."""
    with Image.open(source) as image:
        whole = image.convert("RGB")
    for width in WIDTHS:
        scaled = whole.resize((min(width, whole.width), round(whole.height * min(width, whole.width) / whole.width)), Image.LANCZOS)
        for colours in COLOURS[:2] if width > WIDTHS[-1] else COLOURS:
            data = _packed(scaled, colours)
            if len(data) <= LIMIT:
                break
        if len(data) <= LIMIT:
            break
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def _packed(image: Image.Image, colours: int) -> bytes:
    stream = io.BytesIO()
    # by an octree: other methods lose colours of thin curves
    image.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(stream, "PNG", optimize=True)
    return stream.getvalue()
