# loam_override(TARGET [QUIET] [ALLOW_SHARED_LIBRARY])
#
# Links loam into an executable so that it is the malloc of the whole program: as an object file,
# which no linker leaves out, ahead of every library. After the link `loam verify` proves it, if
# the command is found (LOAM_COMMAND) and the program is not cross-compiled; else its table of
# symbols does, but for Windows. Call it in the folder that adds the target. QUIET says nothing when all is well. ALLOW_SHARED_LIBRARY permits a shared
# library or module, which brings its malloc to every program that loads it.
#
# What cannot work ends the configuration with the reason and the way out: here, and once more when
# the whole project has been read, since flags and libraries may be added later.

# Callers' folders do not see variables of this one, but for those in the cache.
option(LOAM_ALLOW_OTHER_PLATFORMS "Let loam_override() go ahead where loam was never run" OFF)

function(loam_is_command variable program)
  set(${variable} FALSE PARENT_SCOPE)
  execute_process(COMMAND ${program} --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(version MATCHES "^loam [0-9]")
    set(${variable} TRUE PARENT_SCOPE)
  endif()
endfunction()

# LOAM_COMMAND, unless it was given. Another program of that name is passed over with its folder.
function(loam_find_command)
  if(DEFINED LOAM_COMMAND AND NOT LOAM_COMMAND MATCHES "-NOTFOUND$")
    return()
  endif()
  while(TRUE)
    find_program(LOAM_COMMAND loam HINTS ${LOAM_COMMAND_HINTS}
      DOC "The loam command, which verifies what loam_override() has linked")
    loam_is_command(is_command "${LOAM_COMMAND}")
    if(is_command OR NOT LOAM_COMMAND)
      return()
    endif()
    get_filename_component(folder ${LOAM_COMMAND} DIRECTORY)
    unset(LOAM_COMMAND CACHE)
    if(folder IN_LIST CMAKE_IGNORE_PATH)
      return()
    endif()
    list(APPEND CMAKE_IGNORE_PATH ${folder})
  endwhile()
endfunction()
loam_find_command()

function(loam_override target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "QUIET;ALLOW_SHARED_LIBRARY" "" "")
  if(arg_UNPARSED_ARGUMENTS)
    loam_refuse(${target} "unknown argument ${arg_UNPARSED_ARGUMENTS}"
      "The form is loam_override(TARGET [QUIET] [ALLOW_SHARED_LIBRARY])")
  endif()
  loam_check_target(${target} "${arg_ALLOW_SHARED_LIBRARY}")
  loam_check_platform(${target})
  loam_check_combination(${target})
  # EVAL CODE: the name as it is now, not what the variable holds then.
  cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${CMAKE_SOURCE_DIR}]]
    CALL loam_check_at_end [[${target}]])")
  # Not target_link_libraries(), whose two signatures a target must not mix.
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:loam::override>)
  target_include_directories(${target} PRIVATE
    $<TARGET_PROPERTY:loam::loam,INTERFACE_INCLUDE_DIRECTORIES>)
  loam_verify_after_link(${target} "${arg_QUIET}")
endfunction()

function(loam_refuse target reason way_out)
  message(FATAL_ERROR "loam_override(${target}): ${reason}. ${way_out}.")
endfunction()

function(loam_check_target target allow_shared_library)
  if(NOT TARGET ${target})
    loam_refuse(${target} "there is no such target" "Add it with add_executable() before")
  endif()
  get_target_property(imported ${target} IMPORTED)
  get_target_property(folder ${target} SOURCE_DIR)
  if(imported)
    loam_refuse(${target} "it is imported, so its link is over" "Preload libloam.so: loam run")
  endif()
  if(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    loam_refuse(${target} "it was added in ${folder}" "Call loam_override() there")
  endif()
  get_target_property(type ${target} TYPE)
  if(type MATCHES "^(SHARED|MODULE)_LIBRARY$")
    if(NOT allow_shared_library)
      loam_refuse(${target} "a shared library or module would force its malloc on every program \
that loads it"
        "Call it for the executables; or add ALLOW_SHARED_LIBRARY if that is what you want")
    endif()
  elseif(NOT type STREQUAL EXECUTABLE)
    loam_refuse(${target} "it is not linked by itself: its type is ${type}"
      "Call it for the executables that take it in")
  endif()
endfunction()

function(loam_check_platform target)
  # Where loam has been run: CMAKE_SYSTEM_NAME, processor, bytes of a pointer (-m32: x86_64-4).
  # Windows: under wine.
  set(platforms Linux-x86_64-8 Linux-aarch64-8 Linux-riscv64-8 Linux-arm-4 Linux-x86_64-4
                Windows-x86_64-8 Windows-x86_64-4)
  loam_processor(processor)
  loam_has_microsoft_abi(has_microsoft_abi)
  if(LOAM_ALLOW_OTHER_PLATFORMS)
    return()
  endif()
  math(EXPR bits "8 * 0${CMAKE_SIZEOF_VOID_P}")
  set(platform "${CMAKE_SYSTEM_NAME} on ${processor} with ${bits} bits")
  if(has_microsoft_abi)
    string(APPEND platform " and Microsoft's C runtime")
  elseif("${CMAKE_SYSTEM_NAME}-${processor}-${CMAKE_SIZEOF_VOID_P}" IN_LIST platforms)
    return()
  endif()
  loam_refuse(${target} "loam was never run on ${platform}"
    "Leave loam_override() out there; or set LOAM_ALLOW_OTHER_PLATFORMS=ON to try")
endfunction()

# The processor that is built for, by one name for each.
function(loam_processor variable)
  set(processor "${CMAKE_SYSTEM_PROCESSOR}")
  if(processor STREQUAL "") # a toolchain file need not name it
    execute_process(COMMAND ${CMAKE_C_COMPILER} -dumpmachine OUTPUT_VARIABLE processor ERROR_QUIET)
    string(REGEX REPLACE "-.*$" "" processor "${processor}")
  endif()
  string(REGEX REPLACE "^(AMD64|amd64|x64)$" "x86_64" processor "${processor}")
  string(REGEX REPLACE "^(ARM64|arm64)$" "aarch64" processor "${processor}")
  string(REGEX REPLACE "^arm(v7.*|hf)$" "arm" processor "${processor}")
  string(REGEX REPLACE "^(i[3-6]86|x86)$" "x86_64" processor "${processor}") # told by the 4 bytes
  set(${variable} "${processor}" PARENT_SCOPE)
endfunction()

# cl, clang-cl, or a clang that is told to build for them.
function(loam_has_microsoft_abi variable)
  set(${variable} FALSE PARENT_SCOPE)
  if(MSVC OR "MSVC" IN_LIST CMAKE_C_SIMULATE_ID OR "MSVC" IN_LIST CMAKE_CXX_SIMULATE_ID)
    set(${variable} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Everything that other calls may still change.
function(loam_check_combination target)
  loam_flags_of(${target} flags linked)
  loam_check_sanitizers(${target} "${flags}")
  loam_check_allocators(${target} "${linked}")
  loam_check_windows_runtime(${target} "${flags}")
  loam_check_debug_runtime(${target} "${linked}")
endfunction()

# And what other calls may still add.
function(loam_check_at_end target)
  loam_check_combination(${target})
  if(MINGW)
    loam_flags_of(${target} flags linked)
    loam_check_cpp_library(${target} "${flags}")
  endif()
endfunction()

function(loam_check_sanitizers target flags)
  # Those that bring a malloc of their own, or see every call of it.
  set(sanitizers "address|hwaddress|leak|memory|thread|scudo|kernel-address")
  # Each use counts by itself: a list such as -fsanitize=address,undefined, or several flags.
  string(REGEX MATCHALL "[-/]fsanitize=[a-z,-]+" uses "${flags}")
  foreach(use ${uses})
    string(REGEX REPLACE "^.*=" "," names "${use}")
    if("${names}," MATCHES ",(${sanitizers}),")
      loam_refuse(${target}
        "it is built with ${use}, and the ${CMAKE_MATCH_1} sanitizer needs malloc for itself"
        "Call loam_override() only in builds without it")
    endif()
  endforeach()
endfunction()

function(loam_check_allocators target linked)
  # File and target names of allocators that replace malloc.
  string(CONCAT allocators "^(lib|unofficial-)*(jemalloc|mimalloc|tcmalloc|gperftools|"
    "tbbmalloc_proxy|rpmalloc|rpmallocwrap|snmalloc|snmallocshim|hoard|scudo|ptmalloc3|nedmalloc|"
    "dlmalloc)([-_.].*)?$")
  foreach(item ${linked})
    # A file, a flag or a target: each part of NAMESPACE::NAME may be the allocator's name.
    string(REGEX REPLACE "^-l" "" names "${item}")
    string(REGEX REPLACE "^.*[/\\]" "" names "${names}")
    string(REPLACE "::" ";" names "${names}")
    foreach(name ${names})
      string(TOLOWER "${name}" name)
      if(name MATCHES "${allocators}")
        loam_refuse(${target} "it links ${item}, which replaces malloc as well"
          "Link one of the two only")
      endif()
    endforeach()
  endforeach()
endfunction()

# Only the static release runtime leaves its malloc to be replaced by a definition in the program.
function(loam_check_windows_runtime target flags)
  loam_has_microsoft_abi(has_microsoft_abi)
  if(NOT has_microsoft_abi)
    return()
  endif()
  get_target_property(runtime ${target} MSVC_RUNTIME_LIBRARY)
  if(NOT runtime)
    set(runtime "MultiThreaded$<$<CONFIG:Debug>:Debug>DLL")
  endif()
  loam_without_other_configurations(runtime "${runtime}")
  set(way_out "Set its MSVC_RUNTIME_LIBRARY to MultiThreaded")
  if(runtime MATCHES "Debug" OR flags MATCHES "[-/]M[DT]d")
    loam_refuse(${target}
      "it uses the Debug C runtime, which keeps its own records of each block"
      "${way_out}, or call loam_override() only in Release builds")
  elseif(runtime MATCHES "DLL" OR flags MATCHES "[-/]MD")
    loam_refuse(${target} "it uses the C runtime's DLL, whose malloc a program cannot replace"
      "${way_out}")
  endif()
endfunction()

# The Debug C runtime by name, as MinGW takes it.
function(loam_check_debug_runtime target linked)
  foreach(item ${linked})
    if(item MATCHES "^(-l)?(ucrtbased|msvcrtd|msvcr[0-9]+d)$")
      loam_refuse(${target}
        "it links ${item}, the Debug C runtime, which keeps its own records of each block"
        "Link the release form of that library")
    endif()
  endforeach()
endfunction()

# MinGW: a program takes loam's names before those of the C runtime's DLL, another DLL does not.
function(loam_check_cpp_library target flags)
  get_target_property(language ${target} LINKER_LANGUAGE)
  get_target_property(sources ${target} SOURCES)
  if((language STREQUAL CXX OR "${sources}" MATCHES "\\.(cc|cpp|cxx|c\\+\\+|C)(;|$)")
     AND NOT "${flags} " MATCHES "[ ;](-static|-static-libstdc\\+\\+)[ ;]")
    loam_refuse(${target}
      "it takes the C++ library as a DLL, whose operators new and delete stay on the C runtime's heap"
      "Add -static, or -static-libstdc++, to its link options")
  endif()
endfunction()

# The configurations that may be built, in upper case.
function(loam_configurations variable)
  set(configurations ${CMAKE_CONFIGURATION_TYPES})
  if(NOT configurations)
    set(configurations "${CMAKE_BUILD_TYPE}")
  endif()
  string(TOUPPER "${configurations}" configurations)
  set(${variable} "${configurations}" PARENT_SCOPE)
endfunction()

# $<$<CONFIG:X>:TEXT> is TEXT in what is built as X, and nothing elsewhere.
function(loam_without_other_configurations variable text)
  loam_configurations(configurations)
  while(text MATCHES "\\$<\\$<CONFIG:([A-Za-z0-9_]*)>:([^<>]*)>")
    set(whole "${CMAKE_MATCH_0}")
    set(inner "${CMAKE_MATCH_2}")
    string(TOUPPER "${CMAKE_MATCH_1}" name)
    if(NOT name IN_LIST configurations)
      set(inner "")
    endif()
    string(REPLACE "${whole}" "${inner}" text "${text}")
  endwhile()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

# loam_flags_of(TARGET FLAGS LINKED): every flag that takes part in TARGET's compilation or link,
# and every library, by target, file or flag, however indirectly it comes in.
function(loam_flags_of target flags_variable linked_variable)
  get_target_property(folder ${target} SOURCE_DIR)
  loam_variable_flags(flags ${folder})
  set(linked)
  set(queue ${target})
  while(queue)
    list(POP_FRONT queue item)
    if(item IN_LIST linked)
      continue()
    endif()
    list(APPEND linked "${item}")
    if(NOT TARGET "${item}")
      string(APPEND flags " ${item}")
      continue()
    endif()
    foreach(property COMPILE_OPTIONS COMPILE_FLAGS LINK_OPTIONS LINK_FLAGS INTERFACE_COMPILE_OPTIONS
                     INTERFACE_LINK_OPTIONS)
      loam_target_property(value ${item} ${property})
      string(APPEND flags " ${value}")
    endforeach()
    foreach(property IMPORTED_LOCATION LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      loam_target_property(value ${item} ${property})
      string(REGEX REPLACE "\\$<[A-Z_]+:([^<>]*)>" "\\1" value "${value}")
      list(APPEND queue ${value})
    endforeach()
  endwhile()
  list(POP_FRONT linked)
  set(${flags_variable} "${flags}" PARENT_SCOPE)
  set(${linked_variable} "${linked}" PARENT_SCOPE)
endfunction()

function(loam_target_property variable target property)
  get_target_property(value ${target} ${property})
  if(NOT value)
    set(value)
  endif()
  loam_without_other_configurations(value "${value}")
  set(${variable} "${value}" PARENT_SCOPE)
endfunction()

# The flags in variables, as the folder has them.
function(loam_variable_flags variable folder)
  loam_configurations(configurations)
  set(flags)
  foreach(name CMAKE_C_FLAGS CMAKE_CXX_FLAGS CMAKE_EXE_LINKER_FLAGS CMAKE_SHARED_LINKER_FLAGS
               CMAKE_MODULE_LINKER_FLAGS CMAKE_C_STANDARD_LIBRARIES CMAKE_CXX_STANDARD_LIBRARIES)
    set(full_names ${name})
    foreach(configuration ${configurations})
      list(APPEND full_names ${name}_${configuration})
    endforeach()
    foreach(full_name ${full_names})
      get_directory_property(value DIRECTORY ${folder} DEFINITION ${full_name})
      string(APPEND flags " ${value}")
    endforeach()
  endforeach()
  set(${variable} "${flags}" PARENT_SCOPE)
endfunction()

function(loam_check_command target)
  # It may be one that was given.
  loam_is_command(is_command "${LOAM_COMMAND}")
  if(NOT is_command)
    loam_refuse(${target} "LOAM_COMMAND is ${LOAM_COMMAND}, which is not the loam command"
      "Set it to the path of one; or to OFF, and nothing is verified")
  endif()
endfunction()

# What verifies a program after its link: the command, or its table of symbols, or nothing.
function(loam_verify_after_link target quiet)
  get_target_property(type ${target} TYPE)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  set(check)
  if(NOT type STREQUAL EXECUTABLE)
    set(outcome "not verified: it is no program")
  elseif(LOAM_COMMAND AND (NOT CMAKE_CROSSCOMPILING OR MINGW)) # for Windows the file alone tells
    loam_check_command(${target})
    set(outcome "verified after each link")
    set(check -DLOAM_COMMAND=${LOAM_COMMAND} -P ${folder}/loam-verify.cmake)
  elseif(DEFINED LOAM_COMMAND AND LOAM_COMMAND STREQUAL OFF)
    set(outcome "not verified: LOAM_COMMAND is OFF")
  elseif(MINGW OR NOT CMAKE_NM)
    set(outcome "not verified: the loam command was not found; build it, or set LOAM_COMMAND")
  else()
    set(outcome "its symbols are verified after each link")
    set(check -DNM=${CMAKE_NM} -P ${folder}/loam-verify-symbols.cmake)
  endif()
  if(check)
    add_custom_command(TARGET ${target} POST_BUILD VERBATIM
      COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> ${check})
  endif()
  if(NOT quiet)
    message(STATUS "loam_override(${target}): ${outcome}")
  endif()
endfunction()
