"""stderr of a command, with and without --debug."""

import re

import pytest

PREFIX = r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ "
NOISE = re.compile(
    rf"{PREFIX}|\.(cc|py|h):\d+\]|^WARNING|oneDNN|cuda|CUDA|cuInit|retracing|\{{", re.M
)
TRAIN = "train", "--config=quickstart:smoke=True"


@pytest.mark.slow
def test_training_prints_sentences_only(process):
    result = process(*TRAIN)
    assert result.code == 0 and not NOISE.search(result.out + result.err), result
    rows = result.err.splitlines()
    assert [row.partition(",")[0] for row in rows] == ["step 10", "step 20"]
    assert [x.split()[0] for x in result.out.splitlines()] == ["test", "weights"]


@pytest.mark.slow
def test_debug_prints_all_messages(process, trained):
    result = process(*TRAIN, "--workdir", trained, "--debug")
    assert result.code == 0
    assert re.search(rf"{PREFIX}resuming\.py:\d+\] .* is finished", result.err, re.M)
    assert re.search(r"^[IWE]0000 ", result.err, re.M)  # a line of TensorFlow's C++ code


@pytest.mark.slow
@pytest.mark.nightly
def test_nested_processes_print_nothing(process):
    """The process of each part starts further processes."""
    parts = "--parts=serving", "--models=mnist_mlp_8x128", "--rounds=1"
    result = process("benchmark", *parts)
    assert (result.code, result.err) == (0, ""), result.err
