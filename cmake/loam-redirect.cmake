# loam_redirect(TARGET): a program of MSVC or clang-cl on the runtime's DLLs (/MD) has loam as its
# malloc. Stands in the folder windows/ of a release, beside what it links:
#
#   include(C:/loam/windows/loam-redirect.cmake)
#   loam_redirect(program)
#
# loam-redirect.dll becomes the program's first import, so that it is loaded before any block is
# taken, and is copied beside the program.
set(LOAM_REDIRECT_FOLDER ${CMAKE_CURRENT_LIST_DIR})

function(loam_redirect target)
  get_target_property(type ${target} TYPE)
  get_target_property(runtime ${target} MSVC_RUNTIME_LIBRARY)
  if(NOT type STREQUAL EXECUTABLE)
    message(FATAL_ERROR "loam_redirect(${target}): it is no program: a library would bring loam to "
                        "every program that loads it, and too late")
  elseif(NOT MSVC AND NOT CMAKE_C_SIMULATE_ID STREQUAL MSVC AND
         NOT CMAKE_CXX_SIMULATE_ID STREQUAL MSVC)
    message(FATAL_ERROR "loam_redirect(${target}): the compiler is not MSVC or its like: "
                        "loam_override() is for the others")
  elseif(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    message(FATAL_ERROR "loam_redirect(${target}): only 64-bit programs are redirected")
  elseif(runtime AND NOT runtime MATCHES "DLL")
    message(FATAL_ERROR "loam_redirect(${target}): it has the runtime inside (${runtime}): link "
                        "loam-msvc-x64.obj, or choose MultiThreadedDLL")
  endif()
  # As options, which stand before all objects and libraries.
  target_link_options(${target} BEFORE PRIVATE LINKER:/INCLUDE:__imp_loam_redirect
    ${LOAM_REDIRECT_FOLDER}/loam-redirect.lib)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${LOAM_REDIRECT_FOLDER}/loam-redirect.dll
      $<TARGET_FILE_DIR:${target}> VERBATIM)
endfunction()
