"""Records of a run (metrics.jsonl, timing.jsonl, TensorBoard) and its display."""

import contextlib
import sys
import time

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from elu_zoo import errors
from elu_zoo.training.record.records import Display, Records, Timer

ROWS = [{"step": 10 * i, "epoch": i, "train_loss": 1 / i} for i in (1, 2, 3)]


@pytest.fixture
def records(tmp_path):
    """A function that opens the records of `tmp_path`, which the fixture closes."""
    opened = []

    def open_(mark=(0, "")):
        opened.append(Records(tmp_path, mark))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def test_rows_are_on_the_disk_after_each_write(tmp_path, records, rows):
    written = records()
    for count, row in enumerate(ROWS, 1):
        written.write(row)
        assert (tmp_path / "metrics.jsonl").stat().st_size == written.mark()[0]
        assert rows(tmp_path / "metrics.jsonl") == ROWS[:count]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_resume_cuts_metrics_and_keeps_timing(tmp_path, records, rows, count):
    first, marks = records(), [(0, "")]
    for row in ROWS:
        first.write(row)
        first.write_timing({"step": row["step"], "seconds": 1.0})
        marks.append(first.mark())
    first.close()
    for name in "metrics", "timing":
        with (tmp_path / f"{name}.jsonl").open("a") as file:
            file.write('{"step": 2')  # the last row of a killed process
    second = records(marks[count])
    second.write(ROWS[-1])
    if count == 2:
        assert second.mark() == marks[3]
    assert rows(tmp_path / "metrics.jsonl") == [*ROWS[:count], ROWS[-1]]
    assert len(rows(tmp_path / "timing.jsonl")) == 3
    second.close()
    if count < 3:  # TensorBoard drops the later points of the killed process
        board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
        steps = [each.step for each in board.Scalars("train_loss")]
        assert steps == [row["step"] for row in [*ROWS[:count], ROWS[-1]]]


def write_rows(records):
    first = records()
    for row in ROWS:
        first.write(row)
    mark = first.mark()
    first.close()
    return mark


def test_a_run_continues_without_a_deleted_file_of_metrics(tmp_path, records, rows):
    mark = write_rows(records)
    (tmp_path / "metrics.jsonl").unlink()
    records(mark).write({"step": 40, "epoch": 4})
    assert rows(tmp_path / "metrics.jsonl") == [{"step": 40, "epoch": 4}]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: b'{"epoch": 3, "loss": 0.123}\n' * 9,
        lambda content: content.replace(b"0.5", b"0.4"),
    ],
)
def test_cut_changed_and_foreign_rows_are_refused(tmp_path, records, change):
    mark = write_rows(records)
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(change(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(errors.CorruptError, match="changed"):
        records(mark)
    assert path.read_bytes() == before


def test_rows_of_timing_have_the_unix_time(tmp_path, records, rows):
    written = records()
    written.write_start({"step": 0, "strategy": "one"})
    written.write_timing({"step": 10, "seconds": 2.0})
    start, row = rows(tmp_path / "timing.jsonl")
    assert start["strategy"] == "one" and row["seconds"] == 2.0
    assert 1.7e9 < start["unix_time"] <= row["unix_time"]


def test_values_that_are_not_finite_are_not_written(tmp_path, records):
    with pytest.raises(ValueError, match="float"):
        records().write({"step": 1, "train_loss": float("nan")})
    assert (tmp_path / "metrics.jsonl").read_text() == ""


def test_tensorboard_reads_the_scalars(tmp_path, records):
    written = records()
    for row in ROWS:
        written.write(row, learning_rate=0.25)
        written.write_timing({"step": row["step"], "seconds": 5.0})
    written.close()
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert set(board.Tags()["scalars"]) == {"epoch", "train_loss", "learning_rate", "seconds"}
    points = [(e.step, e.value) for e in board.Scalars("train_loss")]
    assert points == [(r["step"], pytest.approx(r["train_loss"])) for r in ROWS]


def test_records_without_a_folder_write_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = Records(None, (0, ""))
    records.write(ROWS[0])
    records.write_timing({"step": 1})
    records.write_start({"step": 1})
    records.close()
    assert list(tmp_path.iterdir()) == []


def test_rates_do_not_count_the_time_between_trainings(monkeypatch):
    times = iter([0.0, 10.0, 12.0, 30.0, 31.0, 40.0])
    monkeypatch.setattr(time, "perf_counter", times.__next__)
    timer = Timer()
    for examples in 50, 40:  # trained within 2 s and 1 s
        timer.start(examples)
        timer.stop()
    assert (timer.rate(), timer.rate(), timer.lap()) == (30.0, None, 40.0)


@pytest.mark.parametrize("terminal", [False, True])
def test_terminals_get_a_bar_and_files_get_lines(monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with contextlib.closing(Display(300_000, 40)) as display:
        display.update(234_300)
        display.row({"step": 234_300, "epoch": 300, "train_loss": 1 / 3})
    lines = capsys.readouterr().err
    assert ("234300/300000" in lines) == terminal
    expected = "step 234300, epoch 300, train_loss 0.33333\n"
    assert (lines == expected) == (not terminal)
