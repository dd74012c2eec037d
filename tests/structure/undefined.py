#!/usr/bin/env python3
"""Checks what a file that holds loam asks of others: of the C library and of whoever else has it.

Another library in the process may define the same name, be called instead, and allocate: then loam
is entered in the midst of itself. So each name has its reason here why that cannot be, or does no
harm. What is not listed is done by a system call, or by code of loam's own.
"""
import subprocess
import sys

AT_START = "at start or in the constructor, once the process has started, and without a lock"
PURE = "computes, by its contract: nobody allocates in it"
AFTER_CACHE = "when the thread has its cache, without a lock"
NO_LOCK = "by the program's own call, without a lock"
FORK = "in fork handlers, before loam's first lock or after its last one"
PRESENCE = "whether somebody has it is asked; it is never called"
LIBC_CALLS = "libc_calls=on alone, which asks for it: docs/tasks/hpc.md says what they may do"
COMPILER = "the compiler puts it in, or the linker"

MAY_BE_ASKED = {
    "__errno_location": PURE, "environ": "a variable", "getauxval": PURE,
    "__libc_current_sigrtmin": PURE, "__libc_single_threaded": "a variable",
    "memcmp": PURE, "memcpy": PURE, "memmove": PURE, "memset": PURE, "strcmp": PURE, "strlen": PURE,
    "fwrite": "malloc_info: " + NO_LOCK,
    "sigaction": "handlers of signals that options ask for: " + AT_START,
    "dlsym": "C++ without a handler, foreign blocks, dlopen: " + NO_LOCK,
    "__dlsym": "a static C library's, by its dlsym: " + NO_LOCK, "__dlvsym": "the same",
    "dladdr": "the same, and " + AT_START, "dlclose": "the same",
    "pthread_key_create": AT_START, "pthread_setspecific": AFTER_CACHE,
    "pthread_create": "background=on: " + AFTER_CACHE, "pthread_detach": "the same",
    "pthread_mutexattr_init": AT_START, "pthread_mutexattr_settype": AT_START,
    "pthread_mutex_init": AT_START, "pthread_mutex_lock": AFTER_CACHE, "pthread_mutex_unlock": AFTER_CACHE,
    "pthread_atfork": AT_START, "__register_atfork": AT_START,
    "_IO_list_lock": FORK, "_IO_list_unlock": FORK, "_IO_list_resetlock": FORK,
    "_dl_find_object": "takes no lock and allocates nothing: made for unwinding anywhere",
    "dl_iterate_phdr": "where the C library's own is not found: when dlsym is first called, " + NO_LOCK,
    "munmap": LIBC_CALLS, "madvise": LIBC_CALLS, "mremap": LIBC_CALLS, "mprotect": LIBC_CALLS,
    "loam_options": "a variable of the program's",
    "__asan_init": PRESENCE, "__hwasan_init": PRESENCE, "__msan_init": PRESENCE,
    "__tsan_init": PRESENCE,
    "__bump_lockptr": PRESENCE, "__libc_setup_tls": PRESENCE,
    "_ZSt15get_new_handlerv": "an operator new that failed: " + NO_LOCK,
    "_ZSt17__throw_bad_allocv": "the same", "__cxa_allocate_exception": "the same",
    "__cxa_throw": "the same", "_ZNSt9bad_allocD1Ev": "the same",
    "_ZTISt9bad_alloc": "a variable", "_ZTVSt9bad_alloc": "a variable",
    "_GLOBAL_OFFSET_TABLE_": COMPILER, "_DYNAMIC": COMPILER, "__ehdr_start": COMPILER,
    "__tls_get_addr": "the library for dlopen alone (docs/porting.md)",
    "__stack_chk_fail": COMPILER,
}


def asked(path):
    dynamic = ["-D"] if ".so" in path else []
    text = subprocess.run(["nm", *dynamic, "--undefined-only", path], capture_output=True,
                          text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.strip()}


def main():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} FILE...")
    found = [f"{path} asks for {name}, which has no reason here"
             for path in sys.argv[1:] for name in sorted(asked(path) - MAY_BE_ASKED.keys())]
    print(*found, f"{len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
