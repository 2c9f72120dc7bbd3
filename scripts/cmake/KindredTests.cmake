# kindred_add_test(<name> SOURCES <file>... [LIBS <target>...] [LABELS <label>...] [TIMEOUT <seconds>])
# One GoogleTest program, and one CTest test for it. It finds tests/data through the macro
# KINDRED_TEST_DATA (an absolute path without a slash at its end), tests/models through
# KINDRED_TEST_MODELS. Tests labelled `unit` (the default) also run under the sanitizers.

if(KINDRED_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

function(kindred_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kindred_add_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main kindred_warnings)
  target_compile_definitions(${name} PRIVATE
    KINDRED_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
    KINDRED_TEST_MODELS="${CMAKE_SOURCE_DIR}/tests/models")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
  foreach(label IN LISTS arg_LABELS)
    if(NOT TARGET kindred_${label}_tests)
      add_custom_target(kindred_${label}_tests)
    endif()
    add_dependencies(kindred_${label}_tests ${name})
  endforeach()
endfunction()
