/* Preloaded ahead of whatever allocates: writes down each call, and passes it on. Nothing here
 * allocates, and nothing waits but for room in the thread's ring. */
#define _GNU_SOURCE
#include "layout.h"
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define SLOW __attribute__((noinline, cold))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

/* As event.rs numbers them. */
enum entry {
  MALLOC, CALLOC, REALLOC, REALLOCARRAY, ALIGNED_ALLOC, POSIX_MEMALIGN, MEMALIGN, VALLOC, PVALLOC,
  NEW, NEW_ARRAY, FREE, FREE_SIZED, FREE_ALIGNED_SIZED, DELETE, DELETE_ARRAY, CFREE
};

/* ---- What this process knows ---- */

static struct record_common *common;
static _Atomic(bool) is_recording; /* then there is what is common; whoever stops it clears it */
static uint32_t image;
static _Atomic(uint32_t) claims;  /* of rings, by this process */
static _Atomic(bool) has_threads; /* whether more than one of them has a ring */
/* A page of its own that reads as zero in the child of a fork, whoever has forked it. */
static _Atomic(uint32_t) *in_parent;
static _Atomic(uint32_t) nowhere; /* while there is no such page */

THREAD_LOCAL struct record_header *ring;
THREAD_LOCAL uint64_t *words;
THREAD_LOCAL uint64_t head, room_until; /* no word from there on may be written yet */
THREAD_LOCAL uint64_t last_time;        /* in the ring */
THREAD_LOCAL bool passes_on;            /* inside an allocator: what it calls itself is its own */
THREAD_LOCAL uint8_t entry_wanted;      /* by an operator new that calls malloc; 0: none */
THREAD_LOCAL bool has_no_ring;

/* ---- System calls, without errno ---- */

static long call(long number, long a, long b, long c, long d, long e, long f) {
  int saved = errno;
  long result = syscall(number, a, b, c, d, e, f);
  if (result == -1) result = -errno;
  errno = saved;
  return result;
}

static void *map(size_t bytes, int protection, int flags, int file) {
  long result = call(SYS_mmap, 0, (long)bytes, protection, flags, file, 0);
  return result < 0 && result > -4096 ? NULL : (void *)result;
}

static void pause_ns(long ns) {
  struct timespec time = {0, ns};
  call(SYS_nanosleep, (long)&time, 0, 0, 0, 0, 0);
}

/* ---- Time ---- */

static uint64_t clock_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* After everything that the thread has read before: a block that another thread has freed gets a
 * later time than that free. */
static SLOW uint64_t ordered_counter(void) {
#if defined(__x86_64__)
  if (LIKELY(common->has_counter)) {
    uint32_t low, high, processor;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor)::"memory");
    return ((uint64_t)high << 32 | low) - common->start;
  }
#elif defined(__aarch64__)
  if (LIKELY(common->has_counter)) {
    uint64_t value;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value)::"memory");
    return value - common->start;
  }
#endif
  return clock_ns() - common->start;
}

/* The same, roughly, at half the price. */
static inline uint64_t rough_counter(void) {
#if defined(__x86_64__)
  if (LIKELY(common->has_counter)) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return ((uint64_t)high << 32 | low) - common->start;
  }
#elif defined(__aarch64__)
  if (LIKELY(common->has_counter)) {
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value - common->start;
  }
#endif
  return clock_ns() - common->start;
}

/* Half a microsecond, about: what happens sooner has the same time, in the only thread. */
#if defined(__aarch64__)
#define SAME_TIME 16
#else
#define SAME_TIME 1024
#endif

/* ---- Rings ---- */

static inline bool is_on(void) {
  return atomic_load_explicit(&is_recording, memory_order_relaxed) && !passes_on;
}

static bool is_stopped(void) {
  return atomic_load_explicit(&common->stop, memory_order_relaxed) != 0;
}

static bool is_command_there(void) {
  return call(SYS_kill, common->command, 0, 0, 0, 0, 0) != -ESRCH;
}

static struct record_header *header_of(unsigned number) {
  return (void *)((char *)common + HEADERS_OFFSET + (size_t)number * HEADER_BYTES);
}

static struct record_header *claim_from_all(void) {
  for (unsigned number = 0; number < RING_COUNT; number++) {
    struct record_header *header = header_of(number);
    uint32_t state = RING_FREE;
    if (atomic_load_explicit(&header->state, memory_order_relaxed) != RING_FREE ||
        !atomic_compare_exchange_strong(&header->state, &state, RING_CLAIMED))
      continue;
    uint32_t rings = atomic_load(&common->rings);
    while (rings <= number && !atomic_compare_exchange_weak(&common->rings, &rings, number + 1)) {
    }
    words = (uint64_t *)((char *)common + (size_t)RING_BYTES * (number + 1));
    return header;
  }
  return NULL;
}

static void claim_ring(void) {
  /* Whoever gets a block from this thread, or learns of one, sees this, too. */
  if (atomic_fetch_add(&claims, 1) > 0) atomic_store(&has_threads, true);
  /* The command frees those of threads that have ended, a few milliseconds later. */
  for (unsigned tries = 0; tries < 200 && ring == NULL && !is_stopped(); tries++) {
    ring = claim_from_all();
    if (ring == NULL) pause_ns(1000000);
  }
  if (ring == NULL) {
    atomic_fetch_add(&common->refused, 1);
    has_no_ring = true;
    return;
  }
  ring->image = image;
  ring->process = (uint32_t)call(SYS_getpid, 0, 0, 0, 0, 0, 0);
  ring->thread = (uint32_t)call(SYS_gettid, 0, 0, 0, 0, 0, 0);
  head = 0;
  last_time = 0;
  room_until = RING_WORDS;
  atomic_store_explicit(&ring->state, RING_USED, memory_order_release);
}

/* Whether this process is to be recorded; counted if it is not. */
static bool begin_image(void) {
  uint32_t process = (uint32_t)call(SYS_getpid, 0, 0, 0, 0, 0, 0);
  if (common->program != 0 && common->program != process) {
    atomic_fetch_add(&common->left_out, 1);
    return false;
  }
  image = atomic_fetch_add(&common->images, 1) + 1;
  void *page = map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (page != NULL) {
    call(SYS_madvise, (long)page, 4096, MADV_WIPEONFORK, 0, 0, 0);
    in_parent = page;
  }
  atomic_store_explicit(in_parent, 1, memory_order_relaxed);
  return true;
}

/* The child of a fork has its parent's rings mapped, which are not its own. */
static SLOW void begin_child(void) {
  ring = NULL;
  has_no_ring = false;
  if (common->frames != 0) record_unwind_begin();
  atomic_store(&claims, 0);
  atomic_store(&has_threads, false);
  if (!begin_image()) atomic_store(&is_recording, false);
}

/* While a ring is full. Who looks sooner wakes for little room, again and again; later, and the
 * command waits for threads that sleep. */
#define FULL_PAUSE_NS 200000

/* Room for a count of words, or false: this thread, or this process, is not recorded. */
static SLOW bool find_room(uint64_t count) {
  if (atomic_load_explicit(in_parent, memory_order_relaxed) == 0) begin_child();
  if (!atomic_load(&is_recording) || has_no_ring) return false;
  if (ring == NULL) claim_ring();
  if (ring == NULL) return false;
  for (unsigned pauses = 0; head + count > room_until; pauses++) {
    if (is_stopped() || (pauses % 256 == 255 && !is_command_there())) {
      atomic_store(&is_recording, false);
      return false;
    }
    if (pauses > 0) pause_ns(FULL_PAUSE_NS);
    room_until = atomic_load_explicit(&ring->tail, memory_order_acquire) + RING_WORDS;
  }
  return true;
}

/* For an event of so many words, and its time. */
static inline bool has_room(uint64_t count) {
  count++;
  if (LIKELY(ring != NULL && head + count <= room_until &&
             atomic_load_explicit(in_parent, memory_order_relaxed) != 0))
    return true;
  return find_room(count);
}

static inline void put(uint64_t word) { words[head++ % RING_WORDS] = word; }

static inline void put_time(uint64_t time) {
  last_time = time;
  put(time << 4 | RECORD_TIME);
  atomic_store_explicit(&ring->time, time, memory_order_release);
}

/* A thread alone needs no order, and a time only where that is another one. */
static inline void put_first(enum record_kind kind, unsigned entry, const void *block) {
  if (LIKELY(!atomic_load_explicit(&has_threads, memory_order_relaxed))) {
    uint64_t time = rough_counter();
    if (time - last_time >= SAME_TIME) put_time(time);
  } else put_time(ordered_counter());
  put((uint64_t)(uintptr_t)block << 16 | entry << 4 | kind);
}

static inline void publish(void) { atomic_store_explicit(&ring->head, head, memory_order_release); }

/* ---- Large blocks: how much of them was touched ---- */

#define LARGE_BYTES (64 * 1024)
#define LARGE_SLOTS 4096
#define PAGE_BYTES 4096

static size_t (*real_usable_size)(void *);
/* How many large blocks have addresses that lead to the slot: most frees find none. */
static _Atomic(uint32_t) large_counts[LARGE_SLOTS];

static inline _Atomic(uint32_t) *large_slot(const void *block) {
  return &large_counts[((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 52];
}

static bool is_large(void *block) {
  return real_usable_size != NULL && real_usable_size(block) >= LARGE_BYTES;
}

static inline void note_large(void *block, size_t size) {
  if (__builtin_expect(size >= LARGE_BYTES / 2, 0) && is_large(block))
    atomic_fetch_add_explicit(large_slot(block), 1, memory_order_relaxed);
}

static size_t resident_bytes(uintptr_t start, size_t bytes) {
  unsigned char pages[1024];
  uintptr_t page = start & ~(uintptr_t)(PAGE_BYTES - 1);
  size_t count = (start + bytes - page + PAGE_BYTES - 1) / PAGE_BYTES, resident = 0;
  while (count > 0) {
    size_t part = count < sizeof pages ? count : sizeof pages;
    if (call(SYS_mincore, (long)page, (long)(part * PAGE_BYTES), (long)pages, 0, 0, 0) != 0)
      return bytes;
    for (size_t at = 0; at < part; at++) resident += pages[at] & 1;
    page += part * PAGE_BYTES;
    count -= part;
  }
  size_t touched = resident * PAGE_BYTES;
  return touched < bytes ? touched : bytes;
}

static SLOW void put_touched(void *block) {
  size_t bytes = real_usable_size(block);
  if (bytes < LARGE_BYTES) return;
  atomic_fetch_sub_explicit(large_slot(block), 1, memory_order_relaxed);
  size_t touched = resident_bytes((uintptr_t)block, bytes);
  if (!has_room(2)) return;
  put_first(RECORD_TOUCHED, 0, block);
  put(touched);
  publish();
}

static inline void look_at_large(void *block) {
  if (__builtin_expect(atomic_load_explicit(large_slot(block), memory_order_relaxed) != 0, 0))
    put_touched(block);
}

/* ---- Events ---- */

#define OWN_FRAMES_MAX 8 /* of this library, between the program's call and the unwinder */

extern char __ehdr_start[], etext[] __attribute__((visibility("hidden"))); /* of this library */

static bool is_own(uintptr_t address) {
  return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext;
}

static SLOW void put_stack(void) {
  uintptr_t callers[FRAMES_MAX + OWN_FRAMES_MAX];
  size_t found = record_unwind(callers, common->frames + OWN_FRAMES_MAX), own = 0;
  while (own < found && is_own(callers[own])) own++;
  size_t count = found - own < common->frames ? found - own : common->frames;
  put(count);
  for (size_t at = 0; at < count; at++) put(callers[own + at]);
}

static inline void put_any_stack(void) {
  if (__builtin_expect(common->frames != 0, 0)) put_stack();
}

static inline uint64_t stack_words(void) { return common->frames == 0 ? 0 : common->frames + 1; }

/* Returns the block. */
static inline void *took(unsigned entry, void *block, size_t size, size_t alignment) {
  if (!is_on() || block == NULL) return block;
  if (entry_wanted != 0) {
    entry = entry_wanted;
    entry_wanted = 0;
  }
  if (!has_room(2 + stack_words())) return block;
  uint64_t power = alignment == 0 ? 0 : (uint64_t)__builtin_ctzll(alignment) + 1;
  put_first(RECORD_TAKE, entry, block);
  put((uint64_t)size | power << 56);
  put_any_stack();
  publish();
  note_large(block, size);
  return block;
}

/* Before the block is freed: whoever gets it next says so later. */
static inline void gives(unsigned entry, void *block) {
  if (!is_on() || block == NULL) return;
  look_at_large(block);
  if (!has_room(1)) return;
  put_first(RECORD_GIVE, entry, block);
  publish();
}

/* ---- Who is called on ---- */

static char early[64 * 1024]; /* for what dlsym allocates while it looks for the allocator */
static size_t early_used;

static void *take_early(size_t size) {
  size_t bytes = (size + 31) / 16 * 16; /* a length ahead of it */
  if (size > sizeof early || early_used + bytes > sizeof early) return NULL;
  char *block = early + early_used;
  early_used += bytes;
  memcpy(block, &size, sizeof size);
  return block + 16;
}

static bool is_early(const void *block) {
  return (const char *)block >= early && (const char *)block < early + sizeof early;
}

static size_t early_size(const void *block) {
  size_t size;
  memcpy(&size, (const char *)block - 16, sizeof size);
  return size;
}

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static _Atomic(uint32_t) is_resolved; /* 1: by a thread that is at it, 2: done */
static const void *allocators_module;

static void begin_recording(void) {
  const char *path = getenv(RECORD_VARIABLE);
  if (path == NULL) return;
  long file = call(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
  if (file < 0) return;
  void *memory = map(SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, (int)file);
  call(SYS_close, file, 0, 0, 0, 0, 0);
  if (memory == NULL) return;
  call(SYS_madvise, (long)memory, SHARED_BYTES, MADV_DONTDUMP, 0, 0, 0);
  common = memory;
  if (common->frames != 0) record_unwind_begin();
  in_parent = &nowhere;
  atomic_store(&is_recording, common->magic == RECORD_MAGIC && begin_image());
}

/* The begin of the module that something stands in. */
static const void *module_of(const void *place) {
  Dl_info found;
  return dladdr(place, &found) != 0 ? found.dli_fbase : NULL;
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static SLOW void resolve(void) {
  atomic_store(&is_resolved, 1);
  real_malloc = (void *(*)(size_t))next("malloc");
  real_calloc = (void *(*)(size_t, size_t))next("calloc");
  real_realloc = (void *(*)(void *, size_t))next("realloc");
  real_free = (void (*)(void *))next("free");
  real_usable_size = (size_t (*)(void *))next("malloc_usable_size");
  allocators_module = module_of((const void *)real_malloc);
  begin_recording();
  atomic_store(&is_resolved, 2);
}

/* False while dlsym is at it: the first call of a process is by its only thread. */
static inline bool is_ready(void) {
  if (LIKELY(atomic_load_explicit(&is_resolved, memory_order_acquire) == 2)) return true;
  if (atomic_load(&is_resolved) == 0) resolve();
  return atomic_load(&is_resolved) == 2;
}

__attribute__((constructor)) static void begin(void) { (void)is_ready(); }

/* Lets the command look at what is in memory before it goes. In the child of a vfork all memory is
 * the parent's. */
__attribute__((destructor)) static void end(void) {
  if (!is_on() || !has_room(0)) return;
  if (ring->process != (uint32_t)call(SYS_getpid, 0, 0, 0, 0, 0, 0)) return;
  atomic_store(&ring->ending, WAITS_TO_BE_LOOKED_AT);
  for (unsigned pauses = 0; pauses < 2000 && !is_stopped(); pauses++) {
    if (atomic_load(&ring->ending) == IS_LOOKED_AT) return;
    if (pauses % 64 == 63 && !is_command_there()) return;
    pause_ns(500000);
  }
}

EXPORT __attribute__((noreturn)) void _exit(int status) {
  end();
  for (;;) call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

EXPORT __attribute__((noreturn)) void _Exit(int status) { _exit(status); }

/* ---- What the program maps itself ----
 *
 * What of it is in memory is no allocator's. The C library calls its own functions otherwise, and
 * other allocators' calls are told by their module. */

#if defined(__LP64__)
static void put_mapping(enum record_kind kind, void *start, size_t bytes, const void *caller) {
  if (!is_on() || module_of(caller) == allocators_module || !has_room(2)) return;
  put_first(kind, 0, start);
  put(bytes);
  publish();
}

static void *map_as_told(void *place, size_t bytes, int protection, int flags, int file,
                         off_t offset, const void *caller) {
  long result = syscall(SYS_mmap, place, bytes, protection, flags, file, offset);
  if (result == -1) return MAP_FAILED;
  bool is_own_memory = (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_TYPE) == MAP_PRIVATE;
  put_mapping(is_own_memory ? RECORD_MAP : RECORD_UNMAP, (void *)result, bytes, caller);
  return (void *)result;
}

EXPORT void *mmap(void *place, size_t bytes, int protection, int flags, int file, off_t offset) {
  const void *caller = __builtin_return_address(0);
  return map_as_told(place, bytes, protection, flags, file, offset, caller);
}

/* Musl's headers have one name for both. */
void *map_far(void *, size_t, int, int, int, off_t) __asm__("mmap64") EXPORT;
void *map_far(void *place, size_t bytes, int protection, int flags, int file, off_t offset) {
  const void *caller = __builtin_return_address(0);
  return map_as_told(place, bytes, protection, flags, file, offset, caller);
}

/* Before it is done: whoever maps something there next says so later. */
EXPORT int munmap(void *place, size_t bytes) {
  put_mapping(RECORD_UNMAP, place, bytes, __builtin_return_address(0));
  return (int)syscall(SYS_munmap, place, bytes);
}
#endif

/* ---- C ---- */

EXPORT void *malloc(size_t size) {
  if (!is_ready()) return take_early(size);
  return took(MALLOC, real_malloc(size), size, 0);
}

EXPORT void *calloc(size_t count, size_t size) {
  if (!is_ready()) return take_early(count * size); /* it is zero, and never used again */
  return took(CALLOC, real_calloc(count, size), count * size, 0);
}

static void give(unsigned entry, void *block, void (*function)(void *)) {
  if (!is_ready() || is_early(block)) return;
  gives(entry, block);
  function(block);
}

EXPORT void free(void *block) { give(FREE, block, real_free); }

EXPORT void cfree(void *block) { give(CFREE, block, real_free); }

/* Sizes are what the program may say, and an allocator without these does not need them. */
EXPORT void free_sized(void *block, size_t size) {
  (void)size;
  give(FREE_SIZED, block, real_free);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size) {
  (void)alignment, (void)size;
  give(FREE_ALIGNED_SIZED, block, real_free);
}

static void *resize_early(void *block, size_t size) {
  void *other = malloc(size);
  if (other == NULL) return NULL;
  size_t bytes = early_size(block);
  return memcpy(other, block, bytes < size ? bytes : size);
}

/* A block's old place may be another thread's before its new place is known. */
static void *resize(unsigned entry, void *block, size_t size) {
  if (!is_on()) return real_realloc(block, size);
  if (block == NULL) return took(entry, real_realloc(NULL, size), size, 0);
  look_at_large(block);
  bool is_put = has_room(1);
  if (is_put) {
    put_first(RECORD_DETACH, entry, block);
    publish();
  }
  void *other = real_realloc(block, size);
  if (!is_put || !has_room(2 + stack_words())) return other;
  if (other == NULL && size == 0) { /* the allocator frees it */
    put_first(RECORD_GIVE, entry, NULL);
  } else {
    put_first(RECORD_ATTACH, entry, other);
    put(size);
    put_any_stack();
  }
  publish();
  if (other != NULL) note_large(other, size);
  return other;
}

EXPORT void *realloc(void *block, size_t size) {
  if (!is_ready()) return block == NULL ? take_early(size) : NULL;
  if (block != NULL && is_early(block)) return resize_early(block, size);
  return resize(REALLOC, block, size);
}

EXPORT void *reallocarray(void *block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  if (!is_ready()) return block == NULL ? take_early(bytes) : NULL;
  if (block != NULL && is_early(block)) return resize_early(block, bytes);
  return resize(REALLOCARRAY, block, bytes);
}

/* The function of that name behind this one, looked for once. */
#define NEXT(name, type)                                                                           \
  static _Atomic(type) found;                                                                      \
  type function = atomic_load_explicit(&found, memory_order_relaxed);                              \
  if (function == NULL) {                                                                          \
    function = (type)next(name);                                                                   \
    atomic_store_explicit(&found, function, memory_order_relaxed);                                 \
  }

typedef void *(*aligned_function)(size_t, size_t);
typedef void *(*plain_function)(size_t);

/* What it calls itself is not the program's call. */
static void *take_aligned(unsigned entry, aligned_function function, size_t alignment,
                          size_t size) {
  if (function == NULL) {
    errno = ENOMEM;
    return NULL;
  }
  bool was = passes_on;
  passes_on = true;
  void *block = function(alignment, size);
  passes_on = was;
  return took(entry, block, size, alignment);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
  if (!is_ready()) return NULL;
  NEXT("aligned_alloc", aligned_function)
  return take_aligned(ALIGNED_ALLOC, function, alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size) {
  if (!is_ready()) return NULL;
  NEXT("memalign", aligned_function)
  return take_aligned(MEMALIGN, function, alignment, size);
}

EXPORT int posix_memalign(void **place, size_t alignment, size_t size) {
  typedef int (*function_type)(void **, size_t, size_t);
  if (!is_ready()) return ENOMEM;
  NEXT("posix_memalign", function_type)
  if (function == NULL) return ENOMEM;
  bool was = passes_on;
  passes_on = true;
  int outcome = function(place, alignment, size);
  passes_on = was;
  if (outcome == 0) took(POSIX_MEMALIGN, *place, size, alignment);
  return outcome;
}

static void *take_pages(unsigned entry, plain_function function, size_t size) {
  if (function == NULL) {
    errno = ENOMEM;
    return NULL;
  }
  bool was = passes_on;
  passes_on = true;
  void *block = function(size);
  passes_on = was;
  return took(entry, block, size, PAGE_BYTES);
}

EXPORT void *valloc(size_t size) {
  if (!is_ready()) return NULL;
  NEXT("valloc", plain_function)
  return take_pages(VALLOC, function, size);
}

EXPORT void *pvalloc(size_t size) {
  if (!is_ready()) return NULL;
  NEXT("pvalloc", plain_function)
  return take_pages(PVALLOC, function, size);
}

EXPORT size_t malloc_usable_size(void *block) {
  if (block != NULL && is_early(block)) return early_size(block);
  return is_ready() && real_usable_size != NULL ? real_usable_size(block) : 0;
}

/* ---- C++ ----
 *
 * The C++ library's operator new calls malloc, which writes down that it was new; an allocator's
 * own does not, and then it is written down here. It may throw, and then nothing is. Where there is
 * no operator behind this one, as in a C++ library opened for one plugin alone, it is malloc. */

#if __SIZEOF_SIZE_T__ == 8
#define SIZE "m"
#else
#define SIZE "j"
#endif
#define OPERATOR(name) __asm__(name) EXPORT

struct nothrow;

static inline void *took_new(unsigned entry, void *block, size_t size, size_t alignment) {
  bool is_written = entry_wanted == 0;
  entry_wanted = 0;
  return is_written ? block : took(entry, block, size, alignment);
}

static void *new_by_malloc(size_t alignment, size_t size) {
  void *block = alignment == 0 ? malloc(size) : memalign(alignment, size);
  if (block == NULL) abort();
  return block;
}

#define DEFINE_NEW(function_name, symbol, entry)                                                   \
  void *function_name(size_t size) OPERATOR(symbol);                                               \
  void *function_name(size_t size) {                                                               \
    if (!is_ready()) return take_early(size);                                                      \
    NEXT(symbol, plain_function)                                                                   \
    entry_wanted = passes_on ? 0 : entry;                                                          \
    if (function == NULL) return new_by_malloc(0, size);                                           \
    return took_new(entry, function(size), size, 0);                                               \
  }

#define DEFINE_NEW_NOTHROW(function_name, symbol, entry)                                           \
  void *function_name(size_t size, const struct nothrow *nothrow) OPERATOR(symbol);                \
  void *function_name(size_t size, const struct nothrow *nothrow) {                                \
    typedef void *(*type)(size_t, const struct nothrow *);                                         \
    if (!is_ready()) return take_early(size);                                                      \
    NEXT(symbol, type)                                                                             \
    entry_wanted = passes_on ? 0 : entry;                                                          \
    if (function == NULL) return malloc(size);                                                     \
    return took_new(entry, function(size, nothrow), size, 0);                                      \
  }

#define DEFINE_NEW_ALIGNED(function_name, symbol, entry)                                           \
  void *function_name(size_t size, size_t alignment) OPERATOR(symbol);                             \
  void *function_name(size_t size, size_t alignment) {                                             \
    if (!is_ready()) return NULL;                                                                  \
    NEXT(symbol, aligned_function)                                                                 \
    entry_wanted = passes_on ? 0 : entry;                                                          \
    if (function == NULL) return new_by_malloc(alignment, size);                                   \
    return took_new(entry, function(size, alignment), size, alignment);                            \
  }

#define DEFINE_NEW_ALIGNED_NOTHROW(function_name, symbol, entry)                                   \
  void *function_name(size_t size, size_t alignment, const struct nothrow *nothrow)                \
    OPERATOR(symbol);                                                                              \
  void *function_name(size_t size, size_t alignment, const struct nothrow *nothrow) {              \
    typedef void *(*type)(size_t, size_t, const struct nothrow *);                                 \
    if (!is_ready()) return NULL;                                                                  \
    NEXT(symbol, type)                                                                             \
    entry_wanted = passes_on ? 0 : entry;                                                          \
    if (function == NULL) return memalign(alignment, size);                                        \
    return took_new(entry, function(size, alignment, nothrow), size, alignment);                   \
  }

DEFINE_NEW(cxx_new, "_Znw" SIZE, NEW)
DEFINE_NEW(cxx_new_array, "_Zna" SIZE, NEW_ARRAY)
DEFINE_NEW_NOTHROW(cxx_new_nothrow, "_Znw" SIZE "RKSt9nothrow_t", NEW)
DEFINE_NEW_NOTHROW(cxx_new_array_nothrow, "_Zna" SIZE "RKSt9nothrow_t", NEW_ARRAY)
DEFINE_NEW_ALIGNED(cxx_new_aligned, "_Znw" SIZE "St11align_val_t", NEW)
DEFINE_NEW_ALIGNED(cxx_new_array_aligned, "_Zna" SIZE "St11align_val_t", NEW_ARRAY)
DEFINE_NEW_ALIGNED_NOTHROW(cxx_new_aligned_nothrow,
                           "_Znw" SIZE "St11align_val_tRKSt9nothrow_t", NEW)
DEFINE_NEW_ALIGNED_NOTHROW(cxx_new_array_aligned_nothrow,
                           "_Zna" SIZE "St11align_val_tRKSt9nothrow_t", NEW_ARRAY)

/* All three words are handed on, whichever of them the operator takes. */
typedef void (*delete_function)(void *, uintptr_t, uintptr_t);

static void delete_by(unsigned entry, delete_function function, void *block, uintptr_t second,
                      uintptr_t third) {
  gives(entry, block);
  bool was = passes_on;
  passes_on = true;
  if (function == NULL) real_free(block);
  else function(block, second, third);
  passes_on = was;
}

#define DEFINE_DELETE(function_name, symbol, entry)                                                \
  void function_name(void *block, uintptr_t second, uintptr_t third) OPERATOR(symbol);             \
  void function_name(void *block, uintptr_t second, uintptr_t third) {                             \
    if (!is_ready() || is_early(block)) return;                                                    \
    NEXT(symbol, delete_function)                                                                  \
    delete_by(entry, function, block, second, third);                                              \
  }

DEFINE_DELETE(cxx_delete, "_ZdlPv", DELETE)
DEFINE_DELETE(cxx_delete_array, "_ZdaPv", DELETE_ARRAY)
DEFINE_DELETE(cxx_delete_sized, "_ZdlPv" SIZE, DELETE)
DEFINE_DELETE(cxx_delete_array_sized, "_ZdaPv" SIZE, DELETE_ARRAY)
DEFINE_DELETE(cxx_delete_nothrow, "_ZdlPvRKSt9nothrow_t", DELETE)
DEFINE_DELETE(cxx_delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", DELETE_ARRAY)
DEFINE_DELETE(cxx_delete_aligned, "_ZdlPvSt11align_val_t", DELETE)
DEFINE_DELETE(cxx_delete_array_aligned, "_ZdaPvSt11align_val_t", DELETE_ARRAY)
DEFINE_DELETE(cxx_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", DELETE)
DEFINE_DELETE(cxx_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", DELETE_ARRAY)
DEFINE_DELETE(cxx_delete_sized_aligned, "_ZdlPv" SIZE "St11align_val_t", DELETE)
DEFINE_DELETE(cxx_delete_array_sized_aligned, "_ZdaPv" SIZE "St11align_val_t", DELETE_ARRAY)
