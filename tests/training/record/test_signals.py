"""`stop_requested`: SIGTERM and SIGINT ask a run to stop."""

import signal
import threading
import types

import pytest

from elu_zoo.training.record.signals import Stop, Stopped, stop_requested

NUMBERS = (signal.SIGTERM, signal.SIGINT)


def handlers():
    return [signal.getsignal(number) for number in NUMBERS]


@pytest.mark.parametrize("number", NUMBERS)
def test_stop_returns_the_first_signal(number):
    before = handlers()
    with stop_requested() as stop:
        assert stop() == 0
        assert handlers() != before
        signal.raise_signal(number)
        assert stop() == stop() == number
    assert handlers() == before


@pytest.fixture
def interruptible():
    """Sets Python's handler of SIGINT, which shells let background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_second_signal_interrupts_at_once(interruptible):
    with stop_requested() as stop:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert stop() == signal.SIGTERM


def test_handlers_are_restored_after_an_error():
    before = handlers()
    with pytest.raises(RuntimeError), stop_requested():
        raise RuntimeError
    assert handlers() == before


def test_other_threads_install_no_handlers():
    before, observations = handlers(), []

    def body():
        with stop_requested() as stop:
            observations.extend([stop(), handlers() == before])

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert observations == [0, True]


def test_only_a_single_machine_stops_within_an_evaluation():
    with pytest.raises(Stopped):
        Stop(lambda: 15, types.SimpleNamespace(count=1)).check()
    assert Stop(lambda: 15, types.SimpleNamespace(count=2)).check is None
