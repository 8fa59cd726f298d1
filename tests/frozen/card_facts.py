"""Facts of the model cards: each number of each card, to compare after a change.

    python tests/frozen/card_facts.py > facts.txt
    python tests/frozen/card_facts.py --lost tests/frozen/card_facts.txt

The second command prints the facts of a file that the cards no longer have; there should
be none. A number is compared as a float, so that another way to print it is no loss.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

import elu_zoo

NUMBER = re.compile(r"(?<![\w.-])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w-])")


def facts() -> list[str]:
    """Returns `tag number` for each number of each published card, sorted."""
    found = set()
    for tag in elu_zoo.list_weights():
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            elu_zoo.model_card(tag)
        for number in NUMBER.findall(printed.getvalue().replace(tag, "")):
            found.add(f"{tag} {float(number.replace(',', '')):.12g}")
    return sorted(found)


def main() -> None:
    present = facts()
    if sys.argv[1:2] == ["--lost"]:
        before = Path(sys.argv[2]).read_text().splitlines()
        lost = sorted(set(before) - set(present))
        print("\n".join(lost) or f"No fact of {len(before)} is lost.")
        sys.exit(bool(lost))
    print("\n".join(present))


if __name__ == "__main__":
    main()
