#!/usr/bin/python3
"""The package weir_throttle, on a database whose properties are planted."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import unittest

from planted import PACKAGE, Database, emergency, eventually, run_program

import weir_throttle

MIB = 1 << 20


class ThrottleTest(unittest.TestCase):
    def setUp(self):
        self.database = Database()
        self.addCleanup(self.database.directory.cleanup)

    def attach(self, **settings):
        throttle = self.database.attach(**settings)
        self.addCleanup(throttle.close)
        return throttle

    def emergency(self, **settings):
        throttle = emergency(self.database, **settings)
        self.addCleanup(throttle.close)
        return throttle

    def test_admits_all_work_of_an_idle_database(self):
        throttle = self.attach()
        throttle.admit(1000)
        throttle.admit(1000, bulk=True, client="alice", timeout=1)
        throttle.admit(0, client=-5)
        self.assertTrue(throttle.try_admit(1000, client=("a", 1)))
        with throttle.scan(10 * MIB):
            pass
        asyncio.run(throttle.admit_async(1000))

    def test_shows_its_state(self):
        throttle = self.attach()
        self.database.overload()
        self.assertTrue(eventually(lambda: throttle.view()["signals"].get("l0", 0) > 1))
        self.assertEqual(throttle.view()["sensor_error"], "")
        self.assertTrue(eventually(lambda: throttle.view()["bulk_writes"]["reason"] == "l0"))

    def test_makes_bulk_work_of_an_overloaded_database_wait_until_there_is_room(self):
        throttle = self.attach()
        self.database.overload()
        # At the lowest limit, 16 KiB a second, so much work waits for seconds.
        self.assertTrue(eventually(lambda: not throttle.try_admit(65_536, bulk=True)))
        throttle.admit(1000)
        self.database.values.clear()
        throttle.admit(1000, bulk=True)
        asyncio.run(throttle.admit_async(1000, bulk=True))

    def test_refuses_work_that_waited_for_too_long_and_says_when_to_try_again(self):
        throttle = self.emergency(import_max_delay_ms=200)
        self.assertFalse(throttle.try_admit(1000, bulk=True))
        for ask in (lambda: throttle.admit(1000, bulk=True), lambda: asyncio.run(throttle.admit_async(1000, bulk=True))):
            with self.assertRaisesRegex(weir_throttle.Busy, "emergency") as busy:
                ask()
            self.assertGreater(busy.exception.retry_after, 0)
        self.assertIsInstance(busy.exception, weir_throttle.Error)
        with self.assertRaises(weir_throttle.Busy) as busy:
            throttle.admit(1000, bulk=True, timeout=0.001)
        self.assertGreater(busy.exception.retry_after, 0)
        throttle.admit(1000)

    def test_an_impossible_size_is_too_large(self):
        throttle = self.attach()
        for ask in (throttle.admit, throttle.try_admit, lambda n: asyncio.run(throttle.admit_async(n))):
            with self.assertRaises(weir_throttle.TooLarge):
                ask(1 << 50)

    def test_something_else_than_a_size_is_a_mistake(self):
        throttle = self.attach()
        for nbytes in (-1, 1 << 64):
            with self.assertRaises(ValueError):
                throttle.admit(nbytes)
        for nbytes in (1.5, "1000", None):
            with self.assertRaises(TypeError):
                throttle.admit(nbytes)

    def test_settings_have_keywords_full_names_and_an_environment(self):
        self.attach(import_setpoint=0.5, rate_limit_enabled=True).close()
        throttle = self.attach(**{"WEIR_IMPORT_SETPOINT": "0.5"})
        self.database.overload()
        self.assertTrue(eventually(lambda: throttle.view()["bulk_writes"]["setpoint"] == 0.5))

    def test_a_wrong_setting_is_a_value_error(self):
        for name, value in (("import_setpoint", 7), ("import_setpoint", "high"), ("import_setpont", 0.5)):
            with self.assertRaisesRegex(ValueError, "WEIR_IMPORT_SETPO"):
                self.attach(**{name: value})
        self.attach()  # nothing of the failed ones stands in its way

    def test_attach_says_what_is_wrong(self):
        with self.assertRaisesRegex(weir_throttle.Error, "/nowhere"):
            weir_throttle.attach("/nowhere", self.database.read)
        with self.assertRaises(weir_throttle.Error):
            weir_throttle.attach(None, self.database.read)
        with self.assertRaises(ValueError):
            weir_throttle.attach(None, self.database.read, options="no options")
        with self.assertRaisesRegex(weir_throttle.Error, "missing"):
            weir_throttle.attach(self.database.directory.name, {"missing": self.database.read})
        self.database.error = KeyError("a mistake of the program")
        with self.assertRaises(weir_throttle.Error) as failed:
            self.attach()
        self.assertIs(failed.exception.__cause__, self.database.error)

    def test_an_interrupt_of_attach_is_raised(self):
        self.database.error = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt):
            self.attach()

    def test_options_may_be_given_as_text(self):
        options = '[CFOptions "default"]\n  level0_slowdown_writes_trigger=104\n'
        throttle = weir_throttle.attach(None, self.database.read, options=options)
        self.addCleanup(throttle.close)
        self.database.values["rocksdb.num-files-at-level0"] = 54
        self.assertTrue(eventually(lambda: 0.4 < throttle.view()["signals"].get("l0", 0) < 0.6), throttle.view())

    def test_watches_the_families_that_it_is_given(self):
        asked = []
        readers = {"index": lambda name: asked.append(name) or self.database.read(name)}
        throttle = weir_throttle.attach(self.database.directory.name, readers)
        self.addCleanup(throttle.close)
        self.assertIn("rocksdb.cfstats", asked)

    def test_a_second_throttle_of_a_database_is_refused(self):
        first = self.attach()
        with self.assertRaisesRegex(weir_throttle.Error, "already"):
            self.attach()
        first.close()
        self.attach()

    def test_an_exception_of_the_reader_is_logged_once(self):
        throttle = self.attach()
        with self.assertLogs("weir_throttle", "WARNING") as logs:
            self.database.error = RuntimeError("a mistake of the program")
            calls = self.database.calls
            self.assertTrue(eventually(lambda: self.database.calls > calls + 5))
            self.assertNotEqual(throttle.view()["sensor_error"], "")
            self.assertTrue(throttle.try_admit(1000))
        self.assertEqual(len(logs.records), 1)
        self.assertIs(logs.records[0].exc_info[1], self.database.error)
        self.database.error = None
        self.assertTrue(eventually(lambda: throttle.view()["sensor_error"] == ""))

    def test_an_answer_that_is_none_is_logged_once(self):
        throttle = self.attach()
        for garbage in ("garbage", "", "-1", "9" * 100, object(), b"\xff\x00\xfe", 1.5, None):
            with self.subTest(garbage=garbage), self.assertLogs("weir_throttle", "WARNING") as logs:
                self.database.values["rocksdb.num-running-flushes"] = garbage
                self.assertTrue(eventually(lambda: throttle.view()["sensor_error"] != ""))
                self.assertEqual(len(logs.records), 1)
            del self.database.values["rocksdb.num-running-flushes"]
            self.assertTrue(eventually(lambda: throttle.view()["sensor_error"] == ""))

    def test_a_text_may_be_long(self):
        self.database.values["rocksdb.cfstats"] = "line\n" * 20_000
        throttle = self.attach()
        self.assertEqual(throttle.view()["sensor_error"], "")

    def test_a_reader_that_blocks_blocks_no_work(self):
        blocks, may_go_on = threading.Event(), threading.Event()

        def read(name):
            if threading.current_thread().name == "weir_throttle":
                blocks.set()
                may_go_on.wait()
            return self.database.read(name)

        throttle = weir_throttle.attach(self.database.directory.name, read)
        blocks.wait()
        throttle.admit(1000)
        throttle.admit(1000, bulk=True)
        asyncio.run(throttle.admit_async(1000))
        throttle.view()
        closing = threading.Thread(target=throttle.close)
        closing.start()
        may_go_on.set()
        closing.join()

    def test_logs_that_rocksdb_brakes_by_itself(self):
        throttle = self.attach()
        with self.assertLogs("weir_throttle", "WARNING") as logs:
            self.database.overload()
            self.assertTrue(eventually(lambda: throttle.view()["signals"].get("l0", 0) > 1))
            self.database.values["rocksdb.is-write-stopped"] = "1"
            self.assertTrue(eventually(lambda: throttle.view()["escapes"] > 0))
            self.assertTrue(eventually(lambda: logs.records))
        self.assertIn("RocksDB stops writes by itself", logs.output[0])

    def test_an_end_of_the_reader_by_system_exit_stays_inside(self):
        throttle = self.attach()
        with self.assertLogs("weir_throttle", "WARNING"):
            self.database.error = SystemExit()
            self.assertTrue(eventually(lambda: throttle.view()["sensor_error"] != ""))
        self.database.error = None
        self.assertTrue(eventually(lambda: throttle.view()["sensor_error"] == ""))

    def test_a_closed_throttle_is_a_mistake_to_ask(self):
        throttle = self.attach()
        throttle.close()
        throttle.close()
        for ask in (lambda: throttle.admit(1), lambda: throttle.try_admit(1), throttle.view, throttle.detach,
                    lambda: asyncio.run(throttle.admit_async(1)), lambda: throttle.scan(1).__enter__()):
            with self.assertRaises(ValueError):
                ask()
        self.assertTrue(eventually(lambda: not any(t.name == "weir_throttle" for t in threading.enumerate())))

    def test_a_detached_throttle_admits_everything(self):
        throttle = self.emergency()
        throttle.detach()
        throttle.detach()
        calls = self.database.calls
        throttle.admit(100 * MIB, bulk=True)
        asyncio.run(throttle.admit_async(100 * MIB, bulk=True))
        self.assertEqual(self.database.calls, calls)

    def test_detach_refuses_what_waits(self):
        throttle = self.emergency()

        async def wait():
            waiting = asyncio.create_task(throttle.admit_async(1000, bulk=True))
            await asyncio.sleep(0)
            self.assertFalse(waiting.done())
            throttle.detach()
            with self.assertRaises(weir_throttle.Busy):
                await waiting

        asyncio.run(wait())

    def test_close_ends_the_waits_of_threads(self):
        throttle = self.emergency()
        ended = []

        def wait():
            try:
                throttle.admit(1000, bulk=True)
            except (weir_throttle.Busy, ValueError) as error:  # ValueError: it asked after the throttle was closed
                ended.append(error)

        threads = [threading.Thread(target=wait) for _ in range(8)]
        for thread in threads:
            thread.start()
        throttle.close()
        for thread in threads:
            thread.join()
        self.assertEqual(len(ended), len(threads))

    def test_a_cancelled_task_gives_its_wait_up(self):
        throttle = self.emergency()

        async def wait():
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(50):
                waiting = asyncio.create_task(throttle.admit_async(1000, bulk=True))
                await asyncio.sleep(0)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
            self.assertLess(len(os.listdir("/proc/self/fd")), before + 50, "descriptors are lost")
            with self.assertRaises(weir_throttle.Busy):
                await throttle.admit_async(1000, bulk=True, timeout=0.001)

        asyncio.run(wait())

    def test_a_forgotten_throttle_is_closed(self):
        throttle = self.database.attach()
        del throttle
        gc.collect()
        self.attach()

    def test_a_reader_may_close_its_throttle(self):
        closed = []

        def read(name):
            if closed == ["now"]:
                throttle.close()
                closed.append("done")
            return self.database.read(name)

        throttle = weir_throttle.attach(self.database.directory.name, read)
        closed.append("now")
        self.assertTrue(eventually(lambda: len(closed) == 2))
        self.assertTrue(eventually(self.can_attach))
        with self.assertRaises(ValueError):
            throttle.view()

    def can_attach(self):
        try:
            self.attach()
            return True
        except weir_throttle.Error:
            return False


class ProcessTest(unittest.TestCase):
    SETUP = "database = Database()\nthrottle = emergency(database)\n"

    def test_a_forked_child_passes_and_ends(self):
        for end in ("throttle.close()", "pass"):
            self.check_fork(end)

    def check_fork(self, end):
        output, status = run_program(self.SETUP + """
child = os.fork()
if child == 0:
    calls = database.calls
    for _ in range(5):
        throttle.admit(100 << 20, bulk=True)
    import asyncio
    asyncio.run(throttle.admit_async(100 << 20, bulk=True))
    throttle.view()
    assert database.calls == calls
    database.directory._finalizer.detach()
    END
    sys.exit(7)
assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 7
calls = database.calls
assert eventually(lambda: database.calls > calls), "the parent's throttle has ended"
print("good")
""".replace("END", end))
        self.assertEqual(status, 0, output)
        self.assertTrue(output.endswith("good\n"), output)  # since 3.12, Python warns of a fork beside threads

    def test_a_program_may_end_while_threads_wait(self):
        output, status = run_program(self.SETUP + """
import threading
asked = threading.Barrier(5)
def wait():
    asked.wait()
    throttle.admit(1000, bulk=True)
for _ in range(4):
    threading.Thread(target=wait, daemon=True).start()
asked.wait()
print("ends", flush=True)
""")
        self.assertEqual(status, 0, output)
        self.assertTrue(output.startswith("ends\n"), output)

    def test_a_wait_can_be_interrupted(self):
        output, status = run_program(self.SETUP + """
try:
    print("asks", flush=True)
    throttle.admit(1000, bulk=True)
except KeyboardInterrupt:
    print("interrupted")
""", interrupt_at="asks")
        self.assertEqual((output, status), ("asks\ninterrupted\n", 0))

    def test_the_library_must_be_where_the_system_or_the_environment_says(self):
        program = [sys.executable, "-c", "import weir_throttle; print(weir_throttle.library_version())"]
        environment = {"PYTHONPATH": PACKAGE, "WEIR_LIBRARY": "/nowhere/libweir.so.0"}
        missing = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
        self.assertRegex(missing.stderr, "ImportError: /nowhere/libweir.so.0: .*WEIR_LIBRARY")
        environment = {"PYTHONPATH": PACKAGE, "LD_LIBRARY_PATH": os.path.dirname(os.environ["WEIR_LIBRARY"])}
        installed = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
        self.assertEqual((installed.stdout, installed.stderr), (weir_throttle.library_version() + "\n", ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
