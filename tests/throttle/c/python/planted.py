"""A RocksDB whose properties a test plants, and other parts of the tests of weir_throttle."""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "../../../..")
PACKAGE = os.path.join(SOURCE, "throttle/c/python")
sys.path.insert(0, PACKAGE)
sys.dont_write_bytecode = True

import weir_throttle  # noqa: E402

PATIENCE_S = 60
OPTIONS = '[CFOptions "default"]\n  write_buffer_size=1048576\n[CFOptions "index"]\n  write_buffer_size=1048576\n'


def eventually(condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


class Database:
    """The properties of an idle database. `overload` makes it one that has stopped all writes long ago."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.error = None
        self.calls = 0
        self.values = {}  # by property; the others are 0
        with open(os.path.join(self.directory.name, "OPTIONS-000005"), "w", encoding="utf-8") as file:
            file.write(OPTIONS)

    def overload(self):
        self.values["rocksdb.num-files-at-level0"] = "1000"

    def read(self, name):
        self.calls += 1
        if self.error is not None:
            raise self.error
        return self.values.get(name, "" if name.endswith("stats") else "0")

    def attach(self, **settings):
        return weir_throttle.attach(self.directory.name, self.read, **settings)


def emergency(database, **settings):
    """Returns a throttle for which the memory of this process is an emergency: bulk work waits until its longest delay."""
    throttle = database.attach(rate_limit_target_memory_mb=1, **settings)
    assert eventually(lambda: throttle.view()["emergency"]), throttle.view()
    return throttle


def run_program(text, *, interrupt_at=None):
    """Runs Python with the text, and returns its output and status. Sends it SIGINT once it has printed `interrupt_at`."""
    text = f"import sys\nsys.path.insert(0, {HERE!r})\nfrom planted import *\n" + text
    program = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = ""
    if interrupt_at is not None:
        while interrupt_at not in output:
            line = program.stdout.readline()
            assert line, output
            output += line
        program.send_signal(2)
    try:
        return output + program.communicate(timeout=PATIENCE_S)[0], program.returncode
    finally:
        program.kill()
