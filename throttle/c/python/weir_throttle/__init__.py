"""weir for Python: makes the writes to a RocksDB wait just long enough that RocksDB need not stall.

    with weir_throttle.attach("/var/lib/my.db", db.property_value) as throttle:
        throttle.admit(len(value))             # a write that a client awaits
        throttle.admit(len(batch), bulk=True)  # an import

See README.md beside this package. weir_throttle.rocksdict has the same for rocksdict, by itself.
"""

from ._errors import Busy, Error, Refused, TooLarge
from ._library import weir_version as _weir_version
from ._throttle import Throttle, attach

__all__ = ["Busy", "Error", "Refused", "Throttle", "TooLarge", "attach", "library_version"]


def library_version():
    """Returns the version of the C library, such as "1.2.3"."""
    return _weir_version().decode()
