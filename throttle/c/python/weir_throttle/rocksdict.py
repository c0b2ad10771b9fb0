"""weir for rocksdict: an Rdict whose writes ask before they write.

    with weir_throttle.rocksdict.attach(Rdict("/var/lib/my.db")) as db:
        db["key"] = "value"     # waits while RocksDB would otherwise stall
        db.bulk.write(batch)    # an import: waits longer, and leaves the database to the rest
"""

import pickle

from . import _throttle


def attach(db, families=(), **settings):
    """Attaches a throttle to an open Rdict, and returns it as a Throttled.

    `families` names the column families that are written, besides "default"; their Rdicts are closed together with the
    throttle. The settings are those of weir_throttle.attach.
    """
    handles = {name: db.get_column_family(name) for name in families}
    readers = {"default": db.property_value, **{name: family.property_value for name, family in handles.items()}}
    return Throttled(db, _throttle.attach(db.path(), readers, **settings))


class Throttled:
    """An Rdict whose writes ask its throttle. Everything else is as the Rdict does it.

    A write raises weir_throttle.Busy or TooLarge if it is refused, and has written nothing then.
    """

    def __init__(self, db, throttle, is_bulk=False):
        self._db = db
        self.throttle = throttle
        self._is_bulk = is_bulk

    @property
    def bulk(self):
        """The same database for bulk work, such as an import."""
        return Throttled(self._db, self.throttle, is_bulk=True)

    def put(self, key, value, *args, **kwargs):
        self._admit(_size(key) + _size(value))
        self._db.put(key, value, *args, **kwargs)

    def put_entity(self, key, names, values, *args, **kwargs):
        self._admit(_size(key) + sum(map(_size, names)) + sum(map(_size, values)))
        self._db.put_entity(key, names, values, *args, **kwargs)

    def delete(self, key, *args, **kwargs):
        self._admit(_size(key))
        self._db.delete(key, *args, **kwargs)

    def delete_range(self, begin, end, *args, **kwargs):
        self._admit(_size(begin) + _size(end))
        self._db.delete_range(begin, end, *args, **kwargs)

    def write(self, write_batch, *args, **kwargs):
        self._admit(write_batch.size_in_bytes())
        self._db.write(write_batch, *args, **kwargs)

    def get_column_family(self, name):
        return Throttled(self._db.get_column_family(name), self.throttle, self._is_bulk)

    def close(self):
        """Closes the throttle, not the Rdict: close that after it."""
        self.throttle.close()

    # An Rdict has no put and no delete before rocksdict 0.3.8.
    def __setitem__(self, key, value):
        self._admit(_size(key) + _size(value))
        self._db[key] = value

    def __delitem__(self, key):
        self._admit(_size(key))
        del self._db[key]

    def __getitem__(self, key):
        return self._db[key]

    def __contains__(self, key):
        return key in self._db

    def __getattr__(self, name):
        return getattr(self._db, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _admit(self, nbytes):
        self.throttle.admit(nbytes, bulk=self._is_bulk)


def _size(value):
    """Returns about how many bytes rocksdict stores for the key or the value."""
    if isinstance(value, (bytes, bytearray, str)):
        return len(value)
    if isinstance(value, (int, float)):
        return 8
    if hasattr(value, "nbytes"):  # an array of numpy
        return value.nbytes
    return len(pickle.dumps(value))
