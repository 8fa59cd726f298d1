"""The memory that a process can use is read from the system and the container."""

import pytest

from elu_zoo.data import shapes


@pytest.mark.parametrize(
    ("meminfo", "container", "expected"),  # two files; number of bytes
    [
        ("MemFree: 1 kB\nMemAvailable:   300 kB\n", "max\n", 300 * 1024),
        ("MemAvailable: 300 kB\n", "2048\n", 2048),
        ("MemAvailable: 300 kB\n", "999999999\n", 300 * 1024),
        ("MemFree: 1 kB\n", None, 2**33),
        (None, None, 2**33),
    ],
)
def test_available_memory_in_bytes(tmp_path, monkeypatch, meminfo, container, expected):
    for name, text in (("_MEMINFO", meminfo), ("_CONTAINER_LIMIT", container)):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        monkeypatch.setattr(shapes, name, path)
    assert shapes.available_memory() == expected
