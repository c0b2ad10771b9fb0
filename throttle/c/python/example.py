"""A bulk load beside a client that writes and reads, without weir and with it, on rocksdict (pip install rocksdict):

    python3 example.py [seconds]

RocksDB may write 32 MiB/s here, for flushes and compactions together, and the bulk load brings more. So RocksDB slows
writes down or stops them; then the client waits too, and the whole program with it, because rocksdict keeps Python's
lock meanwhile. With weir the bulk load waits, before it asks RocksDB for anything.
"""

import contextlib
import os
import re
import sys
import tempfile
import threading
import time

import rocksdict
import weir_throttle
import weir_throttle.rocksdict

MIB = 1 << 20
CLIENT_PERIOD_S = 0.005
VALUE_BYTES = 1000
BATCH_VALUES = 32


def small_engine():
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    options.set_write_buffer_size(4 * MIB)
    options.set_max_write_buffer_number(8)
    options.set_level_zero_file_num_compaction_trigger(4)
    options.set_level_zero_slowdown_writes_trigger(12)
    options.set_level_zero_stop_writes_trigger(20)
    options.set_max_bytes_for_level_base(32 * MIB)
    options.set_target_file_size_base(4 * MIB)
    options.set_ratelimiter(32 * MIB, 100_000, 10)  # bytes a second, microseconds between refills, fairness
    return options


def load_in_bulk(db, ended, written):
    """Writes batches as fast as it may."""
    while not ended.is_set():
        batch = rocksdict.WriteBatch(raw_mode=True)
        for _ in range(BATCH_VALUES):
            batch.put(os.urandom(16), os.urandom(VALUE_BYTES))
        nbytes = batch.size_in_bytes()
        try:
            db.write(batch)
            written.append(nbytes)
        except weir_throttle.Busy as busy:
            ended.wait(busy.retry_after)


def serve_client(db, seconds):
    """Writes and reads two hundred values a second. Returns the longest time until a write was done, from when it was due."""
    slowest = 0.0
    due = time.monotonic()
    end = due + seconds
    while due < end:
        time.sleep(max(0.0, due - time.monotonic()))
        key = os.urandom(16)
        db.put(key, os.urandom(VALUE_BYTES))
        slowest = max(slowest, time.monotonic() - due)
        assert db.get(key) is not None
        due += CLIENT_PERIOD_S
    return slowest


def stalls_of(db):
    """Returns how often RocksDB slowed down or stopped writes, and for how many seconds."""
    counts = re.findall(r"total-(?:delays|stops): (\d+)", db.property_value("rocksdb.cfstats"))
    hours, minutes, seconds = re.search(r"Cumulative stall: (\d+):(\d+):([\d.]+)", db.property_value("rocksdb.dbstats")).groups()
    return sum(map(int, counts)), 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def run(with_weir, seconds):
    with tempfile.TemporaryDirectory() as directory:
        rdict = rocksdict.Rdict(directory, small_engine())
        with weir_throttle.rocksdict.attach(rdict) if with_weir else contextlib.nullcontext(rdict) as db:
            ended, written = threading.Event(), []
            load = threading.Thread(target=load_in_bulk, args=(db.bulk if with_weir else db, ended, written))
            start = time.monotonic()
            load.start()
            slowest = serve_client(db, seconds)
            ended.set()
            load.join()
            elapsed = time.monotonic() - start
            stalls, stalled_s = stalls_of(rdict)
        rdict.close()
    print(f"{'with weir:   ' if with_weir else 'without weir:'} slowest write of the client {1000 * slowest:6.0f} ms, "
          f"bulk load {sum(written) / elapsed / 1e6:4.1f} MB/s, RocksDB stalled {stalls} times, {stalled_s:.1f} s")
    return stalls


if __name__ == "__main__":
    for weir in (False, True):
        run(weir, float(sys.argv[1]) if len(sys.argv) > 1 else 10)
