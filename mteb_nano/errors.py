"""The one error class that is meant for people."""


class UserError(ValueError):
    """Input that cannot be used: says what was expected, what came, where, and how to fix it.

    Every command of this project prints the message without a traceback and exits with status 2.
    """
