"""Bad weights at the front door: refused in words, and nothing is left behind."""

import os
import pickle
import zipfile

import h5py
import numpy as np
import published_weights as made_weights
import pytest
from spoiling import beside, check_refused

import elu_zoo
from elu_zoo import errors
from elu_zoo.weights.hdf5 import weight_file

MODEL = made_weights.MODEL
UNVERIFIED = {"width": made_weights.WIDTH, "allow_unverified": True}
NOT_FOUND, USAGE, CORRUPT = errors.NotFoundError, errors.UsageError, errors.CorruptError
RESOURCE = errors.ResourceError


def remove(path):
    path.unlink()
    beside(path).unlink()


# What a test does with good weights, and the path that it then names.


def misspelt(path):
    return path.with_name(path.name.replace("elu-", "elo-"))


def without_file(path):
    path.unlink()


def folder(path):
    remove(path)
    path.mkdir()


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def device(path):
    remove(path)
    path.symlink_to("/dev/zero")


def truncated(path):
    os.truncate(path, 1000)


def empty(path):
    path.write_bytes(b"")


def zeroed(path):
    path.write_bytes(bytes(path.stat().st_size))


def huge(path):
    os.truncate(path, 1 << 40)


def one_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def unhashed(path):
    beside(path).unlink()


def rewritten(change):
    """Changes the tree of the file, for which nobody vouches any more."""

    def forge(path):
        beside(path).unlink()
        with h5py.File(path, "a") as file:
            change(file)

    return forge


def replaced(value, where="layers/dense_2/vars/1"):
    def change(file):
        del file[where]
        file[where] = value

    return rewritten(change)


def bomb(file):
    del file["layers/dense_2/vars/1"]
    file.create_dataset("layers/dense_2/vars/1", (2**31, 2**31), "f2", chunks=(1, 1))


def virtual(file):
    del file["layers/dense_2/vars/1"]
    whole = h5py.VirtualLayout((13,), "f2")
    whole[:] = h5py.VirtualSource("/etc/passwd", "x", (13,))
    file.create_virtual_dataset("layers/dense_2/vars/1", whole)


def stored_elsewhere(file):
    del file["layers/dense_2/vars/1"]
    file.create_dataset(
        "layers/dense_2/vars/1", (13,), "f2", external=[("/etc/passwd", 0, 26)]
    )


def other_network(path):
    beside(path).unlink()
    path.write_bytes(weight_file.write(elu_zoo.get_model(MODEL, width=0.2)))


def link_out(path):
    target = path.parent.parent / path.name
    path.rename(target)
    path.symlink_to(target)


def named(suffix, content):
    def change(path):
        other = path.with_name("net" + suffix)
        other.write_bytes(content)
        return other

    return change


def zip_bomb(path):
    beside(path).unlink()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.weights.h5", bytes(1 << 24))


def pickled(path):
    beside(path).unlink()
    path.write_bytes(pickle.dumps(os.system))


ROWS = {
    "missing": (misspelt, {}, NOT_FOUND, "no file .*elo-.*Did you mean .*elu-.*Weig"),
    "an entry without its file": (without_file, {}, NOT_FOUND, "no file .*run"),
    "nobody's home": (lambda path: "~nobody_/x.weights.h5", {}, RESOURCE, "home dir"),
    "a long name": (lambda path: f"/{'x' * 999}.weights.h5", {}, RESOURCE, "too long"),
    "a zero byte": (lambda path: "/x\0.weights.h5", {}, NOT_FOUND, "There is no file"),
    "folder": (folder, {}, USAGE, "is a folder with 0 weight files; expected the fol"),
    "named pipe": (fifo, {}, CORRUPT, "not a regular file: it is a named pipe"),
    "device": (device, UNVERIFIED, CORRUPT, "not a regular file: it is a device"),
    "truncated": (truncated, {}, CORRUPT, r"it is 1000 bytes, its entry says \d+. Del"),
    "empty": (empty, {}, CORRUPT, r"damaged.*is 0 bytes, its entry says \d+. Del"),
    "zeroed": (zeroed, {}, CORRUPT, "damaged or another file: its SHA-256 is"),
    "a terabyte": (huge, {}, CORRUPT, r"is 1099511627776 bytes; .*at most \d+"),
    "one bit": (one_bit, {}, CORRUPT, "is [0-9a-f]{64}, expected [0-9a-f]{64} "),
    "another network": (
        other_network, UNVERIFIED, CORRUPT,
        r"network. dense1: file \[\(784, 26\).*model \[\(784, 13.*dense5: [^;]*$",
    ),
    "another activation in the request": (
        None, {"activation": "relu"}, USAGE,
        "trained with activation={'name': 'elu'.*Received: activation={'name': 'relu'}",
    ),
    "another alpha in the request": (
        None, {"activation": {"name": "elu", "alpha": 0.5}}, USAGE,
        "'alpha': 1.0}. Received: .*'alpha': 0.5}",
    ),
    "NaN": (
        replaced(np.full(13, np.nan, "f2")), UNVERIFIED, CORRUPT,
        "weight 1 of layer dense3 is not finite",
    ),
    "Inf": (
        replaced(np.full(13, np.inf, "f4")), UNVERIFIED, CORRUPT,
        "weight 1 of layer dense3 is not finite",
    ),
    "double precision": (
        replaced(np.zeros(13)), UNVERIFIED, CORRUPT, "is float64; float16 or float32"
    ),
    "integers": (
        replaced(np.zeros(13, int)), UNVERIFIED, CORRUPT, "is int64; float16 or float32"
    ),
    "external link": (
        replaced(h5py.ExternalLink("/etc/passwd", "/x")), UNVERIFIED, CORRUPT,
        "unsafe: /layers/dense_2/vars/1 is a link",
    ),
    "soft link": (
        replaced(h5py.SoftLink("/layers/dense/vars/1")), UNVERIFIED, CORRUPT,
        "unsafe: /layers/dense_2/vars/1 is a link",
    ),
    "virtual data set": (
        rewritten(virtual), UNVERIFIED, CORRUPT, "unsafe: .* from another file"
    ),
    "external storage": (
        rewritten(stored_elsewhere), UNVERIFIED, CORRUPT, "unsafe: .* from another file"
    ),
    "shape bomb": (rewritten(bomb), UNVERIFIED, CORRUPT, "unsafe: .*stored in chunks"),
    "a .keras file": (
        named(".keras", b"PK"), UNVERIFIED, CORRUPT,
        "does not end in .weights.h5. .keras files are not read, only .*save_weights",
    ),
    "a .pt file": (
        named(".pt", b"PK"), UNVERIFIED, CORRUPT, ".pt files are not read, only .*weig"
    ),
    "a pickle": (pickled, UNVERIFIED, CORRUPT, "but a pickle. Expected is .*weights"),
    "a ZIP bomb": (zip_bomb, UNVERIFIED, CORRUPT, "but a ZIP archive.*Expected is a"),
    "link out of the folder": (link_out, {}, CORRUPT, "is a link out of its folder"),
    "a name with a folder": (lambda path: "../mnist", {}, NOT_FOUND, "file ../mnist"),
    "no entry": (unhashed, {}, CORRUPT, "no entry .* beside it.*allow_unverified=True"),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_bad_weights(run, home, monkeypatch, row):
    check_refused(run, home, monkeypatch, ROWS[row])


def test_the_good_weights_are_taken(run, made_run):
    """Or else the rows above would say nothing."""
    found = elu_zoo.get_model(MODEL, weights=run)
    for value, exact in zip(
        found.get_weights(), made_run[2].get_weights(), strict=True
    ):
        np.testing.assert_array_equal(value, exact.astype(np.float16))


def test_weights_of_another_activation_under_a_false_name(run):
    """The shapes are the same: only the hash tells."""
    run.write_bytes(made_weights.make(activation="relu")[1])
    with pytest.raises(errors.CorruptError, match="damaged or another file"):
        elu_zoo.get_model(MODEL, weights=run)
