import logging
import sys

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from elu_zoo.training.records import Display, Records

ROWS = [{"step": 10 * i, "train_loss": 1 / i} for i in (1, 2, 3)]


@pytest.fixture
def records(tmp_path):
    """Opens the records of one folder, and closes them at the end."""
    opened = []

    def open_(length=0):
        opened.append(Records(tmp_path, length))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def test_rows_are_on_the_disk_at_once(tmp_path, records, rows):
    written = records()
    lengths = []
    for row in ROWS:
        written.write(row)
        lengths.append(written.length())
        assert (tmp_path / "metrics.jsonl").stat().st_size == lengths[-1]
    assert rows(tmp_path / "metrics.jsonl") == ROWS
    assert 0 < lengths[0] < lengths[1] < lengths[2]


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_resume_cuts_metrics_and_keeps_timing(tmp_path, records, rows, kept):
    first, lengths = records(), [0]
    for row in ROWS:
        first.write(row)
        first.write_timing({"step": row["step"], "seconds": 1.0})
        lengths.append(first.length())
    first.close()
    second = records(lengths[kept])
    second.write(ROWS[-1])
    assert rows(tmp_path / "metrics.jsonl") == [*ROWS[:kept], ROWS[-1]]
    assert len(rows(tmp_path / "timing.jsonl")) == 3


def test_half_a_row_of_a_killed_process_is_cut(tmp_path, records, rows):
    first = records()
    first.write(ROWS[0])
    length = first.length()
    first.close()
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2')
    records(length).write(ROWS[1])
    assert rows(tmp_path / "metrics.jsonl") == ROWS[:2]


def test_a_file_that_is_too_short_is_said(tmp_path, records, caplog):
    with caplog.at_level(logging.WARNING, "absl"):
        records(100)
    assert "shorter than the checkpoint" in caplog.text


def test_timing_has_the_time(tmp_path, records, rows):
    written = records()
    written.write_start({"step": 0, "strategy": "one"})
    written.write_timing({"step": 10, "seconds": 2.0})
    start, row = rows(tmp_path / "timing.jsonl")
    assert start["strategy"] == "one" and row["seconds"] == 2.0
    assert 1.7e9 < start["unix_time"] <= row["unix_time"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_has_no_nan(tmp_path, records, value):
    with pytest.raises(ValueError):
        records().write({"step": 1, "train_loss": value})
    assert (tmp_path / "metrics.jsonl").read_text() == ""


def test_tensorboard_reads_the_scalars(tmp_path, records):
    written = records()
    for row in ROWS:
        written.write(row)
        written.write_timing({"step": row["step"], "seconds": 5.0})
    written.close()
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert set(board.Tags()["scalars"]) == {"train_loss", "seconds"}
    found = [(e.step, e.value) for e in board.Scalars("train_loss")]
    assert found == [(r["step"], pytest.approx(r["train_loss"])) for r in ROWS]


def test_no_folder_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = Records(None, 0)
    records.write(ROWS[0])
    records.write_timing({"step": 1})
    records.write_start({"step": 1})
    records.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("terminal", [False, True])
def test_a_bar_on_a_terminal_and_plain_lines_elsewhere(monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with Display(300_000, 40) as display:
        display.update(234_300)
        display.row({"step": 234_300, "epoch": 300, "train_loss": 1 / 3})
    lines = capsys.readouterr().err
    assert ("234300/300000" in lines) == terminal
    plain = "step 234300, epoch 300, train_loss 0.33333\n"
    assert (lines == plain) == (not terminal)
