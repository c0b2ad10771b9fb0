# Flags for all of weir's own code; none of them reaches a program that links the installed libraries.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wfloat-conversion
                    -Wno-missing-field-initializers -fdiagnostics-color=auto)
if(WEIR_WERROR)
  add_compile_options(-Werror)
endif()

# g++ 12 and 13 are wrong about lengths: of operator+ of std::string, and of how fmt 9 prints a double. The address sanitizer
# sees what is behind these warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)  # config/mutex.h
endif()

# Where sources are compiled together, g++ takes the anonymous namespace of one for that of a header.
if(WEIR_JOIN AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-subobject-linkage)
endif()

if(WEIR_SANITIZE)
  set(sanitizer_options -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The code that a sanitizer inserts misleads g++.
    list(APPEND sanitizer_options -Wno-maybe-uninitialized)
    if(WEIR_SANITIZE MATCHES thread)
      list(APPEND sanitizer_options -Wno-tsan)  # this sanitizer does not follow Asio's fences
    endif()
  endif()
  # These find what the address sanitizer finds as well, or nothing without optimisation, for a fifth of the compiling. clang 14
  # cannot compile coroutines with "function".
  list(APPEND sanitizer_options -fno-sanitize=vptr,null,object-size$<$<CXX_COMPILER_ID:Clang>:,function>)
  # assert's __FILE__ is a path below the source directory, so that every clone finds the same in ccache.
  list(APPEND sanitizer_options -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  add_compile_options(${sanitizer_options})
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  find_program(WEIR_LLD ld.lld)
  if(WEIR_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_link_options(-fuse-ld=lld)  # links a hundred programs in a third of the time
  endif()
endif()

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE)
  # Paths below the source directory are hashed as relative ones, so that every clone shares one cache. Without this
  # sloppiness ccache refuses every file that uses the tests' precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${WEIR_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    add_compile_options(-fpch-preprocess)
  endif()
endif()
