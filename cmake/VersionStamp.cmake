# Writes STAMP, a header with the version and the commit of SOURCE, if they have changed.
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=8 --dirty --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${STAMP} CONTENT "#pragma once
#define MLXCEL_VERSION \"${VERSION}\"
#define MLXCEL_COMMIT \"${commit}\"
")
