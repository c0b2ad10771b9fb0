# What `cmake --install` puts under its prefix: the program, and for each exported library the archive, its headers and
# a target file of its own, so that a user of one room need not have the dependencies of another.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

# What Redis links has no CMake configuration: strangers link it by its name, which weirConfig.cmake looks for.
install(TARGETS weir_hiredis EXPORT weir-quota_redis)
foreach(component config config_yaml monitors_core monitors throttle
                  quota quota_yaml quota_sqlite quota_redis quota_stores)
  install(TARGETS weir_${component} EXPORT weir-${component})
  install(EXPORT weir-${component} NAMESPACE weir:: DESTINATION ${config_dir} FILE weir-${component}.cmake)
endforeach()

install(DIRECTORY config monitors throttle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir
        FILES_MATCHING PATTERN "*.h" PATTERN "*_command.h" EXCLUDE PATTERN "yaml_tree.h" EXCLUDE
        PATTERN "quota" EXCLUDE)
# Of the quotas most headers are the stores' own.
set(quota_headers limit memory_store migrate name_map open_store profiles quota quota_config_reader quota_limiter
    quota_store tier_rules yaml_store sqlite/sqlite_store redis/redis_store)
foreach(header ${quota_headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES throttle/quota/${header}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir/throttle/quota/${folder})
endforeach()
install(TARGETS weir)

configure_package_config_file(.cmake/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake
                              INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${config_dir})
