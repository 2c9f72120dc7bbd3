# The version as text, in a header of the build directory that one source file includes
# ("kindred_version.h"; link kindred::version): the project's version, and the commit where the sources
# are a git checkout.

set(KINDRED_VERSION_TEXT "${PROJECT_VERSION}")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS "${CMAKE_SOURCE_DIR}/.git")
  execute_process(
    COMMAND "${GIT_EXECUTABLE}" describe --always --abbrev=10 --exclude=*
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET
    RESULT_VARIABLE failed)
  if(NOT failed AND commit)
    string(APPEND KINDRED_VERSION_TEXT "+${commit}")
  endif()
endif()
configure_file("${CMAKE_SOURCE_DIR}/scripts/cmake/kindred_version.h.in"
               "${CMAKE_BINARY_DIR}/generated/kindred_version.h" @ONLY)
add_library(kindred_version INTERFACE)
add_library(kindred::version ALIAS kindred_version)
target_include_directories(kindred_version INTERFACE "${CMAKE_BINARY_DIR}/generated")
