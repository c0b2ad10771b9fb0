# Stands in for vcpkg, of which a test has no copy: `cmake -DREGISTRY=… -DPORT=… -DVERSION=… -DWORK=… -DCOMPILER=… -P` of this finds
# a port in a registry of the kind filesystem, which must have it in this version, and runs it. The functions do what the port asks
# vcpkg to do, for Linux and archives. The package is at ${WORK}/packages.
cmake_minimum_required(VERSION 3.25)

file(READ ${REGISTRY}/versions/baseline.json baselines)
string(JSON baseline GET "${baselines}" default ${PORT} baseline)
string(SUBSTRING ${PORT} 0 1 letter)
file(READ ${REGISTRY}/versions/${letter}-/${PORT}.json versions)
string(JSON newest GET "${versions}" versions 0 version)
string(JSON port_dir GET "${versions}" versions 0 path)
string(REPLACE "$" ${REGISTRY} port_dir ${port_dir})
file(READ ${port_dir}/vcpkg.json manifest)
string(JSON version GET "${manifest}" version)
string(JSON name GET "${manifest}" name)
if(NOT "${name} ${version} ${newest} ${baseline}" STREQUAL "${PORT} ${VERSION} ${VERSION} ${VERSION}")
  message(FATAL_ERROR "versions/baseline.json has ${PORT} ${baseline}, versions/${letter}-/${PORT}.json ${newest} first, and ${port_dir} "
                      "is ${name} ${version}: all must be ${PORT} ${VERSION}")
endif()

set(CURRENT_PACKAGES_DIR ${WORK}/packages)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

function(vcpkg_check_linkage)
  if(NOT ARGV STREQUAL "ONLY_STATIC_LIBRARY")
    message(FATAL_ERROR "vcpkg_check_linkage(${ARGV}): the test knows ONLY_STATIC_LIBRARY")
  endif()
endfunction()

# Both builds have the same flags, so that ccache compiles once.
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure(${arg_UNPARSED_ARGUMENTS}): the test does not know this")
  endif()
  foreach(type Release Debug)
    string(TOUPPER ${type} upper)
    set(prefix ${CURRENT_PACKAGES_DIR})
    if(type STREQUAL Debug)
      set(prefix ${CURRENT_PACKAGES_DIR}/debug)
    endif()
    run(${CMAKE_COMMAND} -G Ninja -S ${arg_SOURCE_PATH} -B ${WORK}/${type} -DCMAKE_BUILD_TYPE=${type} -DCMAKE_INSTALL_PREFIX=${prefix}
        -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS_${upper}=-O0 -DBUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_LIBDIR=lib
        -DCMAKE_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION=ON ${arg_OPTIONS})
    file(STRINGS ${WORK}/${type}/CMakeCache.txt unused REGEX "^WEIR_[A-Z]+:UNINITIALIZED")
    if(unused)
      message(FATAL_ERROR "the project has no such options: ${unused}")
    endif()
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  foreach(type Release Debug)
    run(${CMAKE_COMMAND} --build ${WORK}/${type} --target install)
  endforeach()
endfunction()

# Moves the configuration to share, where it is two folders below the prefix, with the debug libraries beside the release ones. Leaves
# in debug/share what is no longer needed there, as vcpkg does for files of the names that weir's have.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  set(share ${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME})
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*.cmake)
  file(COPY ${files} DESTINATION ${share})
  file(GLOB debugs ${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH}/*-debug.cmake)
  foreach(debug IN LISTS debugs)
    file(READ ${debug} text)
    string(REPLACE "\${_IMPORT_PREFIX}/lib" "\${_IMPORT_PREFIX}/debug/lib" text "${text}")
    cmake_path(GET debug FILENAME name)
    file(WRITE ${share}/${name} "${text}")
  endforeach()
  file(GLOB files ${share}/*.cmake)
  set(step "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "${step}${step}${step}" "${step}${step}" text "${text}")
    string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
  file(GLOB left ${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH}/*.cmake)
  file(COPY ${left} DESTINATION ${CURRENT_PACKAGES_DIR}/debug/share/${arg_PACKAGE_NAME})
  foreach(prefix ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/debug)
    cmake_path(GET arg_CONFIG_PATH PARENT_PATH parent)
    file(REMOVE_RECURSE ${prefix}/${parent})
  endforeach()
endfunction()

# weir's files for pkg-config hold wherever they are; examples.sh uses those of the release.
function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${port_dir}/portfile.cmake)
