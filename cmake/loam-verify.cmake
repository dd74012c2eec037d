# Fails unless PROGRAM, as it was linked, has loam in it and allocates with nothing else.
#   cmake -DLOAM_COMMAND=/path/loam -DPROGRAM=/path/program -P loam-verify.cmake
execute_process(COMMAND ${LOAM_COMMAND} verify --json ${PROGRAM}
  OUTPUT_VARIABLE json ERROR_VARIABLE error RESULT_VARIABLE status)
if(status EQUAL 2 OR NOT status MATCHES "^[01]$")
  message(WARNING "${PROGRAM}: loam could not be verified: ${error}${status}")
  return()
endif()
string(JSON verdict GET "${json}" verdict)
string(JSON library GET "${json}" library)
string(JSON program GET "${json}" program)
# Not loaded, or preloaded by an LD_PRELOAD that happens to be set.
if(verdict MATCHES "^loam is not loaded" OR status EQUAL 0 AND NOT library STREQUAL program)
  message(FATAL_ERROR "${PROGRAM}: the link has left loam out.")
endif()
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM}: not all of it allocates with loam: ${verdict}. "
    "Run `${LOAM_COMMAND} verify ${PROGRAM}` for the details.")
endif()
