# loam-redirect.dll and loam-run.exe, and programs on the UCRT's DLLs, as those of MSVC are (/MD).
set(redirect ${CMAKE_CURRENT_SOURCE_DIR}/redirect)
set(made ${bin}/redirect)
file(GLOB_RECURSE redirect_sources CONFIGURE_DEPENDS ${root}/src/*.c ${root}/src/*.h
  ${root}/src/redirect/*.def)
set(redirect_programs)

# redirect_library(FOLDER COMMAND...): the library and the launcher, by a command that makes them.
function(redirect_library folder)
  add_custom_command(OUTPUT ${folder}/loam-redirect.dll ${folder}/loam-run.exe
      ${folder}/loam-redirect.lib ${folder}/loam-redirect.cmake ${folder}/loam-msvc-x64.obj
    COMMAND ${ARGN}
    DEPENDS ${redirect_sources} ${root}/scripts/windows.sh ${root}/scripts/import-library.sh
      ${root}/cmake/loam-redirect.cmake ${redirect}/mutate.py VERBATIM)
endfunction()
redirect_library(${made} ${root}/scripts/windows.sh ${made})
redirect_library(${made}/mutated ${CMAKE_COMMAND} -E env SOURCE=${made}/mutated-source
  sh -c "\"$0\" \"$1\" \"$2\" \"$3\" && \"$4\" \"$5\" -O0" ${python} ${redirect}/mutate.py ${root}
  ${made}/mutated-source ${root}/scripts/windows.sh ${made}/mutated)

# redirect_program(NAME SOURCE FLAGS...): NAME.exe beside the library.
function(redirect_program name source)
  add_custom_command(OUTPUT ${made}/${name}.exe
    COMMAND ${WINDOWS_CC} -specs=${bin}/ucrt.specs -D_UCRT ${test_flags} -o ${made}/${name}.exe
      ${redirect}/${source} ${ARGN} -static -lpthread
    DEPENDS ${redirect}/${source} ${redirect}/redirect.h ${tests}/check.h ${made}/loam-redirect.dll
      ${bin}/fast.o VERBATIM)
  set(redirect_programs ${redirect_programs} ${made}/${name}.exe PARENT_SCOPE)
endfunction()
foreach(name family late plugins first child)
  redirect_program(${name} ${name}.c -DTEST_WITHOUT_LOAM=1)
endforeach()
redirect_program(family-tables family.c -DTEST_WITHOUT_LOAM=1 -DBY_TABLES=1)
redirect_program(host child.c ${bin}/fast.o)
redirect_program(inside inside.c -nostdlib -Wl,--entry,start -lkernel32)

# Linked by lld as MSVC's programs are: the library as the first import, and as the last one.
windows_compile(imported.obj ${redirect}/imported.c "" ${CLANG} --target=x86_64-pc-windows-msvc
  -fms-compatibility-version=11 -fgnuc-version=4.2.1 -isystem /usr/share/mingw-w64/include
  -O1 -fno-builtin -c ${redirect}/imported.c)
set(link ${LLD_LINK} /nologo /entry:start /subsystem:console /nodefaultlib ${bin}/imported.obj)
add_custom_command(OUTPUT ${made}/imported.exe ${made}/imported-last.exe
  COMMAND ${root}/scripts/import-library.sh ${redirect}/kernel32.def ${made}/kernel32.lib
  COMMAND ${root}/scripts/import-library.sh ${redirect}/heap.def ${made}/heap.lib
  COMMAND ${link} /include:__imp_loam_redirect ${made}/loam-redirect.lib ${made}/heap.lib
    ${made}/kernel32.lib /out:${made}/imported.exe
  COMMAND ${link} ${made}/heap.lib ${made}/kernel32.lib ${made}/loam-redirect.lib
    /out:${made}/imported-last.exe
  DEPENDS ${bin}/imported.obj ${made}/loam-redirect.lib ${redirect}/kernel32.def
    ${redirect}/heap.def VERBATIM)
list(APPEND outputs ${made}/imported.exe)
# The same for the static runtime, of which this has the shape; and AArch64, which is compiled.
file(GLOB static_sources CONFIGURE_DEPENDS ${msvc}/static/* ${msvc}/*.h)
add_custom_command(OUTPUT ${made}/static/plain.exe ${made}/static/ref.exe ${made}/static/thin.exe
    ${made}/static/without.exe
  COMMAND ${msvc}/static/build.sh ${made}/loam-msvc-x64.obj ${made}/static
  DEPENDS ${made}/loam-msvc-x64.obj ${static_sources} ${msvc}/kernel32.def VERBATIM)
list(APPEND outputs ${made}/static/plain.exe)
windows_compile(redirect-aarch64.o ${root}/src/redirect_windows.c "" ${CLANG}
  --target=aarch64-w64-mingw32 -isystem /usr/share/mingw-w64/include ${loam_flags_soon}
  -ffreestanding -DLM_REDIRECT=1 -c ${root}/src/redirect_windows.c)
add_custom_command(OUTPUT ${made}/plugin.dll ${made}/mutated/late.exe ${made}/mutated/plugin.dll
  COMMAND ${CMAKE_COMMAND} -E copy ${bin}/plugin.dll ${made}/plugin.dll
  COMMAND ${CMAKE_COMMAND} -E copy ${bin}/plugin.dll ${made}/mutated/plugin.dll
  COMMAND ${CMAKE_COMMAND} -E copy ${made}/late.exe ${made}/mutated/late.exe
  DEPENDS ${bin}/plugin.dll ${made}/late.exe ${made}/mutated/loam-redirect.dll)
list(APPEND outputs ${redirect_programs} ${made}/plugin.dll ${made}/mutated/late.exe)

# redirect_test(NAME FOLDER CASE ARGUMENTS...)
function(redirect_test name folder case)
  add_test(NAME windows.redirect.${name}
    COMMAND ${environment} ${python} ${redirect}/run.py "${wine}" ${folder} ${case} ${ARGN})
  set_tests_properties(windows.redirect.${name} PROPERTIES
    TIMEOUT 1800 FIXTURES_REQUIRED "${fixture}")
endfunction()
windows_compile(redirect/short.dll ${redirect}/short.S "" ${WINDOWS_CC} -shared -nostdlib
  ${redirect}/short.S -Wl,--entry,0)
foreach(case family other_runtimes statistics imported cmake static tables plugins another_tool host launcher without_library children
        verify)
  redirect_test(${case} ${made} ${case})
endforeach()
redirect_test(late ${made} late 20)
redirect_test(late.long ${made} late 200)
set_tests_properties(windows.redirect.late.long PROPERTIES LABELS long)
add_test(NAME windows.redirect.programs
  COMMAND ${environment} ${python} ${CMAKE_CURRENT_SOURCE_DIR}/msvc_programs.py ${wine}
          ${bin}/msvc ${made})
set_tests_properties(windows.redirect.programs PROPERTIES LABELS long TIMEOUT 3600 COST 300
  SKIP_RETURN_CODE 77 FIXTURES_REQUIRED "${fixture}")
redirect_test(mutated ${made}/mutated mutated)
