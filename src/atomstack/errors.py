"""What can go wrong, with the exit status on the class.

Statuses are one contract for every command: 0 holds, 1 findings at or above `--fail-on`, 2 usage,
3 the check itself could not be made. An exception that is none of these is a bug of ours, and 3 too.
"""

from typing import ClassVar

EXIT_HOLDS = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_NOT_CHECKED = 3


class AtomstackError(Exception):
    """An error for a person: says what was expected and, where there is one, the command that mends it."""

    exit_code: ClassVar[int] = EXIT_NOT_CHECKED


class UsageError(AtomstackError):
    """The command line, or a file a person wrote for us, asks for something that is not."""

    exit_code = EXIT_USAGE


class CannotCheckError(AtomstackError):
    """The check could not be made: unreadable input, no network, nothing found to check."""


class UnreadableError(CannotCheckError):
    """One file cannot be read; a check may go on without it and says so."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class StaleError(AtomstackError):
    """A generated file does not match what it is generated from."""

    exit_code = EXIT_FINDINGS
