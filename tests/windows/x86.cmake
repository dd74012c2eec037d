# 32 bit: programs of this folder, of ../api and of ../stress once more, by MinGW for i686, with the
# libraries they load. They run under a wine for i386 that is fetched for them; without it, ctest
# lists them as skipped.
set(wine32 ${environment} LOAM_WINE32=${bin}/wine32 LOAM_WINE_PREFIX=${bin}/wine32-prefix ${wine})
add_test(NAME windows.x86.wine_fetched COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/wine32.sh ${bin}/wine32)
add_test(NAME windows.x86.wine COMMAND ${wine32} --start)
add_test(NAME windows.x86.wine_end COMMAND ${wine32} --end)
set_tests_properties(windows.x86.wine_fetched PROPERTIES
  TIMEOUT 1200 COST 300 SKIP_RETURN_CODE 77 FIXTURES_SETUP wine32_fetched)
set_tests_properties(windows.x86.wine_fetched windows.x86.wine windows.x86.wine_end PROPERTIES
  LABELS long)
set_tests_properties(windows.x86.wine PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
  FIXTURES_SETUP wine32 FIXTURES_REQUIRED wine32_fetched)
set_tests_properties(windows.x86.wine_end PROPERTIES
  TIMEOUT 300 SKIP_RETURN_CODE 77 FIXTURES_CLEANUP wine32)

file(MAKE_DIRECTORY ${bin}/x86)
set(flags ${WINDOWS_CC_32} ${test_flags})
windows_compile(x86_names.o ${source} "" ${WINDOWS_CC_32} ${loam_flags_soon} -DLM_NO_OVERRIDE=1
  -c ${source})
windows_modules(x86/ ${bin}/x86_names.o ${flags})

function(windows_test_32 name file definitions)
  windows_compile(x86/${name}.exe ${file} ${bin}/x86.o ${flags} ${definitions} ${bin}/x86.o ${file}
    -static -lpthread)
  set(${collection} ${${collection}} PARENT_SCOPE)
  test_value(arguments ${file} arguments "")
  add_test(NAME windows.x86.${name} COMMAND ${wine32} ${bin}/x86/${name}.exe ${arguments})
  set_tests_properties(windows.x86.${name} PROPERTIES LABELS long TIMEOUT 300 SKIP_RETURN_CODE 77
    FIXTURES_REQUIRED wine32 ENVIRONMENT "LOAM_TEST_BUILD=windows")
endfunction()

file(GLOB files CONFIGURE_DEPENDS *.c ${tests}/api/*.c ${tests}/stress/*.c)
foreach(file ${files})
  cmake_path(GET file STEM stem)
  cmake_path(GET file PARENT_PATH folder)
  test_value(windows ${file} windows no)
  if(folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    windows_test_32(${stem} ${file} "")
  elseif(windows STREQUAL yes)
    cmake_path(GET folder FILENAME folder)
    windows_test_32(${folder}.${stem} ${file} -DTEST_PREFIXED=1)
  endif()
endforeach()
