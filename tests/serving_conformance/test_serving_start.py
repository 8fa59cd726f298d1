"""If our server cannot start, it prints one line and exits with the expected code."""

import subprocess
import sys

import pytest

pytest.importorskip("served")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        ([], 1, "cannot be served: "),
        (["--max_batch_size=0"], 2, "max_batch_size"),
        (["--drain_seconds=nan"], 2, "drain_seconds must be finite and >= 0"),
    ],
)
def test_failed_start_prints_one_line(tmp_path, flags, code, text):
    (tmp_path / "model" / "1").mkdir(parents=True)
    (tmp_path / "model" / "1" / "saved_model.pb").write_bytes(b"not a graph")
    result = subprocess.run(
        [
            *(sys.executable, "-m", "elu_zoo.bin.serve", "--port=0"),
            *("--rest_api_port=0", f"--model_base_path={tmp_path}", *flags),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = [x for x in result.stderr.splitlines() if x.startswith("error:")]
    assert result.returncode == code
    assert len(lines) == 1 and text in lines[0]
    assert "Traceback" not in result.stderr
