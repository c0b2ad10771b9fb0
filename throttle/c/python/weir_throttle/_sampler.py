"""What reads the database: the function that the library calls, and the thread in which it does."""

import ctypes
import logging
import threading
import time
from collections.abc import Mapping

from . import _library as lib
from ._errors import check, error_message

logger = logging.getLogger("weir_throttle")


class Reader:
    """Answers the library's questions for properties. No exception leaves it: it becomes "no answer"."""

    def __init__(self, read):
        self.families = dict(read) if isinstance(read, Mapping) else {"default": read}
        # The library asks "default" for what the whole database does, which every family answers.
        self._any = next(iter(self.families.values()))
        self.error = None  # the last exception of the program's function
        self.callback = lib.Read(self._answer)

    def _answer(self, _context, family, name, buffer, capacity):
        try:
            value = self.families.get(family.decode(), self._any)(name.decode())
            if value is None:
                return -1
            text = value if isinstance(value, bytes) else str(value).encode()
            ctypes.memmove(buffer, text, min(len(text), capacity))
            return len(text)
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error
            return -1


class Sampler(threading.Thread):
    """Measures the database, until its throttle is closed.

    It keeps Python's lock while the library runs, so a sample needs the lock once, and not once for each of its dozen
    properties, as in a thread of the library: 0.06 ms instead of 0.3, and beside four busy threads at most 46 ms instead
    of 118. And no thread that Python does not know calls it while it ends.
    """

    def __init__(self, throttle, reader, interval_s):
        super().__init__(name="weir_throttle", daemon=True)
        self._throttle = throttle
        self._reader = reader
        self._interval_s = interval_s
        self._closes_later = False

    def run(self):
        fails = False
        while True:
            time.sleep(self._interval_s)
            self._reader.error = None
            code = lib.weir_sample(self._throttle)
            if self._closes_later:
                lib.weir_close(self._throttle)
            if self._closes_later or code == lib.INVALID:
                return
            # A database that does not answer fails ten times a second: one line is enough.
            if code == lib.FAILED and not fails:
                logger.warning("the database cannot be measured: %s", error_message(), exc_info=self._reader.error)
            fails = code == lib.FAILED

    def detach(self):
        """Detaches the throttle. The reader is not called again."""
        if threading.current_thread() is self:
            raise RuntimeError("the function that reads properties must not detach its throttle")
        check(lib.weir_detach(self._throttle))

    def close(self):
        """Closes the throttle. The reader is not called again, unless this is called by the reader itself."""
        if threading.current_thread() is self:
            self._closes_later = True
        else:
            lib.weir_close(self._throttle)


@lib.Log
def write_log(_context, sentence):
    """Gets the sentences for the operator."""
    try:
        logger.warning("%s", sentence.decode(errors="replace"))
    except BaseException:  # pylint: disable=broad-except
        pass  # a handler of the program's failed, and there is no other place to say so
