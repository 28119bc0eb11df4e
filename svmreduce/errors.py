"""Errors that are the user's to mend: one line, no traceback, exit code 2."""


class InputError(ValueError):
    """Bad input: the message says what is wrong, where, and what to do about it."""
