#!/usr/bin/env python3
"""Makes the data of `gromap demo`: 200 images of each class of Fashion-MNIST's test set, the same ones every time.

The file is gzip over 2,000 images of 28×28 bytes, row after row, then 2,000 bytes of labels. The command prints the
CRC-32 of what is inside, which a test of the demo holds fast.
"""

import argparse
import gzip
import random
import struct
import zlib
from pathlib import Path

CLASSES, PER_CLASS, SEED = 10, 200, 0
OUTPUT = Path(__file__).resolve().parent.parent / "crates/gromap-cli/data/fashion-mnist-2000.gz"


def read_idx(path, dimensions):
    """The sizes and the bytes of a gzipped IDX file of bytes."""
    data = gzip.decompress(path.read_bytes())
    header = 4 + 4 * dimensions
    magic, *sizes = struct.unpack(f">{1 + dimensions}I", data[:header])
    if magic != 0x0800 + dimensions:
        raise SystemExit(f"{path}: not an IDX file of bytes in {dimensions} dimensions")
    return sizes, data[header:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with t10k-images-idx3-ubyte.gz and its labels")
    folder = parser.parse_args().data

    (count, height, width), pixels = read_idx(folder / "t10k-images-idx3-ubyte.gz", 3)
    _, labels = read_idx(folder / "t10k-labels-idx1-ubyte.gz", 1)
    size = height * width
    choose = random.Random(SEED)
    chosen = []
    for label in range(CLASSES):
        chosen += choose.sample([i for i in range(count) if labels[i] == label], PER_CLASS)
    # In the order of the test set, so that nothing can be read off the position.
    chosen.sort()

    content = b"".join(pixels[i * size : (i + 1) * size] for i in chosen) + bytes(labels[i] for i in chosen)
    # No time stamp: the same input gives the same file.
    OUTPUT.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))
    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size} bytes, CRC-32 of the content {zlib.crc32(content):#010x}")


if __name__ == "__main__":
    main()
