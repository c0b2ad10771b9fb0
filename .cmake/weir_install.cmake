# What `cmake --install` puts under its prefix: the program, and for each exported library the archive, its headers and
# a target file of its own, so that a user of one room need not have the dependencies of another.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

foreach(component config config_yaml monitors_core monitors throttle)
  install(TARGETS weir_${component} EXPORT weir-${component})
  install(EXPORT weir-${component} NAMESPACE weir:: DESTINATION ${config_dir} FILE weir-${component}.cmake)
endforeach()

install(DIRECTORY config monitors throttle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir
        FILES_MATCHING PATTERN "*.h" PATTERN "*_command.h" EXCLUDE PATTERN "yaml_tree.h" EXCLUDE)
install(TARGETS weir)

configure_package_config_file(.cmake/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake
                              INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${config_dir})
