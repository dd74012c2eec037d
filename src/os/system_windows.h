/* windows.h with what loam takes of it. */
#ifndef LM_OS_SYSTEM_WINDOWS_H
#define LM_OS_SYSTEM_WINDOWS_H

#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
/* 2: the functions of psapi.h are those that kernel32 has. */
#if !defined(PSAPI_VERSION)
#define PSAPI_VERSION 2
#endif
#include <windows.h>
/* After windows.h, which it needs. */
#include <psapi.h>

#endif
