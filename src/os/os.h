/* The operating system behind one small interface: os_linux.c, os_windows.c, os_unix.c.
 *
 * Functions that can fail return 0 or an errno and never touch errno itself. Addresses and sizes
 * are multiples of the OS page size unless a function says otherwise. All are thread safe. */
#ifndef LM_OS_OS_H
#define LM_OS_OS_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/format.h"

/* Facts about the machine, found by lm_os_start and constant after it. */
struct lm_os_facts {
  size_t page_bytes;   /* OS page size: a power of two from 4 KiB to 64 KiB */
  unsigned page_shift; /* its logarithm */
  unsigned cpu_count;  /* CPUs that this process may run on, at least 1 */
  bool overcommit;     /* memory may be mapped writable without counting against a commit limit */
  bool purge_decommits; /* purged memory may not be accessed until it is committed again */
};
extern struct lm_os_facts lm_os;

/* Call once, before anything else here. */
void lm_os_start(void);

/* ---- Memory ---- */

/* Address space aligned to `alignment`, a power of two of at least a page. May not be accessed
 * until committed, unless lm_os.overcommit. */
int lm_os_reserve(size_t size, size_t alignment, void **result);

/* Address space that costs nothing where it is not written to; parts of it become writable with
 * lm_os_commit. What has not been committed reads as zero if LM_OS_RESERVED_READS_ZERO, and may not
 * be read at all if not. Not in cores. */
#if defined(_WIN32)
#define LM_OS_RESERVED_READS_ZERO 0
#else
#define LM_OS_RESERVED_READS_ZERO 1
#endif
int lm_os_reserve_zero(size_t size, void **result);

/* Makes reserved memory readable and writable; it is zero where it was never written to. */
int lm_os_commit(void *address, size_t size);
#if defined(__linux__)
/* Takes the access to fresh pages away until they are committed. Returns 0 or an errno. */
int lm_os_uncommit(void *address, size_t size);
#endif

/* Leaves a part of a reservation out of core files, or has it in them again: kernels write what was
 * never touched as a hole, but debuggers and whoever copies a core write all of it. */
void lm_os_leave_out_of_cores(void *address, size_t size);
void lm_os_put_into_cores(void *address, size_t size);

/* Names a mapping for who looks at the process, where the system can. A literal. */
void lm_os_name(void *address, size_t size, const char *name);

/* Gives the pages back; they read as zero when next touched, after another commit if
 * lm_os.purge_decommits. ENOSYS where the system only says that it does so. */
int lm_os_purge(void *address, size_t size);

/* From here on calls that take memory away (lm_os_release, lm_os_purge, lm_os_uncommit,
 * lm_os_guard, lm_os_remap) are made by the C library's functions, by their public names, and may
 * be made with locks held. Nothing is done on systems where they always are. */
void lm_os_call_library(void);
/* From here on memory is mapped as private and anonymous and no more is said of it, is unmapped,
 * and given back by MADV_DONTNEED: what takes other calls is refused with ENOSYS, and no address
 * can be asked for. Before anything is reserved. Nothing is done on systems without filters. */
void lm_os_make_few_calls(void);
bool lm_os_makes_few_calls(void);

/* Asks for huge pages in a reservation or mapping, from here on; a hint, which the system need not
 * take. lm_os_remap and lm_os_move_pages take it along. */
void lm_os_advise_huge(void *address, size_t size);

/* Asks for no huge pages there, not even where the system gives them to everybody. */
void lm_os_refuse_huge(void *address, size_t size);
/* Takes that back: from here on the system gives huge pages if it gives them to everybody. */
void lm_os_accept_huge(void *address, size_t size);

/* Whole pages may not be accessed from here on, until that is taken back: then they read as zero.
 * Makes no mapping more; an errno where the system has nothing of the kind. */
int lm_os_guard(void *address, size_t size);
void lm_os_unguard(void *address, size_t size);

/* Readable and writable zero memory; ENOMEM where the system's rule says that there is not so much,
 * as for any mapping of the program's own. */
int lm_os_map(size_t size, size_t alignment, void **result);

/* Readable and writable zero memory in huge pages that have been set aside (hugetlbfs), or that go
 * back whole or not at all (Windows' large pages); size and alignment are multiples of
 * `page_bytes`. An errno where there are not so many. It is no memory of lm_os_map: it is ended as
 * a whole by lm_os_unmap_explicit, which may be told a size that is not rounded up. */
#define LM_PAGE_2M_BYTES ((size_t)2 << 20)
#define LM_PAGE_1G_BYTES ((size_t)1 << 30)
#if defined(__linux__) || defined(_WIN32)
#define LM_OS_HAS_EXPLICIT_PAGES 1
int lm_os_map_explicit(size_t size, size_t page_bytes, size_t alignment, void **result);
void lm_os_unmap_explicit(void *address, size_t size);
#else
#define LM_OS_HAS_EXPLICIT_PAGES 0
#endif

/* Whether there are no other huge pages, which lm_os_advise_huge could ask for. Then the process
 * must have the right to map them: at its start this gets it, once, and returns NULL, or says why
 * it cannot. */
#if defined(_WIN32)
#define LM_OS_HAS_ONLY_EXPLICIT_PAGES 1
const char *lm_os_get_right_to_explicit(void);
#else
#define LM_OS_HAS_ONLY_EXPLICIT_PAGES 0
LM_INLINE const char *lm_os_get_right_to_explicit(void) { return NULL; }
#endif

/* Ends a reservation or mapping, or a part of it where the address space can be limited. What the
 * system does not end, at its limit of mappings, is purged, and ended with a later call. */
void lm_os_release(void *address, size_t size);

/* Changes the size of a mapping of lm_os_map or lm_os_move_out, moving it if need be; contents move
 * with it. */
int lm_os_remap(void *address, size_t size, size_t new_size, void **result);

/* Whether lm_os_remap mostly makes a mapping longer without copying it. */
#if defined(__linux__) || defined(_WIN32)
#define LM_OS_GROWS_MAPPINGS 1
#else
#define LM_OS_GROWS_MAPPINGS 0
#endif

/* Moves the pages of a part of a reservation into a mapping of their own of `new_size` bytes, which
 * are not fewer; the part stays mapped and reads as zero. lm_os_remap resizes the mapping. Neither
 * asks the system whether there is so much memory, as lm_os_map does. ENOSYS, with nothing changed,
 * where pages cannot be moved. */
int lm_os_move_out(void *from, size_t size, size_t new_size, void **result);
/* Whether lm_os_map would not be refused so much. */
bool lm_os_would_map(size_t size);

/* Moves the pages of one writable range onto another; the source stays mapped and reads as zero.
 * ENOSYS where the system cannot: then the source is as it was and the target holds anything.
 * ENOMEM: the target is not mapped any longer either, and must never be used again. */
int lm_os_move_pages(void *from, void *to, size_t size);

/* Where memory is committed piece by piece: adds up how much of a reservation counts against the
 * system's limit, and how much of that is in memory. */
struct lm_os_usage {
  size_t committed_bytes;
  size_t resident_bytes;
};
#if defined(_WIN32)
#define LM_OS_TELLS_USAGE 1
void lm_os_add_usage(const void *address, size_t size, struct lm_os_usage *usage);
#else
#define LM_OS_TELLS_USAGE 0
#endif

/* How much of a reservation or mapping is in memory; all of it where the system does not say. */
size_t lm_os_resident_bytes(const void *address, size_t size);

/* What the whole process has in memory, and has had at most; 0: the system does not say. */
struct lm_os_residency {
  size_t resident_bytes, peak_bytes;
};
void lm_os_read_residency(struct lm_os_residency *residency);

/* How much address space the process may have, in bytes; UINT64_MAX if as much as there is. As it
 * was at start, or when it was last read or looked for. */
uint64_t lm_os_address_space_limit(void);
/* Reads it: the program has changed it. */
void lm_os_read_address_space_limit(void);
/* The same where no address space is to be had: there may be a limit that nobody has told of. One
 * that is lifted that way goes on to count. */
void lm_os_look_for_address_space_limit(void);

/* ---- Control groups; job objects of Windows ---- */

/* How much memory the control group that the process is in may have and has, or the one above it
 * that is nearest to its limit; without pages of files that would go first. Of a job object what
 * the job, or each process in it, may have committed. */
struct lm_os_group_memory {
  uint64_t limit_bytes; /* beyond it the system reclaims, ends a process, or commits nothing */
  uint64_t used_bytes;
};
#if defined(__linux__) || defined(_WIN32)
#define LM_OS_HAS_GROUPS 1
/* False if no group has a limit, or none can be read. Linux reads files: some 20 microseconds. */
bool lm_os_find_group_memory(struct lm_os_group_memory *memory);
/* The same of the one that has the least room. */
bool lm_os_find_group_room(struct lm_os_group_memory *memory);
/* As many processors as the group's quota is worth, rounded up; UINT32_MAX if it has none. */
unsigned lm_os_find_group_cpus(void);
#else
#define LM_OS_HAS_GROUPS 0
LM_INLINE bool lm_os_find_group_memory(struct lm_os_group_memory *memory) {
  (void)memory;
  return false;
}
LM_INLINE bool lm_os_find_group_room(struct lm_os_group_memory *memory) {
  return lm_os_find_group_memory(memory);
}
LM_INLINE unsigned lm_os_find_group_cpus(void) { return UINT32_MAX; }
#endif

/* Whether the system itself says that it is short of memory; where it does, asking is cheap. First
 * called at process start. */
#if defined(_WIN32)
#define LM_OS_TELLS_SHORTAGE 1
bool lm_os_is_short_of_memory(void);
#else
#define LM_OS_TELLS_SHORTAGE 0
LM_INLINE bool lm_os_is_short_of_memory(void) { return false; }
#endif

/* ---- Time, threads, output ---- */

/* Milliseconds of a clock that never goes back, to within some 10 ms; cheap. */
uint64_t lm_os_clock_ms(void);
/* Microseconds of another clock of the kind, to the microsecond where the system can. */
uint64_t lm_os_clock_us(void);

/* Sleeps while `*word == expected`, for so long at most, or wakes for no reason. Pairs with
 * lm_os_wake_one. */
void lm_os_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t ms);
void lm_os_wake_one(_Atomic(uint32_t) *word);

/* Starts a thread that takes no signals and ends with the process or when `function` returns. It
 * has a name, "loam", where the system shows such. False if it cannot be. May allocate. */
bool lm_os_start_thread(void (*function)(void));
void lm_os_sleep_ms(uint32_t ms);

/* Calls `callback(value)` at the calling thread's end, among its thread-local destructors. One
 * callback per process, given to lm_os_thread_end_start at process start. False if there is no
 * memory for it; true also where no call will come, since there are no threads that end. */
void lm_os_thread_end_start(void (*callback)(void *value));
bool lm_os_thread_end_arm(void *value);

/* Whether the process has but one thread; false where that cannot be told. */
bool lm_os_is_single_threaded(void);

/* Calls the three around each fork: before it in the parent, after it in the parent and child. None
 * if the process has but one thread, which may have been interrupted while it held locks. */
void lm_os_fork_start(void (*before)(void), void (*parent)(void), void (*child)(void));

/* A process may be copied by a system call that calls none of the three. Such a copy has one
 * thread; when that is about to wait for a lock, which nobody there can hold, the second of these
 * runs the child's. What other threads were changing under their locks stays half changed. The
 * first is called by each thread before it takes any lock. */
void lm_os_thread_begins(void);
void lm_os_notice_copy(void);
/* Whether this process is such a copy, of one that had several threads. What they wrote meanwhile
 * may be here in any part and in any order. */
bool lm_os_is_bare_copy(void);

/* A number, not 0, that is another one in a copy of the process, however that was made; without a
 * system call where the system can do so. */
uint32_t lm_os_copy_number(void);

/* A file to write to at the end of the process, whatever becomes of descriptors meanwhile. */
struct lm_os_output {
  int fd; /* negative: none */
  uint64_t device, file; /* which file that is; 0 where the system does not say */
};

/* The file that is open as `fd`, under another descriptor, which a program that closes `fd` leaves
 * open; as `fd` itself if there is none to be had. */
struct lm_os_output lm_os_keep_open(int fd);
/* The descriptor to write to it; negative if it is none of that file any longer. */
int lm_os_kept_fd(const struct lm_os_output *output);
/* A file to append to, made if there is none; minus an errno if it cannot be opened. To be
 * closed. */
int lm_os_open_to_append(const char *path);
#if defined(__linux__)
/* The same of one that is empty from here on. */
int lm_os_open_to_write(const char *path);
#endif
/* Reads the first `capacity` bytes of a file, or as many as there are. Returns 0 or an errno;
 * ENOSYS on Windows. */
int lm_os_read_file(const char *path, char *bytes, size_t capacity, size_t *length);
void lm_os_close(int fd);
uint32_t lm_os_process_id(void);
/* The calling thread's number. No lock is held: it may allocate. */
uint32_t lm_os_thread_id(void);
/* What the process is called; empty where the system does not say. */
void lm_os_process_name(char *name, size_t capacity);
/* Whether the process that started this one was itself started with such an environment variable.
 * Slow; false where the system does not say. */
bool lm_os_parent_has_environment(const char *name, const char *value);
/* Lets a signal call a function, on whatever thread it comes to. False if that cannot be. */
bool lm_os_on_signal(int signal, void (*handler)(int));
/* Writes all of it. Returns 0 or an errno: then a part of it may have been written. */
int lm_os_write(int fd, const char *bytes, size_t length);
/* Ends the process as abort(3) does, even if SIGABRT is caught; `tells`: its handler is called. */
LM_NORETURN void lm_os_abort(bool tells);
/* Ends the process as _exit(2) does. */
LM_NORETURN void lm_os_exit(int status);

/* ---- The process ---- */

/* Whether the process has rights that whoever started it may not have (AT_SECURE), so that nothing
 * may be done on the word of its environment. */
bool lm_os_is_privileged(void);
/* Whether the C library has the environment yet. */
bool lm_os_has_environment(void);
/* The value of an environment variable, or NULL. */
const char *lm_os_environment(const char *name);

#if defined(__linux__)
/* Whether the list, with a ':' between entries, has the name of the program's file, or of the link
 * to it that it was started by; or its whole path. */
bool lm_os_is_program(const char *list);
#endif

/* One mapping of the process, as the system lists it. */
struct lm_os_mapping {
  uintptr_t start, end;
  uintptr_t module_start; /* where the first mapping of the same file begins */
  bool readable, writable, executable;
  char path[256]; /* file name, or the system's name for it, or empty; cut if longer */
};

/* Finds the mapping that holds `address`; false if there is none or the list cannot be read.
 * Reads no memory of the process but its own. Slow. */
bool lm_os_find_mapping(uintptr_t address, struct lm_os_mapping *mapping);

/* Whether a word of 8 bytes can be read there: a system call (futex), or two. */
bool lm_os_is_readable(const void *address);

#if defined(__linux__)
/* Where in the mapping the memory begins that grows by brk(2): the program's own variables may be
 * before it. Its end if none of it is in there. */
uintptr_t lm_os_break_start(const struct lm_os_mapping *mapping);
/* Copies what can be read of so many bytes, from the first on; returns how many. Each page is asked
 * for first: whoever unmaps it in that moment ends the process. */
size_t lm_os_read_memory(const void *address, void *buffer, size_t size);

/* A module: an ELF file that is loaded. */
#define LM_OS_BUILD_ID_BYTES 32
struct lm_os_module {
  uintptr_t bias;        /* its addresses in memory less those in the file */
  uintptr_t frame_table; /* .eh_frame_hdr, or 0 */
  uint8_t build_id[LM_OS_BUILD_ID_BYTES];
  size_t build_id_bytes; /* 0: it has none, or a longer one */
};
/* What is in the file's header, which is at `start`; false if none is. */
bool lm_os_read_module(uintptr_t start, struct lm_os_module *module);
/* Calls `visit` for each mapping with code, until it returns false. Slow. */
typedef bool lm_os_mapping_visitor(void *context, const struct lm_os_mapping *mapping);
void lm_os_visit_code(lm_os_mapping_visitor *visit, void *context);

/* The addresses of what the module whose header is at `start` exports by these names, 0 for those
 * that it has not; false if it has not the first one. Slow. */
bool lm_os_find_exports(uintptr_t start, const char *const *names, uintptr_t *addresses,
                        size_t count);

/* The return addresses on the calling thread's stack, the innermost first, which are loam's own:
 * up to `count` of them. Returns how many. Does not allocate. By .eh_frame, where there is
 * something for the code and the processor is x86-64 or ARM64; else by frame pointers. */
size_t lm_os_unwind(uintptr_t *callers, size_t count);
/* The same of what a signal has interrupted, whose context the handler got: first where it was. */
size_t lm_os_unwind_interrupted(const void *context, uintptr_t *callers, size_t count);
/* From here on `report` is called for accesses of the program's to what may not be accessed; where
 * it returns false, what would have come without it comes. Once; false if it cannot be. */
typedef bool lm_os_access_reporter(void *address, const void *context);
bool lm_os_on_access(lm_os_access_reporter *report);

#define LM_UNWIND_DEPTH 64

/* A function on a stack, with its registers when what it has called returns; `frame` only if it is
 * used. */
struct lm_stack_step {
  uintptr_t pc, stack, frame;
  /* Where `pc` and `frame` were read, from `stack`; or LM_FRAME_SAME: of `pc`, that it takes the
   * callee's row to tell; of `frame`, that it is the callee's own. */
  int16_t return_offset, frame_offset;
  bool frame_used; /* its caller, or one further out, was found by `frame` */
};

/* Where a thread was when it was last asked, and room for the next time. Zero at first. */
struct lm_walked_stacks {
  struct lm_walked_stack {
    struct lm_stack_step steps[1 + LM_UNWIND_DEPTH]; /* the first: lm_os_unwind_again */
    size_t count;
    bool whole; /* the last step has no caller */
  } stacks[2];
  uint32_t newest; /* which of them was the last one */
};

/* The same, where what the thread's last walk has found, and is still there, is only compared. True
 * if all of it is the same again. */
bool lm_os_unwind_again(struct lm_walked_stacks *walked);
/* The return addresses that it found, the innermost first, which are loam's own: LM_UNWIND_DEPTH of
 * them at most. Returns how many. */
size_t lm_os_walked(const struct lm_walked_stacks *walked, uintptr_t *callers);
/* Whether the last walk has come to the stack's end. */
LM_INLINE bool lm_os_walked_all(const struct lm_walked_stacks *walked) {
  return walked->stacks[walked->newest].whole;
}
/* The modules that stacks have led into, in the order in which they were met: how many, and where
 * one is. False: it is too long ago that it was met. */
struct lm_os_met_module {
  uintptr_t start;                /* its ELF header */
  uintptr_t code_start, code_end; /* what is about its code */
};
uint32_t lm_os_modules_met(void);
bool lm_os_met_module(uint32_t index, struct lm_os_met_module *met);
/* For fork. */
extern struct lm_lock lm_unwind_lock;
#endif

/* A function of the C library's by its name, not replaced by ours; NULL if there is none. */
void *lm_os_next_function(const char *name);
/* As the code at `caller` sees it, which may lie in a module that was opened for itself
 * (RTLD_LOCAL), with libraries that no other module sees; where that one has none, any module's.
 * Slow. */
void *lm_os_function_seen_by(const void *caller, const char *name);

/* By the tables of modules, in the order in which the loader looks: dlsym is not asked, and a
 * function under that name that this module defines is passed over. NULL if nobody else has one. */
void *lm_os_other_definition(const char *name);
/* The same, of the modules behind this one alone. */
void *lm_os_definition_behind(const char *name);
/* Whether the program, or a library that the loader has put in front of this module, has it. */
bool lm_os_is_defined_in_front(const char *name);
/* Whether the loader comes to this module with it before any other that has it. */
bool lm_os_is_looked_up_here(const char *name);
bool lm_os_is_of_libc(const void *address);

/* The name of a sanitizer whose runtime is in the process and needs malloc for itself, or NULL. */
const char *lm_os_sanitizer(void);
/* Whether it is `function` that the program calls as `name`. */
bool lm_os_serves(const char *name, const void *function);
/* Whether a library that is not the C++ runtime brings an operator new of its own, which it may
 * call instead of ours, while others give its blocks to our delete. Slow. */
bool lm_os_library_has_new(void);

/* From here on the module that this code is a part of stays loaded, even if whoever opened it
 * closes it: callbacks at the end of threads and around forks stay with the C library. */
void lm_os_stay_loaded(void);

/* A random word, for secrets that live as long as the process. */
uintptr_t lm_os_random(void);

#endif
