# Third-party libraries, all of them Debian packages (.ci/install-deps).
find_package(Threads REQUIRED)

# weir_first_target(<variable> <target>…): the first of these that is there, because other versions have other names.
function(weir_first_target variable)
  foreach(name IN LISTS ARGN)
    if(TARGET ${name})
      set(${variable} ${name} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "none of these targets is there: ${ARGN}")
endfunction()

find_package(RocksDB CONFIG REQUIRED)
weir_first_target(WEIR_ROCKSDB RocksDB::rocksdb-shared RocksDB::rocksdb)  # a package manager may have the archive alone
if(NOT WEIR_PROGRAM)
  return()  # the throttle's libraries need no more
endif()

find_package(Boost 1.81 CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(simdjson CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Protobuf REQUIRED)
set(PostgreSQL_ADDITIONAL_VERSIONS 15 16 17 18)
find_package(PostgreSQL REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)

weir_first_target(WEIR_YAML_CPP yaml-cpp::yaml-cpp yaml-cpp)
weir_first_target(WEIR_SQLITE SQLite3::SQLite3 SQLite::SQLite3)

# These come without a CMake configuration.
find_library(WEIR_SECP256K1_LIBRARY secp256k1 REQUIRED)
add_library(weir_secp256k1 INTERFACE)
target_link_libraries(weir_secp256k1 INTERFACE ${WEIR_SECP256K1_LIBRARY})

find_library(WEIR_HIREDIS_LIBRARY hiredis REQUIRED)
add_library(weir_hiredis INTERFACE)
target_link_libraries(weir_hiredis INTERFACE $<BUILD_INTERFACE:${WEIR_HIREDIS_LIBRARY}> $<INSTALL_INTERFACE:hiredis>)
set_target_properties(weir_hiredis PROPERTIES EXPORT_NAME hiredis)

find_library(WEIR_MARIADB_LIBRARY mariadb REQUIRED)
add_library(weir_mariadb INTERFACE)
target_link_libraries(weir_mariadb INTERFACE $<BUILD_INTERFACE:${WEIR_MARIADB_LIBRARY}> $<INSTALL_INTERFACE:mariadb>)
set_target_properties(weir_mariadb PROPERTIES EXPORT_NAME mariadb)

find_library(WEIR_RE2_LIBRARY re2 REQUIRED)
add_library(weir_re2 INTERFACE)
target_link_libraries(weir_re2 INTERFACE $<BUILD_INTERFACE:${WEIR_RE2_LIBRARY}> $<INSTALL_INTERFACE:re2>)
set_target_properties(weir_re2 PROPERTIES EXPORT_NAME re2)

find_library(WEIR_UTF8PROC_LIBRARY utf8proc REQUIRED)
add_library(weir_utf8proc INTERFACE)
target_link_libraries(weir_utf8proc INTERFACE ${WEIR_UTF8PROC_LIBRARY})

# Abseil's own targets bring linker options that come in pairs, of which CMake drops some beside those of others.
find_library(WEIR_ABSL_TIME_LIBRARY absl_time REQUIRED)
find_library(WEIR_ABSL_TIME_ZONE_LIBRARY absl_time_zone REQUIRED)
add_library(weir_absl_time INTERFACE)
target_link_libraries(weir_absl_time INTERFACE
                      $<BUILD_INTERFACE:${WEIR_ABSL_TIME_LIBRARY}> $<BUILD_INTERFACE:${WEIR_ABSL_TIME_ZONE_LIBRARY}>
                      $<INSTALL_INTERFACE:absl_time> $<INSTALL_INTERFACE:absl_time_zone>)
set_target_properties(weir_absl_time PROPERTIES EXPORT_NAME absl_time)

find_library(WEIR_NGHTTP2_LIBRARY nghttp2 REQUIRED)
add_library(weir_nghttp2 INTERFACE)
target_link_libraries(weir_nghttp2 INTERFACE ${WEIR_NGHTTP2_LIBRARY})

find_library(WEIR_ZSTD_LIBRARY zstd REQUIRED)
add_library(weir_zstd INTERFACE)
target_link_libraries(weir_zstd INTERFACE ${WEIR_ZSTD_LIBRARY})

find_library(WEIR_JEMALLOC_LIBRARY jemalloc REQUIRED)
add_library(weir_jemalloc INTERFACE)
target_link_libraries(weir_jemalloc INTERFACE ${WEIR_JEMALLOC_LIBRARY})

if(WEIR_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(benchmark CONFIG REQUIRED)
  find_library(WEIR_RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
  find_path(WEIR_RAPIDCHECK_INCLUDE rapidcheck.h REQUIRED)
  add_library(weir_rapidcheck INTERFACE)
  target_include_directories(weir_rapidcheck SYSTEM INTERFACE ${WEIR_RAPIDCHECK_INCLUDE})
  target_link_libraries(weir_rapidcheck INTERFACE ${WEIR_RAPIDCHECK_LIBRARY})
endif()
