"""A database by RocksDB's C API, in a shared library of any version of RocksDB: for versions that no binding on PyPI has."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p

_REFILL_US = 100_000
_FAIRNESS = 10
_FUNCTIONS = {  # result, arguments
    "options_create": (c_void_p,),
    "get_options_from_string": (None, c_void_p, c_char_p, c_void_p, POINTER(c_void_p)),
    "ratelimiter_create": (c_void_p, c_int64, c_int64, c_int32),
    "options_set_ratelimiter": (None, c_void_p, c_void_p),
    "open_column_families": (c_void_p, c_void_p, c_char_p, c_int, POINTER(c_char_p), POINTER(c_void_p), POINTER(c_void_p),
                             POINTER(c_void_p)),
    "writeoptions_create": (c_void_p,),
    "readoptions_create": (c_void_p,),
    "put": (None, c_void_p, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, POINTER(c_void_p)),
    "get": (c_void_p, c_void_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t), POINTER(c_void_p)),
    "writebatch_create": (c_void_p,),
    "writebatch_put_cf": (None, c_void_p, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t),
    "writebatch_destroy": (None, c_void_p),
    "write": (None, c_void_p, c_void_p, c_void_p, POINTER(c_void_p)),
    "property_value_cf": (c_void_p, c_void_p, c_void_p, c_char_p),
    "free": (None, c_void_p),
}


class Database:
    """The families have the options of the text, and are created where they are missing. It stays open until the program ends.

    Any thread may call any method; Python's lock is free meanwhile."""

    def __init__(self, library, directory, families, disk_bytes_per_s, options_text):
        loaded = ctypes.CDLL(library)
        self._functions = {}
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(loaded, "rocksdb_" + name)
            function.restype, function.argtypes = result, arguments
            self._functions[name] = function
        options = self._call("options_create")
        self._checked("get_options_from_string", self._call("options_create"), options_text.encode(), options)
        self._call("options_set_ratelimiter", options, self._call("ratelimiter_create", disk_bytes_per_s, _REFILL_US, _FAIRNESS))
        count = len(families)
        self._families = (c_void_p * count)()
        self._db = self._checked("open_column_families", options, directory.encode(), count,
                                 (c_char_p * count)(*(name.encode() for name in families)),
                                 (c_void_p * count)(*([options] * count)), self._families)
        self._write_options = self._call("writeoptions_create")
        self._read_options = self._call("readoptions_create")

    def put(self, key, value):
        self._checked("put", self._db, self._write_options, key, len(key), value, len(value))

    def get(self, key):
        """Returns the value, or raises KeyError."""
        length = c_size_t()
        value = self._text(self._checked("get", self._db, self._read_options, key, len(key), byref(length)), length)
        if value is None:
            raise KeyError(key)
        return value

    def write(self, values):
        """Writes pairs of key and value in one batch, to the families in turn."""
        batch = self._call("writebatch_create")
        for place, (key, value) in enumerate(values):
            self._call("writebatch_put_cf", batch, self._families[place % len(self._families)], key, len(key), value, len(value))
        try:
            self._checked("write", self._db, self._write_options, batch)
        finally:
            self._call("writebatch_destroy", batch)

    def property_value(self, name, place=0):
        """Returns the bytes of a property of the family at this place; None if there is no such property."""
        return self._text(self._call("property_value_cf", self._db, self._families[place], name.encode()))

    def _call(self, name, *arguments):
        return self._functions[name](*arguments)

    def _checked(self, name, *arguments):
        error = c_void_p()
        result = self._call(name, *arguments, byref(error))
        if error.value is not None:
            raise OSError(self._text(error.value).decode(errors="replace"))
        return result

    def _text(self, address, length=None):
        """Returns the bytes at the address, and frees them there; None for null."""
        if address is None:
            return None
        text = ctypes.string_at(address, -1 if length is None else length.value)
        self._call("free", address)
        return text
