"""Runs the files of tests that the variable TESTS names with pytest, as a script for ``tilescript import --call``.

Launched kernels compute nothing there, so most tests fail after their first launches.
"""

import os
import signal

import pytest

# CPU seconds for a file of tests, and until the next interrupt if a test catches the first one.
SECONDS, AGAIN = 10, 1
OPTIONS = ("--maxfail=20", "--tb=no", "-p", "no:cacheprovider", "-o", "addopts=")


def interrupt(*_):
    raise KeyboardInterrupt


signal.signal(signal.SIGPROF, interrupt)
for test in os.environ["TESTS"].splitlines():
    signal.setitimer(signal.ITIMER_PROF, SECONDS, AGAIN)
    try:
        pytest.main([*OPTIONS, test])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
