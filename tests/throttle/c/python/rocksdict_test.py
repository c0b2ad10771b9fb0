#!/usr/bin/python3
"""The package weir_throttle on rocksdict, of PyPI. Status 77, skipped: rocksdict is not here."""

import contextlib
import os
import subprocess
import sys
import tempfile
import unittest

from planted import HERE, PACKAGE, SOURCE, eventually

STALLS_LESS = os.path.join(HERE, "../stalls_less.sh")
ROCKSDICT = os.path.join(SOURCE, "build/tools/rocksdict")
sys.path.insert(0, ROCKSDICT)
sys.path.insert(0, PACKAGE)
try:
    import rocksdict
except ImportError:
    print("skipped: rocksdict is not here (.ci/test-tools brings it)")
    sys.exit(77)

import weir_throttle.rocksdict  # noqa: E402


class Recorder:
    """Stands for a Throttle, and notes what it is asked."""

    def __init__(self):
        self.asked = []

    def admit(self, nbytes, *, bulk=False):
        self.asked.append((nbytes, bulk))


class RocksdictTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = directory.name

    def open(self, **options):
        db = rocksdict.Rdict(self.path, **options)
        self.addCleanup(self.close, db)
        return db

    @staticmethod
    def close(db):
        with contextlib.suppress(rocksdict.DbClosedError):
            db.close()

    def test_asks_before_each_write_for_its_bytes(self):
        rdict, throttle = self.open(), Recorder()
        db = weir_throttle.rocksdict.Throttled(rdict, throttle)
        batch = rocksdict.WriteBatch()
        batch["k"] = b"v" * 100
        batch_bytes = batch.size_in_bytes()
        db["key"] = b"v" * 10
        db.put("key", 1.5)
        db.bulk.put("key", [1, 2, 3])
        del db["key"]
        db.delete("key")
        db.delete_range("a", "bcd")
        db.bulk.write(batch)
        pickled = throttle.asked.pop(2)
        self.assertGreater(pickled[0], 3)
        self.assertTrue(pickled[1])
        self.assertEqual(throttle.asked, [(13, False), (11, False), (3, False), (3, False), (4, False), (batch_bytes, True)])
        self.assertGreater(batch_bytes, 100)

    def test_writes_to_an_rdict_of_a_version_without_put_and_delete(self):
        rdict, throttle = {}, Recorder()
        db = weir_throttle.rocksdict.Throttled(rdict, throttle)
        db["key"] = b"v" * 10
        self.assertEqual(rdict, {"key": b"v" * 10})
        del db["key"]
        self.assertEqual(rdict, {})
        self.assertEqual(throttle.asked, [(13, False), (3, False)])

    def test_a_refused_write_has_written_nothing(self):
        class Refusing:
            def admit(self, nbytes, *, bulk=False):
                raise weir_throttle.Busy("l0", 1.5)

        rdict = self.open()
        rdict["key"] = "old"
        db = weir_throttle.rocksdict.Throttled(rdict, Refusing())
        batch = rocksdict.WriteBatch()
        batch["key"] = "new"
        for write in (lambda: db.put("key", "new"), lambda: db.delete("key"), lambda: db.write(batch),
                      lambda: db.delete_range("a", "z")):
            with self.assertRaises(weir_throttle.Busy):
                write()
        self.assertEqual(rdict["key"], "old")

    def test_is_the_rdict_for_everything_else(self):
        rdict = self.open()
        with weir_throttle.rocksdict.attach(rdict) as db:
            db["key"] = "value"
            self.assertEqual(db["key"], "value")
            self.assertIn("key", db)
            self.assertEqual(list(db.items()), [("key", "value")])
            self.assertEqual(db.get("none", "default"), "default")
            self.assertEqual(db.path(), rdict.path())
            self.assertEqual(db.throttle.view()["sensor_error"], "")

    def test_asks_for_its_column_families(self):
        rdict = self.open()
        rdict.create_column_family("index")
        with weir_throttle.rocksdict.attach(rdict, families=["index"]) as db:
            index = db.get_column_family("index")
            index["key"] = "value"
            self.assertEqual(index["key"], "value")
            with self.assertRaises(KeyError):
                db["key"]
        with self.assertRaises(ValueError):
            index["key"] = "later"

    def test_a_database_that_is_closed_first_is_told_once(self):
        rdict = self.open()
        with weir_throttle.rocksdict.attach(rdict) as db:
            with self.assertLogs("weir_throttle", "WARNING") as logs:
                rdict.close()
                self.assertTrue(eventually(lambda: db.throttle.view()["sensor_error"] != ""))
            self.assertEqual(len(logs.records), 1)
            with self.assertRaises(Exception):
                db["key"] = "value"
        rocksdict.Rdict(self.path).close()  # nothing holds it any more

    def test_rocksdb_stalls_without_weir_and_hardly_with_it(self):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((ROCKSDICT, PACKAGE))}
        example = [sys.executable, os.path.join(PACKAGE, "example.py")]
        ended = subprocess.run([STALLS_LESS, *example], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
