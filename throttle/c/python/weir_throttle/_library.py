"""The functions of libweir.so.0, which weir.h describes, for ctypes.

Python's lock is free while one of them runs, so that other threads go on while this one waits. The exceptions are the
functions that need nothing but this thread, and weir_sample: see Sampler in _sampler.py.
"""

import ctypes
import os
from ctypes import c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

OK, BUSY, TOO_LARGE, WAITING, INVALID, FAILED = range(6)
READ, WRITE = range(2)

Read = ctypes.CFUNCTYPE(c_int64, c_void_p, c_char_p, c_char_p, c_void_p, c_size_t)
Log = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)

_path = os.environ.get("WEIR_LIBRARY", "libweir.so.0")
try:
    _frees_lock, _keeps_lock = ctypes.CDLL(_path), ctypes.PyDLL(_path)
except OSError as error:
    raise ImportError(f"{error}: install weir's C library, or name its file in WEIR_LIBRARY") from error


def _function(name, result, *arguments, of=_frees_lock):
    function = getattr(of, name)
    function.restype = result
    function.argtypes = arguments
    return function


weir_version = _function("weir_version", c_char_p, of=_keeps_lock)
weir_error = _function("weir_error", c_char_p, of=_keeps_lock)
weir_retry_ms = _function("weir_retry_ms", c_int64, of=_keeps_lock)

weir_setup_create = _function("weir_setup_create", c_uint64)
weir_setup_destroy = _function("weir_setup_destroy", c_int, c_uint64)
weir_setup_set = _function("weir_setup_set", c_int, c_uint64, c_char_p, c_char_p)
weir_setup_directory = _function("weir_setup_directory", c_int, c_uint64, c_char_p)
weir_setup_options = _function("weir_setup_options", c_int, c_uint64, c_char_p, c_size_t)
weir_setup_family = _function("weir_setup_family", c_int, c_uint64, c_char_p)
weir_setup_log = _function("weir_setup_log", c_int, c_uint64, Log, c_void_p)
weir_setup_sampled_by_program = _function("weir_setup_sampled_by_program", c_int, c_uint64)

weir_attach = _function("weir_attach", c_uint64, c_uint64, Read, c_void_p)
weir_sample = _function("weir_sample", c_int, c_uint64, of=_keeps_lock)
weir_detach = _function("weir_detach", c_int, c_uint64)
weir_close = _function("weir_close", c_int, c_uint64)

weir_ask = _function("weir_ask", c_uint64, c_uint64, c_int, c_int, c_uint64, c_uint64)
weir_ticket_poll = _function("weir_ticket_poll", c_int, c_uint64)
weir_ticket_wait = _function("weir_ticket_wait", c_int, c_uint64, c_int64)
weir_ticket_fd = _function("weir_ticket_fd", c_int, c_uint64)
weir_ticket_end = _function("weir_ticket_end", c_int, c_uint64)

weir_view = _function("weir_view", c_size_t, c_uint64, c_char_p, c_size_t)
