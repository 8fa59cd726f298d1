"""Encoded images, folders of images, and data sets of tensorflow-datasets."""

import hashlib
import io
import struct
import zlib

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from PIL import Image

# A JPEG of 16 x 12 pixels with one of the inks in each half.
CMYK_INKS = (200, 40, 90, 30), (10, 180, 60, 70)
_image, _content = Image.new("CMYK", (16, 12), CMYK_INKS[0]), io.BytesIO()
_image.paste(CMYK_INKS[1], (8, 0, 16, 12))
_image.save(_content, "JPEG")
CMYK = _content.getvalue()


def noise(height, width, seed=0, channels=3):
    shape = height, width, channels
    return np.random.default_rng(seed).integers(0, 256, shape, "uint8")


def jpeg(pixels):
    return tf.io.encode_jpeg(pixels, quality=95).numpy()


def png(pixels):
    return tf.io.encode_png(pixels).numpy()


def on_white(pixels):
    """Returns pixels blended with white; their last channel is the opacity."""
    colours, opacity = pixels[..., :-1] / 1.0, pixels[..., -1:] / 255
    return np.round(colours * opacity + 255 * (1 - opacity)).astype("uint8")


def png_of(height, width, color_type, *chunks):
    """Returns a PNG of 8 bits per channel, whose header may contradict its chunks."""
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n"
    for name, data in ((b"IHDR", header), *chunks, (b"IEND", b"")):
        checksum = struct.pack(">I", zlib.crc32(name + data))
        content += struct.pack(">I", len(data)) + name + data + checksum
    return content


def jpeg_of(height, width):
    """Returns a JPEG of 16 x 16 pixels whose header states `height` and `width`."""
    content = jpeg(noise(16, 16))
    offset = content.index(b"\xff\xc0") + 5
    return content[:offset] + struct.pack(">HH", height, width) + content[offset + 4 :]


def with_exif(encoded, orientation, order="<", others=0):
    """Returns a JPEG with an EXIF segment: `others` tags, then the orientation unless None."""
    exif = Image.Exif()
    exif.endian = order
    exif.update(dict.fromkeys(range(0x80, 0x80 + others), 99))
    if orientation is not None:
        exif[0x0112] = orientation
    content = exif.tobytes()
    segment = b"\xff\xe1" + struct.pack(">H", len(content) + 2) + content
    end = 4 + struct.unpack(">H", encoded[4:6])[0]  # end of the JFIF segment
    return encoded[:end] + segment + encoded[end:]


def fill(root, contents):
    """Writes each content to its path in the folder `root`, and returns the folder."""
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def classes(counts, side=16, seed=0):
    """Returns square PNGs of different noise, by their paths `<class>/<number>.png`."""
    names = [f"{name}/{i:02}.png" for name, n in counts.items() for i in range(n)]
    return {name: png(noise(side, side, seed + i)) for i, name in enumerate(names)}


def write_tfds(folder, splits, features, file_format="tfrecord", name="things"):
    """Writes the examples (dicts) of splits in the format of tensorflow-datasets."""
    identity = tfds.core.dataset_info.DatasetIdentity(
        name=name, version=tfds.core.Version("1.0.0"), data_dir=str(folder), module_name="tests"
    )
    info = tfds.core.DatasetInfo(
        builder=identity, description="", features=tfds.features.FeaturesDict(features)
    )
    folder.mkdir(parents=True)
    writer = tfds.core.SequentialWriter(info, 20, file_format=file_format)
    writer.initialize_splits(list(splits))
    for split, examples in splits.items():
        writer.add_examples({split: examples})
    writer.close_all()
    return folder


def write_imagenet(folder, splits, names, **options):
    """Writes `{split: [(file name, image, label)]}` in the format of imagenet2012."""
    features = {
        "file_name": tfds.features.Text(),
        "image": tfds.features.Image(encoding_format="jpeg"),
        "label": tfds.features.ClassLabel(names=names),
    }
    examples = {
        split: [dict(zip(features, values, strict=True)) for values in rows]
        for split, rows in splits.items()
    }
    return write_tfds(folder, examples, features, **options)


def rows(*splits):
    """Returns the pairs (label, bytes of the pixels) of all examples, sorted."""
    return sorted(
        (int(label), image.tobytes())
        for split in splits
        for image, label in zip(split.images, split.labels, strict=True)
    )


def uniform(image):
    """Returns the hash of an image as a number in [0, 1)."""
    digest = hashlib.sha256(image.tobytes()).hexdigest()
    return int(digest[:16], 16) / 16**16
