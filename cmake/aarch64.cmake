# Cross build for aarch64 with Debian's compiler; programs run under qemu-user.
# The header-only libraries are the host's: they are reached through a folder of links, because /usr/include itself would
# also bring the host's C headers.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")

set(headers ${CMAKE_CURRENT_LIST_DIR}/../build/host-headers)
file(MAKE_DIRECTORY ${headers})
foreach(name hwy boost CLI)
  if(NOT EXISTS ${headers}/${name})
    file(CREATE_LINK /usr/include/${name} ${headers}/${name} SYMBOLIC)
  endif()
endforeach()
file(REAL_PATH ${headers} headers)
set(Boost_NO_BOOST_CMAKE ON)
set(Boost_INCLUDE_DIR ${headers} CACHE PATH "")
set(MLXCEL_HIGHWAY_INCLUDE ${headers} CACHE PATH "")
set(CMAKE_CXX_FLAGS_INIT "-isystem ${headers}")
# GoogleTest is built from Debian's copy of its source.
set(MLXCEL_GTEST_SOURCE /usr/src/googletest CACHE PATH "")
