"""Contents of the kit of tools/gpu_queue.py: wheels, and packed data sets.

python tools/gpu_kit.py FOLDER

unpacks the data sets of a folder into the cache of decoded images, without TFDS. The
images are packed as lossless WebP, in files that can be copied in several calls.
"""

import io
import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from PIL import Image

from elu_zoo import files
from elu_zoo.data import cache, load

ROOT = Path(__file__).resolve().parent.parent
WHEELS = "keras", "namex", "optree", "ml_collections"
PART_BYTES = 40_000_000  # of a data set
SIDE = 100  # images along a side of a mosaic


def size(path: Path) -> int:
    """Returns the bytes of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def tree_size() -> int:
    """Returns the bytes of tracked files that exist, and of files git would add."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, check=True).stdout
    paths = {ROOT / name.decode() for name in names.split(b"\0") if name}
    return sum(path.stat().st_size for path in paths if path.is_file())


def download_wheels(folder: Path) -> None:
    """Downloads the wheels that the other machine lacks, for its Python."""
    packages = [f"{name}=={version(name)}" for name in WHEELS]
    platforms = [f"--platform=manylinux_2_{n}_x86_64" for n in (17, 27, 28)]
    options = ["--no-deps", "--only-binary=:all:", "--python-version=3.12"]
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", str(folder)]
    subprocess.run([*pip, *options, *platforms, *packages], check=True)


def pack_data(name: str, folder: Path) -> None:
    """Writes a data set's cached arrays to the files `<name>.zip.<i>` of a folder."""
    load.load(name)
    newest = max((files.home() / "data").glob(f"{name}-[0-9]*.npz"), key=os.path.getmtime)
    entry = newest.stem.rpartition("-")[0]
    arrays = cache.newest(entry)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        rest = {k: v for k, v in arrays.items() if not k.endswith("_images")}
        for key in arrays.keys() - rest.keys():
            images = arrays[key]
            rest[f"{key}_shape"] = np.array(images.shape)
            for start in range(0, len(images), SIDE**2):
                mosaic = _mosaic(images[start : start + SIDE**2])
                content = io.BytesIO()
                options = {"lossless": True, "exact": True, "method": 3, "quality": 50}
                Image.fromarray(mosaic).save(content, "WEBP", **options)
                archive.writestr(f"{key}/{start:06d}", content.getvalue())
        content = io.BytesIO()
        np.savez_compressed(content, entry=entry, **rest)
        archive.writestr("rest.npz", content.getvalue())
    content = packed.getvalue()
    for i, start in reversed([*enumerate(range(0, len(content), PART_BYTES))]):  # part 0 is last
        files.write_bytes(folder / f"{name}.zip.{i}", content[start : start + PART_BYTES])


def _mosaic(images):
    """Returns images as one RGB image of `SIDE` columns."""
    count, height, width, channels = images.shape
    missing = -count % SIDE
    images = np.pad(images, [(0, missing), (0, 0), (0, 0), (0, 0)])
    images = np.repeat(images, 3 // channels, axis=3)
    grid = images.reshape(-1, SIDE, height, width, 3).swapaxes(1, 2)
    return grid.reshape(-1, SIDE * width, 3)


def unpack_data(parts: list[Path]) -> None:
    """Writes the arrays of a packed data set into the cache of decoded images."""
    content = io.BytesIO(b"".join(path.read_bytes() for path in parts))
    with zipfile.ZipFile(content) as archive:
        with np.load(io.BytesIO(archive.read("rest.npz"))) as stored:
            arrays = dict(stored)
        entry = str(arrays.pop("entry"))
        for key in [k for k in arrays if k.endswith("_images_shape")]:
            shape = tuple(arrays.pop(key))
            key = key.removesuffix("_shape")
            tiles = []
            for name in archive.namelist():
                if not name.startswith(f"{key}/"):
                    continue
                mosaic = np.asarray(Image.open(io.BytesIO(archive.read(name))))
                grid = mosaic.reshape(-1, shape[1], SIDE, shape[2], 3).swapaxes(1, 2)
                tiles.append(grid.reshape(-1, shape[1], shape[2], 3))
            arrays[key] = np.concatenate(tiles)[: shape[0], ..., : shape[3]]
    cache.load(entry, parts, lambda: arrays)


def main(folder: Path) -> None:
    for first in folder.glob("*.zip.0"):
        marker = files.home() / f"{first.name.partition('.')[0]}.unpacked"
        if not marker.exists():
            unpack_data(sorted(folder.glob(f"{first.stem}.*"), key=lambda x: int(x.suffix[1:])))
            marker.touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
