/* Crimes against the heap, one a case, for a table of what stops them: `cases` lists them as lines
 * KIND NAME TEXT, `cases NAME` commits one, `cases NAME later` after the program has had thousands of
 * blocks. Whoever is not stopped goes on for a while as programs do, and ends with status 0. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

extern "C" void free_sized(void *, size_t) __attribute__((weak));

namespace {

struct crime {
  const char *kind, *name, *text;
  void (*commit)();
  crime *next;
};
crime *first_crime, **last_crime = &first_crime;

struct registration : crime {
  registration(const char *kind, const char *name, const char *text, void (*commit)())
      : crime{kind, name, text, commit, nullptr} {
    *last_crime = this;
    last_crime = &next;
  }
};

#define CASE(kind, name, text)                          \
  void name();                                          \
  registration name##_entry{kind, #name, text, name};   \
  void name()

/* So that the compiler knows nothing of where a pointer comes from, nor how many bytes it has. */
template <class T> T *opaque(T *pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

enum : size_t { TINY = 24, SMALL = 100, EVEN = 512, PAGE = 4096, MIDDLE = 50000, LARGE = 1 << 20,
                HUGE = 64 << 20 };

char *take(size_t size) {
  char *block = opaque(static_cast<char *>(malloc(size)));
  if (block == nullptr) _exit(3);
  memset(block, 7, size < 65536 ? size : 65536);
  return block;
}
void give(char *block) { free(opaque(block)); }
char *resize(char *block, size_t size) {
  return opaque(static_cast<char *>(realloc(opaque(block), size)));
}
/* Every byte changes: a guard is random, so that BYTE can be what stands there, and then nobody can see it. */
void fill(char *at, int byte, size_t size) {
  at = opaque(at);
  for (size_t i = 0; i < size; i++) at[i] = static_cast<char>(at[i] == byte ? byte + 1 : byte);
}

/* Life goes on: blocks of the size come and go. */
void go_on(size_t size) {
  char *blocks[8];
  for (char *&block : blocks) block = take(size);
  for (char *block : blocks) give(block);
}

void in_thread(void *(*run)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run, argument) != 0) _exit(3);
  pthread_join(thread, nullptr);
}
void *free_it(void *block) {
  free(block);
  return nullptr;
}
void *free_it_twice(void *block) {
  free(block);
  free(opaque(block));
  return nullptr;
}

/* ---- Freed twice ---- */

void twice(size_t size) {
  char *block = take(size);
  give(block);
  give(block);
  go_on(size);
}
CASE("double free", twice_tiny, "24 bytes, at once") { twice(TINY); }
CASE("double free", twice_small, "100 bytes, at once") { twice(SMALL); }
CASE("double free", twice_even, "512 bytes, at once") { twice(EVEN); }
CASE("double free", twice_page, "4,096 bytes, at once") { twice(PAGE); }
CASE("double free", twice_middle, "50,000 bytes, at once") { twice(MIDDLE); }
CASE("double free", twice_large, "1 MiB, at once") { twice(LARGE); }
CASE("double free", twice_huge, "64 MiB, at once") { twice(HUGE); }

void with_one_between(size_t size) {
  char *block = take(size), *other = take(size);
  give(block);
  give(other);
  give(block);
  go_on(size);
}
CASE("double free", between_tiny, "24 bytes, another freed in between") { with_one_between(TINY); }
CASE("double free", between_small, "100 bytes, another freed in between") { with_one_between(SMALL); }
CASE("double free", between_even, "512 bytes, another freed in between") { with_one_between(EVEN); }
CASE("double free", between_page, "4,096 bytes, another freed in between") {
  with_one_between(PAGE);
}
CASE("double free", between_middle, "50,000 bytes, another freed in between") {
  with_one_between(MIDDLE);
}
CASE("double free", between_large, "1 MiB, another freed in between") { with_one_between(LARGE); }

void with_many_between(size_t size, size_t count) {
  char *block = take(size), *others[64];
  for (size_t i = 0; i < count; i++) others[i] = take(size);
  give(block);
  for (size_t i = 0; i < count; i++) give(others[i]);
  give(block);
  go_on(size);
}
CASE("double free", later_tiny, "24 bytes, 20 others freed in between") { with_many_between(TINY, 20); }
CASE("double free", later_small, "100 bytes, 20 others freed in between") {
  with_many_between(SMALL, 20);
}
CASE("double free", later_even, "512 bytes, 5 others freed in between") {
  with_many_between(EVEN, 5);
}
CASE("double free", later_page, "4,096 bytes, 20 others freed in between") {
  with_many_between(PAGE, 20);
}
CASE("double free", later_middle, "50,000 bytes, 20 others freed in between") {
  with_many_between(MIDDLE, 20);
}
CASE("double free", by_thread_and_main, "100 bytes, by another thread and its own") {
  char *block = take(SMALL);
  in_thread(free_it, block);
  give(block);
  go_on(SMALL);
}
CASE("double free", by_main_and_thread, "100 bytes, by its own thread and another") {
  char *block = take(SMALL);
  give(block);
  in_thread(free_it, block);
  go_on(SMALL);
}
CASE("double free", twice_by_thread, "100 bytes, both times by another thread") {
  in_thread(free_it_twice, take(SMALL));
  go_on(SMALL);
}
void *free_own_twice(void *) {
  twice(SMALL);
  return nullptr;
}
CASE("double free", twice_in_thread, "100 bytes, all of it in another thread") {
  in_thread(free_own_twice, nullptr);
}
CASE("double free", middle_by_thread_and_main, "50,000 bytes, by another thread and its own") {
  char *block = take(MIDDLE);
  in_thread(free_it, block);
  give(block);
  go_on(MIDDLE);
}
CASE("double free", old_address, "100 bytes, at the old address after realloc has moved it") {
  char *block = take(SMALL), *wall = take(SMALL), *moved = resize(block, 5000);
  if (moved != block) give(block);
  give(moved);
  give(wall);
  go_on(SMALL);
}
CASE("double free", old_middle_address, "50,000 bytes, at the old address after realloc") {
  char *block = take(MIDDLE), *wall = take(MIDDLE), *moved = resize(block, 600000);
  if (moved != block) give(block);
  give(moved);
  give(wall);
  go_on(MIDDLE);
}
CASE("double free", after_realloc_to_nothing, "100 bytes, after realloc to 0 bytes") {
  char *block = take(SMALL);
  resize(block, 0);
  give(block);
  go_on(SMALL);
}
CASE("double free", aligned_twice, "of aligned_alloc, 64 bytes") {
  char *block = static_cast<char *>(aligned_alloc(64, 256));
  give(block);
  give(opaque(block));
  go_on(256);
}
CASE("double free", calloc_twice, "of calloc, 100 bytes, another in between") {
  char *block = static_cast<char *>(calloc(1, SMALL)), *other = take(SMALL);
  give(block);
  give(other);
  give(opaque(block));
  go_on(SMALL);
}
CASE("double free", delete_twice, "of operator new, by delete") {
  int *object = opaque(new int[4]);
  delete[] object;
  delete[] opaque(object);
  go_on(16);
}
CASE("double free", neighbours, "two neighbours, each twice in turn") {
  char *a = take(SMALL), *b = take(SMALL);
  give(a);
  give(b);
  give(a);
  give(b);
  go_on(SMALL);
}
CASE("double free", written_between, "100 bytes, the first 8 written to in between") {
  char *block = take(SMALL);
  give(block);
  fill(block, 0x41, 8);
  give(block);
  go_on(SMALL);
}

/* ---- What is no block ---- */

void wrong(char *address, size_t size = SMALL) {
  give(address);
  go_on(size);
}
CASE("invalid free", stack, "an array on the stack") {
  char array[256];
  fill(array, 0, sizeof array);
  wrong(array + 64);
}
char static_array[256];
CASE("invalid free", static_variable, "a static array") { wrong(static_array + 64); }
CASE("invalid free", constant, "a string constant") { wrong(const_cast<char *>("a constant")); }
CASE("invalid free", code, "a function") { wrong(reinterpret_cast<char *>(&go_on)); }
CASE("invalid free", small_number, "a small number") { wrong(reinterpret_cast<char *>(0x10)); }
CASE("invalid free", minus_one, "all ones") { wrong(reinterpret_cast<char *>(-1L)); }
CASE("invalid free", not_mapped, "an address where nothing is mapped") {
  char *page = static_cast<char *>(mmap(nullptr, PAGE, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(page, PAGE);
  wrong(page + 64);
}
CASE("invalid free", mapping, "a mapping of the program's own") {
  wrong(static_cast<char *>(mmap(nullptr, PAGE, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
}
CASE("invalid free", small_by_one, "1 byte into a block of 100") { wrong(take(SMALL) + 1); }
CASE("invalid free", small_by_eight, "8 bytes into a block of 100") { wrong(take(SMALL) + 8); }
CASE("invalid free", small_by_sixteen, "16 bytes into a block of 100") { wrong(take(SMALL) + 16); }
CASE("invalid free", even_by_half, "256 bytes into a block of 512") { wrong(take(EVEN) + 256, EVEN); }
CASE("invalid free", before_small, "16 bytes before a block of 100") { wrong(take(SMALL) - 16); }
CASE("invalid free", page_by_sixteen, "16 bytes into a block of 4,096") {
  wrong(take(PAGE) + 16, PAGE);
}
CASE("invalid free", middle_by_one, "1 byte into a block of 50,000") { wrong(take(MIDDLE) + 1, MIDDLE); }
CASE("invalid free", middle_by_page, "4,096 bytes into a block of 50,000") {
  wrong(take(MIDDLE) + PAGE, MIDDLE);
}
CASE("invalid free", large_by_sixteen, "16 bytes into a block of 1 MiB") { wrong(take(LARGE) + 16); }
CASE("invalid free", large_by_page, "4,096 bytes into a block of 1 MiB") { wrong(take(LARGE) + PAGE); }
CASE("invalid free", huge_by_page, "4,096 bytes into a block of 64 MiB") { wrong(take(HUGE) + PAGE); }
CASE("invalid free", end_of_large, "the end of a block of 1 MiB") { wrong(take(LARGE) + LARGE); }
CASE("invalid free", other_threads_by_eight, "8 bytes into a block, by another thread") {
  in_thread(free_it, take(SMALL) + 8);
  go_on(SMALL);
}
CASE("invalid free", other_threads_by_sixteen, "16 bytes into a block, by another thread") {
  in_thread(free_it, take(SMALL) + 16);
  go_on(SMALL);
}
CASE("invalid free", realloc_stack, "realloc of an array on the stack") {
  char array[256];
  fill(array, 0, sizeof array);
  resize(array + 64, 1000);
}
CASE("invalid free", realloc_by_eight, "realloc of 8 bytes into a block") {
  resize(take(SMALL) + 8, 1000);
}
CASE("invalid free", realloc_by_sixteen, "realloc of 16 bytes into a block, which moves it") {
  resize(take(SMALL) + 16, 1000);
  go_on(SMALL);
}
CASE("invalid free", realloc_freed, "realloc of a block that is free") {
  char *block = take(SMALL);
  give(block);
  resize(block, 1000);
  go_on(SMALL);
}
CASE("invalid free", realloc_freed_large, "realloc of a block of 1 MiB that is free") {
  char *block = take(LARGE);
  give(block);
  resize(block, 2 * LARGE);
}

/* ---- Past the end ---- */

/* The neighbours of the block are live, and all are freed afterwards. */
void overflow(size_t size, size_t by, int byte = 0x41) {
  char *before = take(size), *block = take(size), *after = take(size);
  fill(block + size, byte, by);
  give(after);
  give(block);
  give(before);
  go_on(size);
}
/* What stands behind the block is free. */
void overflow_into_free(size_t size, size_t by) {
  char *block = take(size), *after = take(size);
  give(after);
  fill(block + size, 0x41, by);
  go_on(size);
  give(block);
}
/* The block was the last that was taken, and is freed. */
void overflow_at_top(size_t size, size_t by) {
  char *block = take(size);
  fill(block + size, 0x41, by);
  give(block);
  go_on(size);
}
CASE("overflow", by_one_exact, "1 byte, of 24, between live blocks") { overflow(TINY, 1); }
CASE("overflow", by_one, "1 byte, of 104, between live blocks") { overflow(SMALL + 4, 1); }
CASE("overflow", by_zero_byte, "a byte 0, of 104, between live blocks") { overflow(SMALL + 4, 1, 0); }
CASE("overflow", by_thirty_two, "32 bytes, of 104, between live blocks") { overflow(SMALL + 4, 32); }
CASE("overflow", even_by_one, "1 byte, of 512, between live blocks") { overflow(EVEN, 1); }
CASE("overflow", even_by_thirty_two, "32 bytes, of 512, between live blocks") { overflow(EVEN, 32); }
CASE("overflow", page_by_one, "1 byte, of 4,096, between live blocks") { overflow(PAGE, 1); }
CASE("overflow", page_by_thirty_two, "32 bytes, of 4,096, between live blocks") {
  overflow(PAGE, 32);
}
CASE("overflow", over_middle_by_one, "1 byte, of 50,000, between live blocks") { overflow(MIDDLE, 1); }
CASE("overflow", over_middle_by_much, "10,000 bytes, of 50,000, between live blocks") {
  overflow(MIDDLE, 10000);
}
CASE("overflow", large_by_one, "1 byte, of 1 MiB - 1") {
  char *block = take(LARGE - 1);
  fill(block + LARGE - 1, 0x41, 1);
  give(block);
}
CASE("overflow", far_of_small, "1 byte that is 32 past the end of 8") {
  char *block = take(8);
  fill(block + 7 + 32, 0x41, 1);
  give(block);
}
CASE("overflow", far_of_large, "1 byte that is a page past the end of 1 MiB") {
  char *block = take(LARGE);
  fill(block + LARGE - 1 + PAGE, 0x41, 1);
  give(block);
}
CASE("overflow", nothing_written, "1 byte, of 0") {
  char *block = take(0);
  fill(block, 0x41, 1);
  give(block);
}
CASE("overflow", nothing_read, "1 byte read, of 0") {
  volatile char *block = take(0);
  static_cast<void>(*block);
  give(const_cast<char *>(block));
}
CASE("overflow", free_by_thirty_two, "32 bytes, of 104, into a free block") {
  overflow_into_free(SMALL + 4, 32);
}
CASE("overflow", free_even_by_thirty_two, "32 bytes, of 512, into a free block") {
  overflow_into_free(EVEN, 32);
}
CASE("overflow", free_middle_by_thirty_two, "10,000 bytes, of 50,000, into a free block") {
  overflow_into_free(MIDDLE, 10000);
}
CASE("overflow", at_top, "32 bytes, of 104, of the newest block") { overflow_at_top(SMALL + 4, 32); }
CASE("overflow", at_top_middle, "10,000 bytes, of 50,000, of the newest block") {
  overflow_at_top(MIDDLE, 10000);
}
CASE("overflow", by_strcpy, "a string of 120 characters, of 100") {
  char text[121], *before = take(SMALL), *block = take(SMALL), *after = take(SMALL);
  memset(text, 'x', 120);
  text[120] = 0;
  strcpy(opaque(block), text);
  give(after);
  give(block);
  give(before);
  go_on(SMALL);
}
CASE("overflow", never_freed, "32 bytes, of 104, of blocks that are never freed") {
  char *block = take(SMALL + 4);
  take(SMALL + 4);
  fill(block + SMALL + 4, 0x41, 32);
}
CASE("overflow", never_freed_middle, "1 byte, of 50,000, of a block that is never freed") {
  fill(take(MIDDLE) + MIDDLE, 0x41, 1);
}
CASE("overflow", after_shrinking, "16 bytes, of 40, after realloc from 400") {
  char *block = resize(take(400), 40);
  fill(block + 40, 0x41, 16);
  give(block);
  go_on(40);
}
CASE("overflow", into_realloc, "32 bytes, of 104, found by realloc") {
  char *block = take(SMALL + 4), *after = take(SMALL + 4);
  fill(block + SMALL + 4, 0x41, 32);
  resize(after, 300);
  resize(block, 300);
}

/* ---- Before the start ---- */

void underflow(size_t size, size_t by) {
  char *before = take(size), *block = take(size);
  fill(block - by, 0x41, by);
  give(block);
  give(before);
  go_on(size);
}
CASE("underflow", under_small_by_one, "1 byte, of 100") { underflow(SMALL, 1); }
CASE("underflow", under_small_by_sixteen, "16 bytes, of 100") { underflow(SMALL, 16); }
CASE("underflow", under_even_by_one, "1 byte, of 512") { underflow(EVEN, 1); }
CASE("underflow", under_even_by_thirty_two, "32 bytes, of 512") { underflow(EVEN, 32); }
CASE("underflow", under_page_by_one, "1 byte, of 4,096") { underflow(PAGE, 1); }
CASE("underflow", under_middle_by_one, "1 byte, of 50,000") { underflow(MIDDLE, 1); }
CASE("underflow", under_middle_by_sixteen, "16 bytes, of 50,000") { underflow(MIDDLE, 16); }
CASE("underflow", under_large_by_one, "1 byte, of 1 MiB") { underflow(LARGE, 1); }
CASE("underflow", under_large_by_sixteen, "16 bytes, of 1 MiB") { underflow(LARGE, 16); }
CASE("underflow", far_under_small, "1 byte that is 32 before the start of 8") {
  char *block = take(8);
  fill(block - 32, 0x41, 1);
  give(block);
}
CASE("underflow", far_under_large, "1 byte that is a page before the start of 1 MiB") {
  char *block = take(LARGE);
  fill(block - PAGE, 0x41, 1);
  give(block);
}

/* ---- After free ---- */

void write_after(size_t size, size_t at, size_t bytes, int byte = 0x41) {
  char *block = take(size), *wall = take(size);
  give(block);
  fill(block + at, byte, bytes);
  go_on(size);
  give(wall);
}
CASE("use after free", write_tiny, "all of 24 bytes written") { write_after(TINY, 0, TINY); }
CASE("use after free", write_small, "all of 100 bytes written") { write_after(SMALL, 0, SMALL); }
CASE("use after free", write_first, "the first byte of 100 written") { write_after(SMALL, 0, 1); }
CASE("use after free", write_zeros, "all of 100 bytes cleared") { write_after(SMALL, 0, SMALL, 0); }
CASE("use after free", write_last, "the last byte of 100 written") { write_after(SMALL, SMALL - 1, 1); }
CASE("use after free", write_even, "all of 512 bytes written") { write_after(EVEN, 0, EVEN); }
CASE("use after free", write_page, "all of 4,096 bytes written") { write_after(PAGE, 0, PAGE); }
CASE("use after free", write_middle, "all of 50,000 bytes written") { write_after(MIDDLE, 0, MIDDLE); }
CASE("use after free", write_in_middle, "one byte of 50,000 written") {
  write_after(MIDDLE, MIDDLE / 2, 1);
}
CASE("use after free", write_large, "the first bytes of 1 MiB written") { write_after(LARGE, 0, 64); }
CASE("use after free", write_huge, "the first bytes of 64 MiB written") { write_after(HUGE, 0, 64); }
CASE("use after free", write_old_address, "100 bytes written where realloc has moved them from") {
  char *block = take(SMALL), *wall = take(SMALL), *moved = resize(block, 5000);
  if (moved != block) fill(block, 0x41, SMALL);
  go_on(SMALL);
  give(moved);
  give(wall);
}
void *write_it(void *block) {
  fill(static_cast<char *>(block), 0x41, SMALL);
  return nullptr;
}
CASE("use after free", write_by_thread, "100 bytes written by another thread") {
  char *block = take(SMALL);
  give(block);
  in_thread(write_it, block);
  go_on(SMALL);
}
CASE("use after free", write_and_end, "all of 100 bytes written, and nothing more is taken") {
  char *block = take(SMALL);
  give(block);
  fill(block, 0x41, SMALL);
}
CASE("use after free", usable_size_of_freed, "malloc_usable_size of 1 MiB that are free") {
  char *block = take(LARGE);
  give(block);
  malloc_usable_size(opaque(block));
}

/* ---- The wrong partner ---- */

CASE("mismatch", new_array_delete, "new[] and delete") {
  operator delete(opaque(operator new[](SMALL)));
}
CASE("mismatch", new_delete_array, "new and delete[]") {
  operator delete[](opaque(operator new(SMALL)));
}
CASE("mismatch", malloc_delete, "malloc and delete") { operator delete(take(SMALL)); }
CASE("mismatch", new_free, "new and free") { give(static_cast<char *>(operator new(SMALL))); }
CASE("mismatch", new_realloc, "new and realloc") {
  resize(static_cast<char *>(operator new(SMALL)), 1000);
}
CASE("mismatch", delete_size_larger, "delete with a size of 1,000 for 100 bytes") {
  operator delete(opaque(operator new(SMALL)), size_t(1000));
}
CASE("mismatch", delete_size_smaller, "delete with a size of 100 for 1,000 bytes") {
  operator delete(opaque(operator new(1000)), size_t(SMALL));
}
CASE("mismatch", delete_size_near, "delete with a size of 100 for 90 bytes") {
  operator delete(opaque(operator new(90)), size_t(SMALL));
}
CASE("mismatch", delete_size_middle, "delete with a size of 100 for 50,000 bytes") {
  operator delete(opaque(operator new(MIDDLE)), size_t(SMALL));
}
CASE("mismatch", delete_size_large, "delete with a size of 2 MiB for 1 MiB") {
  operator delete(opaque(operator new(LARGE)), size_t(2 * LARGE));
}
CASE("mismatch", free_size_larger, "free_sized with 1,000 for 100 bytes") {
  if (free_sized != nullptr) free_sized(take(SMALL), 1000);
}

size_t next_random() {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}
void live_a_while() {
  static char *blocks[4000];
  for (size_t i = 0; i < 4000; i++) blocks[i] = take(i % 100 == 0 ? MIDDLE : i % 1000);
  for (size_t i = 0; i < 4000; i++)
    if (i % 7 != 0) give(blocks[i]), blocks[i] = nullptr;
  for (size_t i = 0; i < 100000; i++) {
    char *&block = blocks[next_random() % 4000];
    if (block != nullptr) give(block), block = nullptr;
    else block = take(i % 100 == 0 ? MIDDLE : next_random() % 1000);
  }
}

void list() {
  for (const crime *crime = first_crime; crime != nullptr; crime = crime->next)
    printf("%s\t%s\t%s\n", crime->kind, crime->name, crime->text);
}

} // namespace

int main(int count, char **arguments) {
  if (count < 2) {
    list();
    return 0;
  }
  for (const crime *crime = first_crime; crime != nullptr; crime = crime->next) {
    if (strcmp(crime->name, arguments[1]) != 0) continue;
    if (count > 2) live_a_while();
    crime->commit();
    return 0;
  }
  return 2;
}
