"""What examples are whose images stay encoded, and what reads them."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Example(NamedTuple):
    """An image as it lies on the disk.

    Attributes:
        name: of its file, for people.
        image: the file's content.
        label: its class.
    """

    name: str
    image: bytes
    label: int


class Examples(Protocol):
    """Examples by position."""

    def __len__(self) -> int:
        """Returns how many there are."""

    def read(self, positions: Sequence[int]) -> list[Example]:
        """Returns these examples.

        Raises:
            DataError: one of them cannot be read.
        """
