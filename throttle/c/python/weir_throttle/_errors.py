"""The exceptions of the package, from the codes of the library."""

from . import _library as lib


class Error(Exception):
    """weir cannot do what it was asked, for instance because the database does not answer."""


class Refused(Error):
    """The work was not admitted: do not do it."""


class Busy(Refused):
    """The database has no room for the work now: try again after `retry_after` seconds."""

    def __init__(self, message, retry_after):
        super().__init__(message)
        self.retry_after = retry_after


class TooLarge(Refused):
    """The work is too large to be admitted within the longest wait: split it."""


def error_message():
    """Returns why the last call of the library by this thread failed."""
    return lib.weir_error().decode(errors="replace")


def check(code):
    """Raises the exception of the code that the last call of this thread returned; none for OK."""
    if code == lib.OK:
        return
    message = error_message()
    if code in (lib.BUSY, lib.WAITING):
        raise Busy(message, lib.weir_retry_ms() / 1000)
    raise {lib.TOO_LARGE: TooLarge, lib.INVALID: ValueError}.get(code, Error)(message)
