"""Builds the programs of throttle/examples with the package, and runs them."""
import os
import tempfile

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class WeirThrottleTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join(*[".."] * 6, "throttle", "examples"))
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        with tempfile.TemporaryDirectory() as scratch:
            for program, size in (("own_engine", ""), ("transaction", ""), ("ask_by_hand", ""), ("bulk_load", " 4")):
                database = os.path.join(scratch, program) + size if program != "own_engine" else ""
                self.run(f"{os.path.join(self.cpp.build.bindir, program)} {database}", env="conanrun")
