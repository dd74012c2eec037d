# What loam-verify.cmake does, where there is no loam command: fails unless the malloc family of
# PROGRAM is loam's, by its table of symbols. Each of these functions has another name in loam, so
# that both have one address; none may come from a library.
#   cmake -DNM=/path/nm -DPROGRAM=/path/program -P loam-verify-symbols.cmake
set(functions malloc calloc realloc free aligned_alloc posix_memalign memalign reallocarray
  malloc_usable_size free_sized free_aligned_sized)
set(way_out "The loam command says more: set LOAM_COMMAND to its path.")

execute_process(COMMAND ${NM} -g ${PROGRAM}
  OUTPUT_VARIABLE symbols ERROR_VARIABLE error RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR symbols STREQUAL "")
  string(STRIP "${error}" error)
  message(WARNING "${PROGRAM}: loam could not be verified: ${error}. ${way_out}")
  return()
endif()
string(PREPEND symbols "                   \n") # so that something stands before each name

# address_of(VARIABLE NAME): "imported" for a name that the program takes from a library, and
# nothing for one that it does not have.
function(address_of variable name)
  set(${variable} "" PARENT_SCOPE)
  string(FIND "${symbols}" " U ${name}@" imported_at)
  string(FIND "${symbols}" " ${name}\n" name_at)
  if(NOT imported_at EQUAL -1)
    set(${variable} imported PARENT_SCOPE)
  elseif(NOT name_at EQUAL -1) # before it stand the address, in 8 or 16 digits, and the kind
    math(EXPR start "${name_at} - 19")
    string(SUBSTRING "${symbols}" ${start} 19 before)
    if(before MATCHES "([0-9a-f]+) [A-Za-z]$")
      set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    else()
      set(${variable} imported PARENT_SCOPE)
    endif()
  endif()
endfunction()

address_of(loam loam_malloc)
if(NOT loam MATCHES "^[0-9a-f]+$")
  message(FATAL_ERROR "${PROGRAM}: the link has left loam out. ${way_out}")
endif()
foreach(function ${functions})
  address_of(address ${function})
  address_of(loam loam_${function})
  if(NOT address STREQUAL "" AND NOT address STREQUAL loam)
    message(FATAL_ERROR "${PROGRAM}: its ${function} is not loam's. ${way_out}")
  endif()
endforeach()
# operator new, new[], delete, delete[]: loam has all forms of them.
if(symbols MATCHES "\n +[Uwv] (_Z(nw|na|dl|da)[A-Za-z0-9_]+)")
  message(FATAL_ERROR "${PROGRAM}: its ${CMAKE_MATCH_1} is not loam's. ${way_out}")
endif()
