"""Records of observed runs that were stopped or killed, and then resumed."""

import contextlib
import signal

import pytest
from observed_runs import OBSERVE, get_config, random_data, read_records, train

from elu_zoo import errors
from elu_zoo.evaluation import evaluator
from elu_zoo.training.record import recorder


@pytest.fixture(scope="module", autouse=True)
def random_images():
    with random_data():
        yield


@pytest.fixture(scope="module")
def unstopped(tmp_path_factory):
    """Folder and entry of an observed run that is not stopped."""
    workdir = tmp_path_factory.mktemp("unstopped") / "run"
    return workdir, train(get_config(), workdir, OBSERVE)


@pytest.fixture
def check_equal(unstopped):
    """A function that resumes a stopped run and compares it with `unstopped`."""

    def check(workdir):
        resumed = train(get_config(), workdir, OBSERVE)
        expected_workdir, expected = unstopped
        assert resumed["sha256"] == expected["sha256"]
        assert read_records(workdir) == read_records(expected_workdir)

    return check


# Numbers of iterations from the start, or from a stop, to the next stop.
STOPS = {
    "when a row of measures is due": [5],
    "at the end of an epoch, and again": [6, 3],
    "after the last iteration": [18],
}


@pytest.mark.parametrize("moment", STOPS)
def test_records_of_a_stopped_run_equal_those_of_a_run_without_stops(
    tmp_path, stop_after, check_equal, moment
):
    for iterations in STOPS[moment]:
        stop_after(iterations, lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(errors.Interrupted):
            train(get_config(), tmp_path, OBSERVE, steps_per_call=1)
    assert recorder.read_losses(tmp_path).shape == (sum(STOPS[moment]),)
    check_equal(tmp_path)


class Killed(Exception):
    pass


def die():
    raise Killed


def test_records_after_the_restored_checkpoint_of_a_killed_run_are_cut(
    tmp_path, stop_after, check_equal
):
    stop_after(14, die)
    with pytest.raises(Killed):
        train(get_config(), tmp_path, OBSERVE, steps_per_call=1)
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-000000007.npz"]
    assert [row["step"] for row in recorder.read_rows(tmp_path)] == [5, 10]
    assert recorder.read_losses(tmp_path).shape == (12,)  # read one call late
    with (tmp_path / "losses.float32").open("ab") as file:
        file.write(b"\x00\x01")
    with (tmp_path / "test.jsonl").open("a") as file:
        file.write('{"step": 1')

    stop_after(1, die)
    with pytest.raises(Killed):
        train(get_config(), tmp_path, OBSERVE, steps_per_call=1)
    assert [row["step"] for row in recorder.read_rows(tmp_path)] == [5]
    assert recorder.read_losses(tmp_path).shape == (7,)
    assert len(read_records(tmp_path)) == 3 + 3 + 2  # including the files of epoch 2
    check_equal(tmp_path)


@pytest.fixture
def signal_at(monkeypatch):
    """A function that plans SIGINT for a batch of evaluations, counted from 1.

    A batch has ten images.
    """
    monkeypatch.setattr(evaluator, "_BATCH_SIZE", 10)
    original = evaluator.inference

    @contextlib.contextmanager
    def plan(batch):
        done = [0]

        def counted(model):
            forward = original(model)

            def call(images):
                done[0] += 1
                if done[0] == batch:
                    signal.raise_signal(signal.SIGINT)
                return forward(images)

            return call

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(evaluator, "inference", counted)
            yield
        assert done[0] == batch  # The run stopped before the next batch.

    return plan


# The measures of a row take seven batches: four of test images, and three of
# training images. `reached` is the iteration at which the run stops.
@pytest.mark.parametrize(
    ("batch", "reached", "tested"),
    [(6, 5, []), (27, 18, [5, 10, 15])],
    ids=["measured images", "the last row"],
)
def test_a_run_stopped_during_a_measurement_has_equal_records_after_resuming(
    tmp_path, signal_at, check_equal, batch, reached, tested
):
    with (
        signal_at(batch),
        pytest.raises(errors.Interrupted, match=f"SIGINT after iteration {reached} of"),
    ):
        train(get_config(), tmp_path, OBSERVE)
    assert (tmp_path / "checkpoints" / f"step-{reached:09d}.npz").is_file()
    assert [row["step"] for row in recorder.read_rows(tmp_path)] == tested
    check_equal(tmp_path)
