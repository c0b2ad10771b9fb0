"""Throttle: the throttle of an open RocksDB, and attach, which makes one."""

import asyncio
import contextlib
import ctypes
import json
import math
import operator
import os
import threading
import time
import weakref

from . import _library as lib
from ._errors import Busy, Error, check, error_message
from ._sampler import Reader, Sampler, write_log

_UINT64 = (1 << 64) - 1
_SLICE_S = 0.1  # a thread that waits looks for signals such as Ctrl-C this often


class _Ticket:
    """A request for admission. Its `with` block ends it: a wait is given up then, and a scan is done."""

    def __init__(self, throttle, operation, bulk, nbytes, client):
        nbytes = operator.index(nbytes)
        if not 0 <= nbytes <= _UINT64:
            raise ValueError(f"{nbytes} is no number of bytes")
        self._ticket = lib.weir_ask(throttle, operation, bool(bulk), nbytes, hash(client) & _UINT64)
        if self._ticket == 0:
            check(lib.INVALID)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.weir_ticket_end(self._ticket)

    def poll(self):
        return lib.weir_ticket_poll(self._ticket)

    def check(self):
        """Raises Busy or TooLarge unless the work is admitted."""
        check(self.poll())

    def wait(self, timeout):
        code = self.poll()
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while code == lib.WAITING:
            left = min(_SLICE_S, deadline - time.monotonic())
            if left <= 0:
                break
            code = lib.weir_ticket_wait(self._ticket, math.ceil(left * 1000))
        check(code)

    async def wait_async(self, timeout):
        if self.poll() == lib.WAITING:
            descriptor = lib.weir_ticket_fd(self._ticket)
            if descriptor < 0:
                check(lib.FAILED)
            loop = asyncio.get_running_loop()
            settled = asyncio.Event()
            loop.add_reader(descriptor, settled.set)
            try:
                await asyncio.wait_for(settled.wait(), timeout)
            except asyncio.TimeoutError:
                pass
            finally:
                loop.remove_reader(descriptor)
        self.check()


class Throttle:
    """The throttle of an open RocksDB. Any thread may call any method.

    `nbytes` is what a write stores. `bulk` is for work that no one awaits, such as an import: it waits up to a minute,
    and so leaves the database to the rest, which waits up to a second. Clients that wait get equal shares: `client` is
    any hashable name of one, by default this thread or task.
    """

    def __init__(self, handle, sampler):
        self._handle = handle
        self._sampler = sampler
        # It is called by close(), when the throttle is forgotten, or when Python ends: whatever is first.
        self._close = weakref.finalize(self, sampler.close)
        sampler.start()

    def admit(self, nbytes, *, bulk=False, client=None, timeout=None):
        """Waits until the write is admitted, at most `timeout` seconds. Raises Busy or TooLarge."""
        with self._ask(lib.WRITE, nbytes, bulk, client) as ticket:
            ticket.wait(timeout)

    def try_admit(self, nbytes, *, bulk=False, client=None):
        """Returns whether the write is admitted now. Raises TooLarge."""
        try:
            self.admit(nbytes, bulk=bulk, client=client, timeout=0)
        except Busy:
            return False
        return True

    async def admit_async(self, nbytes, *, bulk=False, client=None, timeout=None):
        """Does what admit does, and blocks no thread."""
        with self._ask(lib.WRITE, nbytes, bulk, asyncio.current_task() if client is None else client) as ticket:
            await ticket.wait_async(timeout)

    @contextlib.contextmanager
    def scan(self, nbytes, *, bulk=False, client=None, timeout=None):
        """Waits until a read that touches so many bytes is admitted. The `with` block is the time for which it runs."""
        with self._ask(lib.READ, nbytes, bulk, client) as ticket:
            ticket.wait(timeout)
            yield

    def view(self):
        """Returns the state as a dict: signals, limits, and the reasons for them."""
        capacity = 4096
        while True:
            buffer = ctypes.create_string_buffer(capacity)
            length = lib.weir_view(self._handle, buffer, capacity)
            if length == 0:
                check(lib.INVALID)
            if length < capacity:
                return json.loads(buffer.value)
            capacity = 2 * length

    def detach(self):
        """Refuses all that waits, admits everything from then on, and reads the database no more."""
        self._sampler.detach()

    def close(self):
        """Detaches, and ends the throttle: every other method raises ValueError then. Close it before the database."""
        self._close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _ask(self, operation, nbytes, bulk, client):
        return _Ticket(self._handle, operation, bulk, nbytes, threading.get_ident() if client is None else client)


def attach(directory, read, *, options=None, **settings):
    """Attaches a throttle to the open RocksDB in the directory.

    `read` returns the value of a property by its name, as every binding can; None if there is none. With several column
    families, it is a dict that has such a function for the name of each. Instead of a directory that cannot be read
    (None), `options` has the text of RocksDB's newest OPTIONS file.

    Settings are those of config/SETTINGS.md, such as import_setpoint=0.6 or WEIR_IMPORT_SETPOINT=0.6. Raises ValueError
    if one is wrong, and Error if the database cannot be measured or has a throttle already.
    """
    names = {name if name.startswith("WEIR_") else "WEIR_" + name.upper(): value for name, value in settings.items()}
    reader = Reader(read)
    setup = lib.weir_setup_create()
    try:
        check(lib.weir_setup_sampled_by_program(setup))
        check(lib.weir_setup_log(setup, write_log, None))
        if directory is not None:
            check(lib.weir_setup_directory(setup, os.fsencode(directory)))
        if options is not None:
            text = options.encode()
            check(lib.weir_setup_options(setup, text, len(text)))
        for family in reader.families:
            check(lib.weir_setup_family(setup, family.encode()))
        for name, value in names.items():
            check(lib.weir_setup_set(setup, name.encode(), str(value).lower().encode()))
        handle = lib.weir_attach(setup, reader.callback, None)
        if handle == 0:
            if reader.error is not None and not isinstance(reader.error, Exception):
                raise reader.error  # such as KeyboardInterrupt
            raise Error(error_message()) from reader.error
    finally:
        lib.weir_setup_destroy(setup)
    interval_ms = names.get("WEIR_MONITOR_INTERVAL_MS", os.environ.get("WEIR_MONITOR_INTERVAL_MS", 100))
    return Throttle(handle, Sampler(handle, reader, interval_s=int(interval_ms) / 1000))
