"""Errors that are the user's to mend: one line, no traceback, exit code 2."""


class InputError(ValueError):
    """Bad input: the message says what is wrong, where, and what to do about it."""


class DataMissing(InputError):
    """A data set of the catalogue is neither here nor to be had."""
