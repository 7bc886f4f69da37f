# Libraries that hone stands on, all from the distribution.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
# The serial build of OpenBLAS: hone brings its own threads. Other packages may make a threaded one the default.
find_path(OPENBLAS_INCLUDE cblas.h PATHS /usr/include/x86_64-linux-gnu/openblas-serial
          /usr/include/aarch64-linux-gnu/openblas-serial NO_DEFAULT_PATH)
find_library(OPENBLAS_LIBRARY openblas PATHS /usr/lib/x86_64-linux-gnu/openblas-serial
             /usr/lib/aarch64-linux-gnu/openblas-serial NO_DEFAULT_PATH)
if(NOT OPENBLAS_INCLUDE OR NOT OPENBLAS_LIBRARY)
  message(FATAL_ERROR "OpenBLAS (serial) is missing: run 'make deps', or install libopenblas-serial-dev")
endif()
