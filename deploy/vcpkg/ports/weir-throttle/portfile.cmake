# The libraries of weir that throttle a RocksDB, built from the checkout in which this registry stands. vcpkg does not hash that
# checkout, so `vcpkg install --no-binarycaching` is needed after it has changed.
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)

get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/throttle/CMakeLists.txt")
  message(FATAL_ERROR "${CMAKE_CURRENT_LIST_DIR} is not in a checkout of weir, which this port builds: let vcpkg-configuration.json name "
                      "the registry deploy/vcpkg of a checkout, as a registry of the kind filesystem")
endif()

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DWEIR_PROGRAM=OFF -DWEIR_TESTS=OFF -DWEIR_WERROR=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME weir CONFIG_PATH lib/cmake/weir)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
