/* The directory by which the loader gives threads their variables, which a C runtime has. Once in a
 * program; after windows.h. */
#ifndef LOAM_TESTS_TLS_H
#define LOAM_TESTS_TLS_H

ULONG _tls_index;
/* Not 0, which would put them apart from variables that have a value in the file. */
__attribute__((section(".tls"))) char tls_start = 1;
__attribute__((section(".tls$ZZZ"))) char tls_end = 1;
__attribute__((section(".CRT$XLA"))) const PIMAGE_TLS_CALLBACK callbacks_start = 0;
__attribute__((section(".CRT$XLZ"))) const PIMAGE_TLS_CALLBACK callbacks_end = 0;
const IMAGE_TLS_DIRECTORY _tls_used = {(ULONG_PTR)&tls_start, (ULONG_PTR)&tls_end,
                                       (ULONG_PTR)&_tls_index, (ULONG_PTR)(&callbacks_start + 1),
                                       0, 0};

#endif
