# weir_library(<name> SOURCES … [PUBLIC lib…] [PRIVATE lib…]): one static library of a room, also known as weir::<rest>.
function(weir_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;PUBLIC;PRIVATE")
  string(REGEX REPLACE "^weir_" "" short "${name}")
  add_library(${name} STATIC ${ARG_SOURCES})
  # Installed headers are found both as <weir/throttle/x.h> and as they include each other, "throttle/x.h".
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<INSTALL_INTERFACE:include>"
                                            "$<INSTALL_INTERFACE:include/weir>")
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short} UNITY_BUILD ${WEIR_JOIN} UNITY_BUILD_BATCH_SIZE 5)
  add_library(weir::${short} ALIAS ${name})
endfunction()

# weir_glob(<variable> <pattern>… [EXCLUDE regex]): sources of this directory, looked up again at every build.
function(weir_glob variable)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "EXCLUDE" "")
  file(GLOB files CONFIGURE_DEPENDS ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_EXCLUDE)
    list(FILTER files EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  set(${variable} "${files}" PARENT_SCOPE)
endfunction()
