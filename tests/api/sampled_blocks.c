// builds: fast linked hardened
/* With the option guard_ms some blocks are such that an access before the start, past the end and
 * after free ends the program; so does a second free or one within the block. Who took the block,
 * who freed it and who accessed it is printed. Also of threads whose calls all take fast paths. */
#include "execute_again.h"
#include "maps.h"
#include "names.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { WARM_UP = 3000 };
#define STACK_BEGINS (CALLERS_ARE_KNOWN ? " at\nloam:   " : "")

/* After these no block of the process's first ones is left to be guarded. */
static void live_a_while(void) {
  static char *blocks[WARM_UP];
  for (int i = 0; i < WARM_UP; i++) blocks[i] = opaque(malloc((size_t)(8 + i % 1500)));
  for (int i = 0; i < WARM_UP; i++) free(blocks[i]);
}

/* Such a block has as many bytes as it was asked for with, and no more: no class has. Blocks are
 * taken and freed meanwhile one at a time, so that each call takes the fast path. */
static void *take_sampled(size_t size, void *take(size_t size)) {
  char *block;
  for (long calls = 0; malloc_usable_size(block = opaque(take(size))) != size; calls++) {
    free(block);
    CHECK(calls < 2000000000);
  }
  return block;
}

static size_t size_of(const char *crime) { return (size_t)atoi(strrchr(crime, ' ') + 1); }

static __attribute__((noinline)) void commit(const char *crime, volatile char *block, size_t size) {
  if (strncmp(crime, "write past", 10) == 0) block[(size + 15) / 16 * 16] = 1;
  if (strncmp(crime, "write by one", 12) == 0) block[size] = 1;
  if (strncmp(crime, "read far", 8) == 0) (void)block[size + 4096];
  if (strncmp(crime, "write before", 12) == 0) block[-1] = 1;
  if (strncmp(crime, "read after", 10) == 0) (void)block[size - 1];
  if (strncmp(crime, "write after", 11) == 0) block[0] = 1;
  if (strncmp(crime, "free within", 11) == 0) free((char *)block + 16);
  if (strncmp(crime, "realloc after", 13) == 0) opaque(realloc((char *)block, 9));
}

static int be_criminal(const char *crime) {
  live_a_while();
  size_t size = size_of(crime);
  char *block = take_sampled(size, malloc);
  memset(block, 1, size);
  bool after = strstr(crime, " after ") != NULL || strstr(crime, "twice") != NULL;
  if (after) free(block);
  commit(crime, block, size);
  for (int i = 0; i < 100; i++) free(opaque(malloc(size)));
  free(block);
  return 0;
}

/* Runs this program once more; what it prints is in `output`. */
static int run(const char *options, const char *crime, char *output, size_t capacity) {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    setenv("LOAM_OPTIONS", options, 1);
    execute_again("sampled_blocks", crime, NULL);
    _exit(2);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t count; (count = read(ends[0], output + length, capacity - 1 - length)) > 0;)
    length += (size_t)count;
  output[length] = 0;
  close(ends[0]);
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status;
}

static char output[1 << 16];

static void expect(const char *crime, const char *first, const char *second, const char *line) {
  int status = run("guard_ms=1", crime, output, sizeof output);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(output, line) == NULL)
    fprintf(stderr, "%s: status %d\n%s", crime, status, output);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  CHECK(strstr(output, line) != NULL);
  const char *taken = strstr(output, "loam: the block was taken by thread ");
  CHECK(taken != NULL);
  const char *then = first != NULL ? strstr(taken, first) : taken;
  CHECK(then != NULL);
  CHECK(strstr(then, second) != NULL);
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(strstr(then, "sampled_blocks") != NULL); /* the program is on the stack */
#endif
}

/* Both ends come by chance: a block stands at the start or at the end of its pages. */
static void expect_ends(size_t size) {
  char crime[40];
  for (int i = 0; i < 2; i++) {
    snprintf(crime, sizeof crime, "write past %zu", size);
    expect(crime, NULL, STACK_BEGINS, " past the end ");
    snprintf(crime, sizeof crime, "write before %zu", size);
    expect(crime, NULL, STACK_BEGINS, " before the start ");
  }
  snprintf(crime, sizeof crime, "write by one %zu", size);
  expect(crime, NULL, STACK_BEGINS, " past the end ");
}

static void expect_after_free(size_t size) {
  const char *accessed = "loam: it was accessed by thread ";
  const char *given = "loam: it was given to a call again by thread ";
  const struct {
    const char *crime, *then, *line;
  } cases[] = {{"read after free", accessed, "loam: access after free at 0x"},
               {"write after free", accessed, "loam: access after free at 0x"},
               {"free twice", given, "loam: double free of 0x"},
               {"realloc after free", given, "not the start of a block"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char crime[40];
    snprintf(crime, sizeof crime, "%s %zu", cases[i].crime, size);
    expect(crime, "loam: it was freed by thread ", cases[i].then, cases[i].line);
  }
}

static void *take_zeros(size_t size) {
  unsigned char *block = calloc(1, size);
  for (size_t i = 0; i < size; i++) CHECK_EQ(block[i], 0);
  return block;
}
/* Of a multiple of the alignment, which has a class: the place tells. */
static void check_aligned(void) {
  for (int i = 0; i < 300000; i++) {
    void *block = opaque(aligned_alloc((size_t)16 << i % 8, 24));
    CHECK_EQ((uintptr_t)block % ((size_t)16 << i % 8), 0u);
    free(block);
  }
}

/* Emulators accept any advice, and guard nothing. */
static bool kernel_has_guards(void) {
  char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (madvise(page, 4096, 102) != 0) return false; /* MADV_GUARD_INSTALL */
  int zeros = open("/dev/zero", O_RDONLY);
  bool is_guarded = read(zeros, page, 1) < 0;
  close(zeros);
  munmap(page, 4096);
  return is_guarded;
}

/* Blocks are as others are, and cost no mapping each where the kernel has guards. */
static int be_decent(void) {
  live_a_while();
  enum { COUNT = 30 };
  static unsigned char *blocks[COUNT];
  size_t before = count_maps();
  for (int i = 0; i < COUNT; i++) {
    size_t size = (size_t)(1 + i * 174);
    blocks[i] = take_sampled(size, i % 2 == 0 ? take_zeros : malloc);
    CHECK_EQ((uintptr_t)blocks[i] % 16, 0u);
    memset(blocks[i], i, size);
  }
  size_t maps = count_maps() - before;
  if (kernel_has_guards()) CHECK(maps < 10);
  for (int i = 0; i < COUNT; i++) {
    size_t size = (size_t)(1 + i * 174), new_size = i % 2 == 0 ? size * 2 : size * 3 / 4 + 1;
    blocks[i] = opaque(realloc(blocks[i], new_size));
    for (size_t j = 0; j < size && j < new_size; j++) CHECK_EQ(blocks[i][j], (unsigned char)i);
    memset(blocks[i], i, new_size);
    free(blocks[i]);
  }
  check_aligned();
  return 0;
}

/* What is no block ends the program as without loam. */
static int access_nothing(void) {
  live_a_while();
  raise(SIGSEGV);
  return 0;
}

int main(int count, char **arguments) {
  if (count > 1 && strcmp(arguments[1], "decent") == 0) return be_decent();
  if (count > 1 && strcmp(arguments[1], "nothing") == 0) return access_nothing();
  if (count > 1) return be_criminal(arguments[1]);
  static const size_t sizes[] = {40, 5000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    expect_ends(sizes[i]);
    expect_after_free(sizes[i]);
  }
  expect("free within 100", NULL, "loam: it was given to a call again by thread ",
         "not the start of a block");
  CHECK_EQ(run("guard_ms=1", "decent", output, sizeof output), 0);
  CHECK_EQ(run("guard_ms=1,fill=zero", "decent", output, sizeof output), 0);
  int status = run("guard_ms=1", "nothing", output, sizeof output);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  CHECK(strstr(output, "loam") == NULL); /* an emulator has a line of its own */
  return 0;
}
