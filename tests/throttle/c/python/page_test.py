#!/usr/bin/python3
"""The page of weir_throttle: its blocks of Python run as they are printed, and the package installs. Status 77, skipped:
rocksdict is not here."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from planted import PACKAGE, SOURCE

TOOLS = os.path.join(os.path.abspath(SOURCE), "build/tools")
if not os.path.isdir(os.path.join(TOOLS, "rocksdict")):
    print("skipped: rocksdict is not here (.ci/test-tools brings it)")
    sys.exit(77)


def run(directory, *arguments, path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"}
    program = subprocess.run([sys.executable, *arguments], cwd=directory, env=environment, capture_output=True, text=True)
    return program.stdout + program.stderr, program.returncode


class PageTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def test_its_blocks_run(self):
        with open(os.path.join(PACKAGE, "README.md"), encoding="utf-8") as page:
            blocks = re.findall(r"^```python\n(.*?)^```$", page.read(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 3)
        output, status = run(self.directory, "-W", "error", "-c", "\n".join(blocks),
                             path=[PACKAGE, os.path.join(TOOLS, "rocksdict")])
        self.assertEqual(status, 0, output)
        self.assertIn("bytes_per_second", output)

    def test_the_package_installs(self):
        pip, setuptools = shutil.which("pip"), os.path.join(TOOLS, "setuptools")
        if pip is None or not os.path.isdir(setuptools):
            self.skipTest("pip or setuptools is not here")
        source = os.path.join(self.directory, "python")  # pip builds in the folder that it installs
        shutil.copytree(PACKAGE, source)
        installed = subprocess.run([pip, "install", "--no-index", "--no-deps", "--no-build-isolation",
                                    "--root-user-action=ignore", "--target", "installed", source],
                                   cwd=self.directory, env={**os.environ, "PYTHONPATH": setuptools}, capture_output=True,
                                   text=True, check=False)
        self.assertEqual(installed.returncode, 0, installed.stdout + installed.stderr)
        program = "import weir_throttle as w; print(w.__file__, w.library_version())"
        output, status = run(self.directory, "-c", program, path=[os.path.join(self.directory, "installed")])
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"installed/weir_throttle/__init__\.py \d+\.\d+")


if __name__ == "__main__":
    unittest.main(verbosity=2)
