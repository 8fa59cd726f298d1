"""Table of what every config sets and its arguments change: config_table.json.

A config's row lacks the fields with their neutral values, so that a new field changes no row.

    python tests/configs/config_table.py

writes the file again, after a change of a config. Read the difference: each changed line
is a changed experiment.
"""

import json
from pathlib import Path
from typing import Any

from fake_runs import flat, get_config

from elu_zoo.bin.config import installed
from elu_zoo.training.fields import counted

PATH = Path(__file__).with_suffix(".json")
TABLE: dict[str, dict[str, Any]] = json.loads(PATH.read_text())
ABSENT = "(absent)"


def changed_fields(call: str) -> dict[str, Any]:
    """Returns the fields of `<config>:<arguments>` that differ without the arguments."""
    name, _, arguments = call.partition(":")
    if not arguments:
        return counted(json.loads(get_config(name).to_json_best_effort()))
    fields, base = flat(get_config(name, arguments)), flat(get_config(name))
    changed = {key: value for key, value in fields.items() if base.get(key, ABSENT) != value}
    return changed | dict.fromkeys(base.keys() - fields.keys(), ABSENT)


if __name__ == "__main__":
    rows = []
    for call in dict.fromkeys([*TABLE, *installed()]):
        rows.append(f"{json.dumps(call)}: {json.dumps(changed_fields(call), sort_keys=True)}")
    PATH.write_text("{\n" + ",\n".join(rows) + "\n}\n")
