# How every target is compiled: warnings, sanitizers, ccache, where the program goes.

option(KINDRED_WERROR "Treat warnings as errors" ON)
option(KINDRED_TESTS "Build the tests" ON)
set(KINDRED_SANITIZE "" CACHE STRING "Value for -fsanitize=, for example address,undefined")

# The program lies at the top of the build directory, the tests in bin/ (scripts/cmake/KindredTests.cmake).
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")

# Results are shared between build directories (NOHASHDIR), so that a second preset costs little.
find_program(KINDRED_CCACHE ccache)
if(KINDRED_CCACHE)
  foreach(language IN ITEMS C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER
          "${CMAKE_COMMAND};-E;env;CCACHE_NOHASHDIR=1;${KINDRED_CCACHE}")
    endif()
  endforeach()
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Linked PRIVATE by every target of ours.
add_library(kindred_warnings INTERFACE)
target_compile_options(kindred_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
if(KINDRED_WERROR)
  target_compile_options(kindred_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Both report errors that are not there inside std::string and std::optional when these are
  # inlined (GCC PR 105651).
  target_compile_options(kindred_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(kindred_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)
endif()

# Includes start at the root of the repository.
include_directories("${CMAKE_SOURCE_DIR}")

if(KINDRED_SANITIZE)
  add_compile_options(-fsanitize=${KINDRED_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KINDRED_SANITIZE})
endif()
