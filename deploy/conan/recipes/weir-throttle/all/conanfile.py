"""weir-throttle: the libraries that throttle a RocksDB, built from the checkout of weir in which this recipe stands. Add deploy/conan
as a remote of the type local-recipes-index, or export the recipe from its folder.

rocksdb=conan takes RocksDB from another recipe, as ConanCenter has it; rocksdb=system the one that the system has installed, such
as Debian's librocksdb-dev, and links it as the system does."""
import os
import shutil

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir
from conan.tools.system.package_manager import Apt

required_conan_version = ">=2.2"


class WeirThrottle(ConanFile):
    name = "weir-throttle"
    description = "Makes bulk work wait before RocksDB has to slow down or stop all writes"
    license = "MIT"
    topics = ("rocksdb", "throttle", "rate-limit", "write-stall")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"rocksdb": ["conan", "system"], "fPIC": [True, False]}
    # ThrottledDb derives from RocksDB's classes, so it needs their type information.
    default_options = {"rocksdb": "conan", "fPIC": True, "rocksdb/*:use_rtti": True, "rocksdb/*:shared": False}

    def export_sources(self):
        checkout = os.path.join(self.recipe_folder, "..", "..", "..", "..", "..")
        for file in ("CMakeLists.txt", "LICENSE"):
            shutil.copy(os.path.join(checkout, file), self.export_sources_folder)
        for folder in (".cmake", "config", "monitors", "throttle"):
            copy(self, "*", os.path.join(checkout, folder), os.path.join(self.export_sources_folder, folder))

    def requirements(self):
        if self.options.rocksdb == "conan":
            self.requires("rocksdb/[>=7.8 <12]", transitive_headers=True, transitive_libs=True)

    def system_requirements(self):
        if self.options.rocksdb == "system":
            Apt(self).install(["librocksdb-dev"], check=True)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.ref} reads Linux's /proc and cgroups; there is no weir for {self.settings.os}")
        if self.options.rocksdb != "conan":
            return
        rocksdb = self.dependencies["rocksdb"].options
        if not rocksdb.get_safe("use_rtti", True):
            raise ConanInvalidConfiguration(f"{self.ref} derives from RocksDB's classes: set rocksdb/*:use_rtti=True")
        if rocksdb.get_safe("shared", False):
            raise ConanInvalidConfiguration(
                f"{self.ref} includes RocksDB's C++ headers, which the shared package lacks: set rocksdb/*:shared=False")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for option in ("WEIR_PROGRAM", "WEIR_TESTS", "WEIR_WERROR", "BUILD_SHARED_LIBS"):
            toolchain.cache_variables[option] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan generates these for the program that uses the package.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "weir")
        for library, requires in {
            "config": [],
            "monitors_core": ["config"],
            "monitors": ["monitors_core"],
            "throttle": ["monitors_core"],
            "rocksdb_throttle": ["monitors", "throttle"],
        }.items():
            component = self.cpp_info.components[library]
            component.set_property("cmake_target_name", f"weir::{library}")
            component.libs = [f"weir_{library}"]
            component.includedirs = ["include", os.path.join("include", "weir")]
            component.requires = requires
        self.cpp_info.components["monitors_core"].system_libs = ["pthread"]
        if self.options.rocksdb == "conan":
            self.cpp_info.components["monitors"].requires.append("rocksdb::rocksdb")
        else:
            self.cpp_info.components["monitors"].system_libs = ["rocksdb"]
        self.cpp_info.components["throttle"].set_property("pkg_config_name", "weir-throttle")
        self.cpp_info.components["rocksdb_throttle"].set_property("pkg_config_name", "weir-rocksdb-throttle")
