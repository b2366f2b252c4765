# How every folder is built: one static library per folder, explicit lists, warnings as errors.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Parsing headers is half of a build. The sanitizer builds leave this off, so that a missing include shows.
option(MLXCEL_PCH "Precompile the headers that a folder's files share" OFF)

find_program(MLXCEL_CCACHE ccache)
if(MLXCEL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  if(MLXCEL_PCH)  # what ccache asks for before it caches files that use one
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1
                                            ${CMAKE_SOURCE_DIR}/cmake/compile.sh)
  endif()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER ${MLXCEL_CCACHE})
endif()

add_library(mlxcel_flags INTERFACE)
target_include_directories(mlxcel_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
# Every float operation is rounded by itself: a compiler that fuses or reorders changes bits.
target_compile_options(mlxcel_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-Wall;-Wextra;-Wshadow;-Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Werror=all-warnings>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(mlxcel_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
                         -Wno-missing-field-initializers)  # wrong on std::string (GCC bugs 105651, 105329)
endif()
if(MLXCEL_FUZZERS)  # so that the fuzzer sees which branches of the libraries its input reaches
  target_compile_options(mlxcel_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

set(MLXCEL_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined")
if(MLXCEL_SANITIZE)
  target_compile_options(mlxcel_flags INTERFACE -fsanitize=${MLXCEL_SANITIZE}
                                                -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(mlxcel_flags INTERFACE -fsanitize=${MLXCEL_SANITIZE})
endif()

if(CMAKE_CROSSCOMPILING)
  # A package of the host that names /usr/include must not bring in the host's C headers.
  list(APPEND CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES /usr/include)
endif()
find_package(Threads REQUIRED)
enable_testing()
if(MLXCEL_TESTS)
  if(MLXCEL_GTEST_SOURCE)  # cross builds: the host's library does not fit
    add_subdirectory(${MLXCEL_GTEST_SOURCE} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  else()
    find_package(GTest REQUIRED)
  endif()
endif()
set(MLXCEL_FUZZ_SECONDS 60 CACHE STRING "How long ctest runs each libFuzzer target")

if(MLXCEL_CCACHE)
  set(MLXCEL_PCH_FLAGS $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

# What runs once a command or once a request need not be fast: -O1 compiles it in half the time.
set(MLXCEL_COLD $<$<CONFIG:Release>:-O1>)

# mlxcel_pch(TARGET FLAGS): precompiles for TARGET what most of the tree includes. Targets with the same flags (GCC 12
# crashes where -O differs) share one compilation.
function(mlxcel_pch target flags)
  if(NOT MLXCEL_PCH)
    return()
  endif()
  string(SHA256 owner "${flags}")
  string(SUBSTRING ${owner} 0 8 owner)
  set(owner mlxcel_pch_${owner})
  if(NOT TARGET ${owner})
    file(WRITE ${CMAKE_BINARY_DIR}/generated/${owner}.cc "")
    add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/generated/${owner}.cc)
    target_link_libraries(${owner} PRIVATE mlxcel_base)
    target_compile_options(${owner} PRIVATE ${flags} ${MLXCEL_PCH_FLAGS})
    target_precompile_headers(${owner} PRIVATE <algorithm> <functional> <map> <memory> <string> <unordered_map> <vector>
                              <base/json.h> <base/result.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  target_compile_options(${target} PRIVATE ${MLXCEL_PCH_FLAGS})
endfunction()

# mlxcel_library(NAME [COLD] [PCH] SOURCES ... LINK ...): one folder's static library.
function(mlxcel_library name)
  cmake_parse_arguments(A "COLD;PCH" "" "SOURCES;LINK" ${ARGN})
  add_library(mlxcel_${name} STATIC ${A_SOURCES})
  set(flags "")
  if(A_COLD)
    set(flags ${MLXCEL_COLD})
  endif()
  target_compile_options(mlxcel_${name} PRIVATE ${flags})
  target_link_libraries(mlxcel_${name} PUBLIC mlxcel_flags ${A_LINK})
  if(A_PCH)
    mlxcel_pch(mlxcel_${name} "${flags}")
  endif()
endfunction()

# mlxcel_test(NAME SOURCES ... LINK ...): one gtest binary, run by ctest as one test.
function(mlxcel_test name)
  if(NOT MLXCEL_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  # What is tested is built as it ships; the tests themselves need not be fast.
  target_compile_options(${name} PRIVATE ${MLXCEL_COLD})
  target_link_libraries(${name} PRIVATE mlxcel_flags ${A_LINK} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(A_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}")
  endif()
endfunction()

# mlxcel_fuzzer(NAME SOURCES ... LINK ...): libFuzzer under clang; with other compilers a plain
# program that replays its corpus, so the kept inputs are tested everywhere.
function(mlxcel_fuzzer name)
  cmake_parse_arguments(A "" "CORPUS" "SOURCES;LINK" ${ARGN})
  if(MLXCEL_FUZZERS)
    add_executable(${name} ${A_SOURCES})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE mlxcel_flags ${A_LINK})
    # New inputs are kept in the build folder; one that crashes is written there as crash-*, and belongs into the
    # kept corpus together with its fix.
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/corpus/${name})
    add_test(NAME ${name}
             COMMAND ${name} -max_total_time=${MLXCEL_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048
                     -artifact_prefix=${CMAKE_BINARY_DIR}/crash-${name}-
                     ${CMAKE_BINARY_DIR}/corpus/${name} ${A_CORPUS}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  elseif(MLXCEL_TESTS)
    add_executable(${name} ${A_SOURCES} ${CMAKE_SOURCE_DIR}/tests/fuzz_replay.cc)
    target_link_libraries(${name} PRIVATE mlxcel_flags ${A_LINK})
    add_test(NAME ${name} COMMAND ${name} ${A_CORPUS} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()
