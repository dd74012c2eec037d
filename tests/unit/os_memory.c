/* Memory from the system: alignment, errors, moving, and the list of mappings. */
#include "unit.h"

#include <sys/mman.h>

static void a_reservation_is_aligned_and_writable_or_can_be_made_so(void) {
  for (int overcommit = 0; overcommit < 2; overcommit++) {
    lm_os.overcommit = overcommit;
    for (int i = 0; i < 5; i++) {
      void *address;
      CHECK_EQ(lm_os_reserve(8 * MIB, 4 * MIB, &address), 0);
      CHECK_EQ((uintptr_t)address % (4 * MIB), 0);
      if (!overcommit) CHECK_EQ(lm_os_commit(address, 8 * MIB), 0);
      touch(address, 8 * MIB);
      if (i % 2 == 0) lm_os_release(address, 8 * MIB);
    }
  }
}

static void what_was_mapped_beside_an_aligned_mapping_goes_back(void) {
  struct lm_os_mapping mapping;
  void *a, *b;
  CHECK_EQ(lm_os_map(PAGE, PAGE, &a), 0); /* so that the next one is not aligned by chance */
  CHECK_EQ(lm_os_map(3 * PAGE, 64 * MIB, &b), 0);
  CHECK_EQ((uintptr_t)b % (64 * MIB), 0);
  CHECK(lm_os_find_mapping((uintptr_t)b, &mapping));
  CHECK(!lm_os_find_mapping((uintptr_t)b + 3 * PAGE + MIB, &mapping));
}

static void purged_pages_read_as_zero(void) {
  void *address;
  CHECK_EQ(lm_os_map(4 * PAGE, PAGE, &address), 0);
  memset(address, 1, 4 * PAGE);
  CHECK_EQ(lm_os_purge((char *)address + PAGE, 2 * PAGE), 0);
  check_zero((char *)address + PAGE, 2 * PAGE);
  CHECK_EQ(((char *)address)[0], 1);
  CHECK_EQ(((char *)address)[3 * PAGE], 1);
}

static void moved_pages_leave_zeros_behind(void) {
  void *from, *to;
  CHECK_EQ(lm_os_map(MIB, PAGE, &from), 0);
  CHECK_EQ(lm_os_map(MIB, PAGE, &to), 0);
  fill(from, 0, MIB, 1);
  int error = lm_os_move_pages(from, to, MIB);
  if (error != 0) {
    CHECK_EQ(error, ENOSYS);
    check_filled(from, 0, MIB, 1);
    return;
  }
  check_filled(to, 0, MIB, 1);
  check_zero(from, MIB);
  touch(from, MIB);
}

static void a_move_that_fails_leaves_the_source_and_a_target(void) {
  void *from, *to;
  CHECK_EQ(lm_os_map(MIB, PAGE, &from), 0);
  CHECK_EQ(lm_os_map(MIB, PAGE, &to), 0);
  fill(from, 0, MIB, 1);
  lm_fault_countdown = 0;
  CHECK_EQ(lm_os_move_pages(from, to, MIB), ENOSYS);
  check_filled(from, 0, MIB, 1);
  touch(to, MIB);
}

static void each_call_that_can_fail_is_a_fault_point(void) {
  void *address, *other;
  CHECK_EQ(lm_os_map(MIB, PAGE, &address), 0);
  for (int i = 0; i < 6; i++) {
    long before = lm_fault_points;
    int error = 0;
    lm_fault_countdown = 0;
    switch (i) {
    case 0: error = lm_os_reserve(MIB, MIB, &other); break;
    case 1: error = lm_os_reserve_zero(MIB, &other); break;
    case 2: error = lm_os_commit(address, MIB); break;
    case 3: error = lm_os_purge(address, MIB); break;
    case 4: error = lm_os_map(MIB, PAGE, &other); break;
    case 5: error = lm_os_remap(address, MIB, 2 * MIB, &other); break;
    }
    CHECK_EQ(error, ENOMEM);
    CHECK_EQ(lm_fault_points, before + 1);
    CHECK_THAT(lm_fault_countdown, <, 0);
  }
  touch(address, MIB);
}

static void errno_is_left_alone(void) {
  void *address;
  errno = 77;
  CHECK(lm_os_map((size_t)1 << 62, PAGE, &address) != 0);
  CHECK(lm_os_commit((void *)(uintptr_t)PAGE, PAGE) != 0);
  CHECK_EQ(errno, 77);
}

static void advice_that_is_refused_changes_nothing(void) {
  long points = lm_fault_points;
  errno = 77;
  lm_fault_countdown = 0;
  void *unmapped = (void *)(uintptr_t)PAGE;
  lm_os_advise_huge(unmapped, PAGE);
  lm_os_refuse_huge(unmapped, PAGE);
  lm_os_accept_huge(unmapped, PAGE);
  CHECK_EQ(errno, 77);
  CHECK_EQ(lm_fault_points, points);
  CHECK_EQ(lm_fault_countdown, 0);
}

static void mappings_are_found_with_their_file_and_rights(void) {
  static const char text[] = "text";
  static char data[] = "data";
  struct lm_os_mapping code, variable, none;
  char path[256] = "";
  CHECK_THAT(readlink("/proc/self/exe", path, sizeof path - 1), >, 0);
  CHECK(lm_os_find_mapping((uintptr_t)text, &code));
  CHECK(lm_os_find_mapping((uintptr_t)data, &variable));
  CHECK(code.readable && !code.writable && variable.readable && variable.writable);
  CHECK_EQ(strcmp(code.path, path), 0);
  CHECK_EQ(code.module_start, variable.module_start);
  CHECK(!lm_os_find_mapping(16, &none));
}

static void the_environment_is_searched_by_whole_names(void) {
  char *entries[] = {"LOAM_OPT=no", "LOAM_OPTIONS2=no", "LOAM_OPTIONS=yes=1", NULL};
  environ = entries;
  CHECK_EQ(strcmp(lm_os_environment("LOAM_OPTIONS"), "yes=1"), 0);
  CHECK_EQ(lm_os_environment("LOAM"), NULL);
}

static void the_clock_does_not_go_back(void) {
  uint64_t last = lm_os_clock_ms();
  for (int i = 0; i < 1000; i++) {
    uint64_t now = lm_os_clock_ms();
    CHECK(now >= last);
    last = now;
  }
  sleep_ms(40);
  CHECK(lm_os_clock_ms() > last);
}

static _Atomic(bool) may_end;
static void *wait_until_it_may(void *unused) {
  while (!lm_load_relaxed(&may_end)) sleep_ms(1);
  return unused;
}

static void threads_are_noticed_as_they_come_and_go(void) {
  CHECK(lm_os_is_single_threaded());
  pthread_t thread = start_thread(wait_until_it_may, NULL);
  CHECK(!lm_os_is_single_threaded());
  lm_store_relaxed(&may_end, true);
  join_thread(thread);
  /* The kernel counts it a little longer. */
  for (int i = 0; i < 1000 && !lm_os_is_single_threaded(); i++) sleep_ms(1);
  CHECK(lm_os_is_single_threaded());
}

int main(void) {
  RUN(threads_are_noticed_as_they_come_and_go);
  RUN(a_reservation_is_aligned_and_writable_or_can_be_made_so);
  RUN(what_was_mapped_beside_an_aligned_mapping_goes_back);
  RUN(purged_pages_read_as_zero);
  RUN(moved_pages_leave_zeros_behind);
  RUN(a_move_that_fails_leaves_the_source_and_a_target);
  RUN(each_call_that_can_fail_is_a_fault_point);
  RUN(errno_is_left_alone);
  RUN(advice_that_is_refused_changes_nothing);
  RUN(mappings_are_found_with_their_file_and_rights);
  RUN(the_environment_is_searched_by_whole_names);
  RUN(the_clock_does_not_go_back);
  return UNIT_RESULT();
}
