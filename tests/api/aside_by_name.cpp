// builds: fast checking hardened
/* In a program that the option `aside` lists, every block is one of the C library's, whoever asks for it, how and from
 * which thread, and what speaks of the whole heap speaks of the C library's. In others all are loam's. The program
 * starts itself with lists that have its name and with such that have not. */
#include "execute_again.h"
#include "names.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <string>
#include <vector>

static bool is_listed;

/* glibc has a block's size and three flags before it. There may be no memory before one of loam's. */
static bool is_of_libc(void *block) {
  static int memory = open("/proc/self/mem", O_RDONLY);
  size_t word = 0;
  if (pread(memory, &word, sizeof word, (off_t)((uintptr_t)block - sizeof word)) < 0) return false;
  return (word & ~(size_t)7) == malloc_usable_size(block) + (word & 2 ? 16 : 8);
}

static void *check(void *block) {
  CHECK(block != nullptr);
  CHECK_EQ(is_of_libc(block), is_listed);
  return block;
}

static void check_size(size_t size) {
  void *block;
  free(check(malloc(size)));
  free(check(calloc(1, size)));
  free(check(realloc(nullptr, size)));
  free(check(reallocarray(nullptr, 1, size)));
  free(check(realloc(malloc(size), 2 * size)));
  free(check(realloc(malloc(size), size / 3 + 1)));
  for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
    CHECK_EQ((uintptr_t)(block = check(memalign(alignment, size))) % alignment, 0u);
    free(block);
    CHECK_EQ((uintptr_t)(block = check(aligned_alloc(alignment, size))) % alignment, 0u);
    free(block);
    CHECK_EQ(posix_memalign(&block, alignment, size), 0);
    CHECK_EQ((uintptr_t)check(block) % alignment, 0u);
    free(block);
  }
  free(check(memalign(24, size)));
  CHECK_EQ((uintptr_t)(block = check(valloc(size))) % 4096, 0u);
  free(block);
  CHECK_EQ((uintptr_t)(block = check(pvalloc(size))) % 4096, 0u);
  free(block);
  free_sized(check(malloc(size)), size);
  free_aligned_sized(check(aligned_alloc(64, size)), 64, size);
  operator delete(check(operator new(size)));
  operator delete(check(operator new(size)), size);
  operator delete[](check(operator new[](size, std::nothrow)));
  operator delete[](check(operator new[](size, std::align_val_t(256))), size, std::align_val_t(256));
}

static void *work(void *unused) {
  for (size_t size = 24; size < 1000000; size = size * 3 + 8) check_size(size);
  std::vector<std::string> texts;
  for (size_t i = 0; i < 1000; i++) texts.push_back(std::string(i, 'x'));
  free(check(strdup("a text")));
  return unused;
}

static void check_threads() {
  pthread_t threads[4];
  for (pthread_t &thread : threads) CHECK_EQ(pthread_create(&thread, nullptr, work, nullptr), 0);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}

static void check_heap() {
  CHECK_EQ(malloc(SIZE_MAX / 4), nullptr);
  struct mallinfo2 before = mallinfo2();
  void *blocks[100];
  for (void *&block : blocks) block = check(malloc(10000));
  CHECK_THAT(mallinfo2().uordblks - before.uordblks, >=, 1000000u);
  for (void *block : blocks) free(block);
  malloc_trim(0);
  CHECK_EQ(mallopt(12345, 1), is_listed); /* which glibc takes, as it does not know it */
  void *libc = dlopen("libc.so.6", RTLD_LAZY), *function = dlsym(libc, "malloc");
  Dl_info info;
  CHECK(dladdr(function, &info) != 0);
  CHECK_EQ(strstr(info.dli_fname, "libc.so") != nullptr, is_listed);
}

static int run(const char *list, const char *expected) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    std::string options = std::string("aside=") + list;
    setenv("LOAM_OPTIONS", options.c_str(), 1);
    execute_again("child", expected, nullptr);
    _exit(2);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status;
}

int main(int count, char **arguments) {
  if (count > 1) {
    is_listed = strcmp(arguments[1], "aside") == 0;
    check_heap();
    work(nullptr);
    check_threads();
    int status;
    pid_t child = fork();
    if (child == 0) {
      check_threads();
      _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
  }
  std::string path(4096, 0);
  path.resize((size_t)readlink("/proc/self/exe", &path[0], path.size()));
  std::string name = path.substr(path.rfind('/') + 1);
  CHECK_EQ(run(name.c_str(), "aside"), 0);
  CHECK_EQ(run(path.c_str(), "aside"), 0);
  CHECK_EQ(run(("firefox:" + name + ":x").c_str(), "aside"), 0);
  CHECK_EQ(run((name.substr(1) + ":" + name + "x:").c_str(), "loam"), 0);
  CHECK_EQ(run("sh", "loam"), 0);
  return 0;
}
