"""The optimiser's process: reads questions, writes answers, and ends with its input."""

from __future__ import annotations

import contextlib
import os
import resource
from typing import BinaryIO

from tuner.outer.answer import answer
from tuner.outer.messages import LONGEST, Answer, NonsenseError, Question, line, parse

NICENESS = 19

DATA_BYTES = 512 * 1024 * 1024
"""Limit of the process's data; of address space BLAS reserves much more than it uses."""


def limit() -> None:
    """Step back behind everybody else, and bound the memory; where that is forbidden, go on without."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    for what, most in ((resource.RLIMIT_DATA, DATA_BYTES), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the input ends; a question that is none ends it too, as daemon and child disagree."""
    _say(answers, Answer(0))
    while text := questions.readline(LONGEST + 1):
        try:
            asked = parse(text, Question)
            found = Answer(asked.number, answer(asked.log, asked.context, seed=asked.seed))
        except (ImportError, MemoryError, NonsenseError, ValueError) as error:
            _say(answers, Answer(0, error=f"{type(error).__name__}: {error}"[:500]))
            return
        _say(answers, found)


def _say(answers: BinaryIO, message: Answer) -> None:
    answers.write(line(message))
    answers.flush()
