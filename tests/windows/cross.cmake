# What the cross compilers on Linux add to the tests for Windows: the UCRT beside msvcrt, the
# allocator as clang and Zig compile it, Microsoft's ABI, and other processors.
windows_compile(clang.o ${source} ""
  ${CLANG} --target=x86_64-w64-mingw32 ${loam_flags} -c ${source})
windows_compile(x86.o ${source} "" ${WINDOWS_CC_32} ${loam_flags} -c ${source})
windows_compile(x86_clang.o ${source} ""
  ${CLANG} --target=i686-w64-mingw32 ${loam_flags_soon} -c ${source})
windows_compile(aarch64.o ${source} "" ${CLANG} --target=aarch64-w64-mingw32
  -isystem /usr/share/mingw-w64/include ${loam_flags_soon} -c ${source})
list(APPEND objects clang x86 x86_clang aarch64)
# The UCRT in the place of msvcrt: GCC's own instructions with the names exchanged.
execute_process(COMMAND ${WINDOWS_CC} -dumpspecs OUTPUT_VARIABLE specs COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "-lmsvcrt" "-lucrt" specs "${specs}")
string(REPLACE "crt2.o" "crt2u.o" specs "${specs}")
string(REPLACE "dllcrt2u.o" "dllcrt2.o" specs "${specs}")
file(CONFIGURE OUTPUT ${bin}/ucrt.specs CONTENT "${specs}" @ONLY)

set(forms msvcrt ucrt clang)
set(long_forms clang)
set(msvcrt_flags)
set(msvcrt_object fast)
set(ucrt_flags -specs=${bin}/ucrt.specs -D_UCRT)
set(ucrt_object fast)
set(clang_flags)
set(clang_object clang)

# Microsoft's ABI, as clang has it, without a C runtime: only the functions of loam.h. MinGW's
# headers serve as Windows' own if the compiler says that it is like GCC, too.
set(msvc ${CMAKE_CURRENT_SOURCE_DIR}/msvc)
set(msvc_compile ${CLANG} --target=x86_64-pc-windows-msvc -fms-compatibility-version=11
  -fgnuc-version=4.2.1 -isystem /usr/share/mingw-w64/include ${loam_flags_soon} -DLM_NO_OVERRIDE=1)
windows_compile(msvc.obj ${source} "" ${msvc_compile} -c ${source})
windows_compile(core.obj ${msvc}/core.c "" ${msvc_compile} -fno-builtin -c ${msvc}/core.c)
add_custom_command(OUTPUT ${bin}/core.exe
  COMMAND ${DLLTOOL} -m i386:x86-64 -d ${msvc}/kernel32.def -l ${bin}/kernel32.lib
  COMMAND ${LLD_LINK} /nologo /entry:start /subsystem:console /nodefaultlib /out:${bin}/core.exe
    ${bin}/core.obj ${bin}/msvc.obj ${bin}/kernel32.lib
  DEPENDS ${bin}/core.obj ${bin}/msvc.obj ${msvc}/kernel32.def VERBATIM)
list(APPEND outputs ${bin}/core.exe)
windows_test(windows.msvc_core ${msvc}/core.c core.exe)

# LLVM's C++ library, and programs for AArch64 that are linked, by Zig, which builds its libraries.
foreach(processor x86_64 aarch64)
  add_test(NAME windows.zig.${processor} COMMAND ${environment} ${python}
    ${CMAKE_CURRENT_SOURCE_DIR}/zig.py ${wine} ${bin}/zig ${processor})
  set_tests_properties(windows.zig.${processor} PROPERTIES LABELS long
    TIMEOUT 2700 COST 100 SKIP_RETURN_CODE 77 FIXTURES_REQUIRED "${fixture}")
endforeach()
