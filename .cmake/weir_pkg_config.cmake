# weir_pkg_config(<name> <description> REQUIRES package… LIBRARIES library…): installs <name>.pc for programs that are built
# without CMake. Its paths are relative to its own, so the installation may be moved. All libraries but that of C are
# archives, which a program needs whether or not it asks for --static, so nothing is private.
function(weir_pkg_config name description)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "REQUIRES;LIBRARIES")
  set(directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH up /prefix/${directory} /prefix)
  string(REGEX REPLACE "/$" "" up ${up})
  list(JOIN ARG_REQUIRES ", " requires)
  list(JOIN ARG_LIBRARIES " " libraries)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.pc @ONLY CONTENT "\
prefix=\${pcfiledir}/@up@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
libdir=\${prefix}/@CMAKE_INSTALL_LIBDIR@

Name: @name@
Description: @description@
Version: @PROJECT_VERSION@
Requires: @requires@
Cflags: -I\${includedir} -I\${includedir}/weir -pthread
Libs: -L\${libdir} @libraries@
")
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${directory})
endfunction()

weir_pkg_config(weir-throttle "Throttle that keeps a storage engine at its level"
                LIBRARIES -lweir_throttle -lweir_monitors_core -lweir_config -pthread)
weir_pkg_config(weir-rocksdb-throttle "RocksDB whose writes wait before it stalls"
                REQUIRES "weir-throttle = ${PROJECT_VERSION}" rocksdb LIBRARIES -lweir_rocksdb_throttle -lweir_monitors)
if(TARGET weir_c)
  weir_pkg_config(weir "Throttle of a RocksDB for programs in other languages" LIBRARIES -lweir)
endif()
