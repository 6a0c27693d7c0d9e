"""Prototypes as small images at their places on the map, in a PNG and an SVG file.

The area of an image is its weight's share of the page, as far as it can be read; the scale is the largest at which
few images cover each other, and what is covered is covered by the smaller. A map has no up: it is turned so that it
is widest from left to right, and the page is as high as it needs. The border tells the class: ten colours
that colour-blind eyes keep apart (Paul Tol's "muted"), and from the eleventh class on the same with a double line.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from PIL import Image, ImageDraw, ImageFont

COLORS = "#332288 #DDCC77 #117733 #CC6677 #88CCEE #882255 #44AA99 #999933 #AA4499 #777777".split()
WIDTH, LEGEND, MARGIN, LINE = 1500, 190, 24, 40  # pixels: the map, the legend to its right, the legend's lines
SMALLEST, LARGEST = 36, 260  # side of an image
BORDER = 4
MAX_COVER, MAX_OVERLAP = 0.3, 0.05  # shares: of a square page by images, of the images by each other


@dataclass
class Tile:
    place: np.ndarray
    weight: float
    picture: np.ndarray  # grey, in [0, 1]
    label: int


def boxes(tiles):
    """Left, top and side of each tile, at the largest scale that stays readable."""
    places = turned(np.array([tile.place for tile in tiles], float)[:, :2])
    roots = np.sqrt([tile.weight for tile in tiles])
    smallest, largest = 0.0, WIDTH * np.sqrt(MAX_COVER)
    for _ in range(30):
        scale = (smallest + largest) / 2
        found = laid_out(places, np.clip(roots * scale, SMALLEST, LARGEST))
        smallest, largest = (scale, largest) if overlap(found) <= MAX_OVERLAP else (smallest, scale)
    return laid_out(places, np.clip(roots * smallest, SMALLEST, LARGEST))


def turned(places):
    """The map, its widest direction first."""
    places = places - places.mean(0)
    return places @ np.linalg.svd(places, full_matrices=False)[2].T


def laid_out(places, sides):
    """The map as wide as the page, with one scale for both axes and all of every tile inside."""
    room = WIDTH - 2 * MARGIN - sides.max()
    extent = max(np.ptp(places, axis=0).max(), 1e-12)
    corners = (places - places.min(0)) * room / extent - sides[:, None] / 2
    return np.column_stack([corners - corners.min(0) + MARGIN, sides])


def overlap(found):
    """What tiles cover of each other, over their area."""
    low, high = found[:, :2], found[:, :2] + found[:, 2:]
    common = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    areas = np.prod(np.maximum(common, 0), axis=2)
    return (areas.sum() / 2 - np.trace(areas) / 2) / np.trace(areas)


def framed(tile, side):
    """The image within its border."""
    side = round(side)
    frame = Image.new("RGB", (side, side), COLORS[tile.label % len(COLORS)])
    if tile.label >= len(COLORS):
        frame.paste("white", (BORDER // 2, BORDER // 2, side - BORDER // 2, side - BORDER // 2))
        frame.paste(COLORS[tile.label % len(COLORS)], (BORDER, BORDER, side - BORDER, side - BORDER))
    width = BORDER if tile.label < len(COLORS) else BORDER + BORDER // 2
    grey = Image.fromarray(np.uint8(np.round(255 * tile.picture)))
    frame.paste(grey.resize((side - 2 * width,) * 2, Image.Resampling.BICUBIC).convert("RGB"), (width, width))
    return frame


def legend(tiles, names):
    """Where the sample of each class is, its name, and how much of the weight it holds."""
    labels = sorted({tile.label for tile in tiles})
    for row, label in enumerate(labels):
        share = sum(tile.weight for tile in tiles if tile.label == label)
        swatch = framed(Tile(np.zeros(2), 0.0, np.ones((1, 1)), label), 26)
        yield MARGIN + LINE * row, swatch, f"{names[label]} · {100 * share:.0f}%"


def draw(tiles, names, path):
    """Write `path` with .png and .svg appended; returns both."""
    tiles = sorted(tiles, key=lambda tile: -tile.weight)  # the big below
    found = boxes(tiles)
    pieces = [(left, top, framed(tile, side)) for tile, (left, top, side) in zip(tiles, found, strict=True)]
    entries = list(legend(tiles, names))
    width, height = WIDTH + LEGEND, round(max((found[:, 1] + found[:, 2]).max() + MARGIN, MARGIN + LINE * len(entries)))
    page = Image.new("RGB", (width, height), "white")
    for left, top, image in pieces:
        page.paste(image, (round(left), round(top)))
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(20)
    for top, swatch, text in entries:
        page.paste(swatch, (WIDTH, top))
        pen.text((WIDTH + 36, top + 13), text, fill="#222222", font=font, anchor="lm")
    png, svg = (path.with_name(path.name + end) for end in (".png", ".svg"))
    page.save(png, optimize=True)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">']
    parts.append('<rect width="100%" height="100%" fill="white"/>')
    parts += [inlined(*piece) for piece in pieces]
    for top, swatch, text in entries:
        parts.append(inlined(WIDTH, top, swatch))
        parts.append(f'<text x="{WIDTH + 36}" y="{top + 20}" font-size="20" fill="#222222">{escape(text)}</text>')
    svg.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")
    return png, svg


def inlined(left, top, image):
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    data = base64.b64encode(stream.getvalue()).decode()
    size = f'width="{image.width}" height="{image.height}"'
    return f'<image x="{left:.1f}" y="{top:.1f}" {size} href="data:image/png;base64,{data}"/>'
