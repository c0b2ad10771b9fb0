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
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short} UNITY_BUILD ${WEIR_JOIN} UNITY_BUILD_BATCH_SIZE 24)
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

# What clang-tidy needs and no compiler made: the lint preset builds this alone.
add_custom_target(protos)

# weir_protos(<name> <folder>): a library of the C++ that protoc makes of the .proto files below the folder, by whose paths
# there they import each other and are included ("weir/v1/quota.pb.h").
function(weir_protos name folder)
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/${folder} ${folder}/*.proto)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${folder})
  file(MAKE_DIRECTORY ${made})
  set(sources)
  foreach(proto IN LISTS protos)
    string(REGEX REPLACE "[.]proto$" ".pb" stem ${made}/${proto})
    add_custom_command(OUTPUT ${stem}.cc ${stem}.h DEPENDS ${folder}/${proto} VERBATIM
                       COMMAND protobuf::protoc --cpp_out=${made} --proto_path=${folder} ${folder}/${proto}
                       WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} COMMENT "C++ of ${proto}")
    list(APPEND sources ${stem}.cc ${stem}.h)
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC ${made})
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
  target_compile_options(${name} PRIVATE -w)
  add_custom_target(${name}_made DEPENDS ${sources})
  add_dependencies(protos ${name}_made)
endfunction()
