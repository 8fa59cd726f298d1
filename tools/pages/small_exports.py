"""Table of quantized exports, in elu_zoo/export/README.md."""

from collections.abc import Sequence

from elu_zoo import results

_HEAD = """\
| weights | kind | test error | change | network | whitening | time an image |
|---|---|---|---|---|---|---|"""


def table(rows: Sequence[results.Row]) -> str:
    """Returns the rows of small_exports.csv in Markdown."""
    lines = [_HEAD]
    for row in rows:
        exact = _float32(rows, row["weights"])
        change = float(row["error_percent"]) - float(exact["error_percent"])
        whitening = int(row["whitening_bytes"])
        ratio, low, high = (float(row[key]) for key in ("ratio", "ratio_low", "ratio_high"))
        is_exact = row is exact
        cells = [
            f"`{row['weights']}`",
            row["quantization"],
            f"{float(row['error_percent']):.2f} %",
            "" if is_exact else f"{change:+.2f}",
            _megabytes(int(row["network_bytes"])),
            _megabytes(whitening) if whitening else "",
            "1" if is_exact else f"{ratio:.2f} ({low:.2f} to {high:.2f})",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _float32(rows: Sequence[results.Row], weights: str) -> results.Row:
    return next(
        row for row in rows if (row["weights"], row["quantization"]) == (weights, "float32")
    )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.2f} MB"
