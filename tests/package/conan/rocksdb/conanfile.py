"""The RocksDB of the system, with the names and options that ConanCenter's recipe has."""
from conan import ConanFile


class SystemRocksDb(ConanFile):
    name = "rocksdb"
    options = {"shared": [True, False], "use_rtti": [True, False]}
    default_options = {"shared": False, "use_rtti": False}

    def package_info(self):
        self.cpp_info.includedirs = self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "RocksDB")
        component = self.cpp_info.components["librocksdb"]
        component.set_property("cmake_target_name", "RocksDB::rocksdb")
        component.includedirs = component.libdirs = []
        component.system_libs = ["rocksdb"]
