"""Runs a bulk load beside a client on one RocksDB, alone or with weir. `matrix` has the same program in other languages:

    bulk_beside_client.py rocksdict|LIBROCKSDB DIRECTORY alone|weir SECONDS VALUE_BYTES BATCH_VALUES FAMILIES

The binding is rocksdict, or RocksDB's C API in the shared library that is named. Prints the milliseconds of each write of
the client, what else was counted, and RocksDB's own counters. Flushes and compactions may write 12 MiB/s, as on a slow
disk, and the load brings more.
"""

import contextlib
import os
import random
import sys
import threading
import time

import weir_throttle

MIB = 1 << 20
KEY_BYTES = 16
MOST_CLIENT_BYTES = 1000
CLIENT_PERIOD_S = 0.005
WARM_S = 1  # the client works for so long before the load begins, and this does not count
DISK_BYTES_PER_S = 12 * MIB


class Rocksdict:
    """A database by rocksdict; with weir, as weir_throttle.rocksdict has it."""

    def __init__(self, directory, families, with_weir):
        import rocksdict  # pylint: disable=import-outside-toplevel
        import weir_throttle.rocksdict  # pylint: disable=import-outside-toplevel,redefined-outer-name
        self._rocksdict = rocksdict
        others = families[1:]
        self._db = rocksdict.Rdict(directory, self._options(), {name: self._options() for name in others} or None)
        self._handles = [None] + [self._db.get_column_family_handle(name) for name in others]
        self._throttled = weir_throttle.rocksdict.attach(self._db, others) if with_weir else None
        self._client = self._throttled or self._db
        self._bulk = self._throttled.bulk if with_weir else self._db

    def _options(self):
        options = self._rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)
        options.create_missing_column_families(True)
        options.set_compression_type(self._rocksdict.DBCompressionType.none())
        options.set_ratelimiter(DISK_BYTES_PER_S, 100_000, 10)  # microseconds between refills, fairness
        options.set_write_buffer_size(4 * MIB)
        options.set_max_write_buffer_number(8)
        options.set_level_zero_file_num_compaction_trigger(4)
        options.set_level_zero_slowdown_writes_trigger(12)
        options.set_level_zero_stop_writes_trigger(20)
        options.set_max_bytes_for_level_base(32 * MIB)
        options.set_target_file_size_base(4 * MIB)
        return options

    def put(self, key, value):
        self._client[key] = value

    def get(self, key):
        return self._client[key]

    def write_bulk(self, values):
        """Writes pairs of key and value, to the families in turn."""
        batch = self._rocksdict.WriteBatch(raw_mode=True)
        for place, (key, value) in enumerate(values):
            batch.put(key, value, self._handles[place % len(self._handles)])
        self._bulk.write(batch)

    def counters(self):
        return self._db.property_value("rocksdb.dbstats")

    def detach(self):
        if self._throttled is not None:
            self._throttled.close()


class ByCApi:
    """The same by RocksDB's C API; with weir, as weir_throttle has it for every binding."""

    def __init__(self, library, directory, families, with_weir):
        from rocksdb_c_api import Database  # pylint: disable=import-outside-toplevel
        self._db = Database(library, directory, families, DISK_BYTES_PER_S, (
            "create_if_missing=true;create_missing_column_families=true;compression=kNoCompression;"
            f"write_buffer_size={4 * MIB};max_write_buffer_number=8;level0_file_num_compaction_trigger=4;"
            f"level0_slowdown_writes_trigger=12;level0_stop_writes_trigger=20;max_bytes_for_level_base={32 * MIB};"
            f"target_file_size_base={4 * MIB}"))
        self._throttle = None
        if with_weir:
            readers = {name: self._reader(place) for place, name in enumerate(families)}
            self._throttle = weir_throttle.attach(directory, readers)

    def _reader(self, place):
        return lambda name: self._db.property_value(name, place)

    def put(self, key, value):
        if self._throttle is not None:
            self._throttle.admit(len(key) + len(value))
        self._db.put(key, value)

    def get(self, key):
        return self._db.get(key)

    def write_bulk(self, values):
        if self._throttle is not None:
            self._throttle.admit(sum(len(key) + len(value) for key, value in values), bulk=True)
        self._db.write(values)

    def counters(self):
        return self._db.property_value("rocksdb.dbstats").decode()

    def detach(self):
        if self._throttle is not None:
            self._throttle.close()


class Noise:
    """Bytes that do not compress, and cost little to make."""

    def __init__(self):
        self._bytes = os.urandom(4 * MIB)

    def next(self, length):
        begin = random.randrange(len(self._bytes) - length)
        return self._bytes[begin:begin + length]


class BulkLoad(threading.Thread):
    """Writes batches until it is over."""

    def __init__(self, db, value_bytes, batch_values):
        super().__init__()
        self._db = db
        self._value_bytes = value_bytes
        self._batch_values = batch_values
        self._over = threading.Event()
        self._error = None
        self.bytes = 0

    def run(self):
        noise = Noise()
        try:
            while not self._over.is_set():
                values = [(noise.next(KEY_BYTES), noise.next(self._value_bytes)) for _ in range(self._batch_values)]
                try:
                    self._db.write_bulk(values)
                    self.bytes += self._batch_values * self._value_bytes
                except weir_throttle.Busy as busy:
                    self._over.wait(busy.retry_after)
        except Exception as error:  # pylint: disable=broad-except
            self._error = error

    def end(self):
        self._over.set()
        self.join()
        if self._error is not None:
            raise self._error


def serve_client(db, value_bytes, seconds):
    """Writes and reads two hundred values a second. Returns the wait of each write in milliseconds, which counts from when
    the write was due, and the number of writes that were refused."""
    noise = Noise()
    waits_ms, refused = [], 0
    due = time.monotonic()
    end = due + seconds
    while max(due, time.monotonic()) < end:
        time.sleep(max(0.0, due - time.monotonic()))
        key = noise.next(KEY_BYTES)
        try:
            db.put(key, noise.next(value_bytes))
        except weir_throttle.Busy:
            refused += 1
        waits_ms.append(1000 * (time.monotonic() - due))
        with contextlib.suppress(KeyError):
            db.get(key)
        due += CLIENT_PERIOD_S
    return waits_ms, refused


def main():
    binding, directory, policy, seconds, value_bytes, batch_values, count = sys.argv[1:]
    families = ["default"] + [f"family{i}" for i in range(1, int(count))]
    with_weir = policy == "weir"
    db = Rocksdict(directory, families, with_weir) if binding == "rocksdict" else ByCApi(binding, directory, families, with_weir)
    client_bytes = min(int(value_bytes), MOST_CLIENT_BYTES)
    serve_client(db, client_bytes, WARM_S)
    load = BulkLoad(db, int(value_bytes), int(batch_values))
    begin = time.monotonic()
    load.start()
    try:
        waits_ms, refused = serve_client(db, client_bytes, float(seconds))
    finally:
        load.end()
    elapsed = time.monotonic() - begin
    print("waits_ms", *(f"{ms:.3f}" for ms in waits_ms))
    print(f"refused {refused}\nbulk_bytes {load.bytes}\nseconds {elapsed:.3f}\n{db.counters()}")
    db.detach()


if __name__ == "__main__":
    main()
