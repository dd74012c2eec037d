#!/usr/bin/env python3
"""Counts the instructions of malloc's and free's fast paths in a built library.

The path is read from the disassembly: from the entry straight on, conditional branches not
taken, jumps followed, to the first `ret`. A run under callgrind then confirms that this is the
path that malloc(32) and the owner's free really take. No instruction on it may lock the bus.

More runs count what other patterns cost with all that they bring about: blocks of 32 bytes that one
thread takes and another frees, blocks of random lengths that are replaced one by one, and blocks
that are taken and freed many at a time; and what a profile adds while it is taken.
"""
import os
import re
import subprocess
import sys
import tempfile

LIMITS = {"malloc": 13, "free": 15} # including ret
SLOW_PATHS = 1 # instructions per pair of calls, on average, outside of the fast paths
PATH_MAX = 200

# A clock of the program's own, which goes on by so much each time that it is read: what the library
# does by the clock is the same however busy the machine is. The library finds it in the vDSO, which
# is one of the program's own as well: the least that has a clock.
CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static atomic_ulong reads;
static int read_clock(clockid_t clock, struct timespec *now) {
  unsigned long us = 1000000 + 50 * atomic_fetch_add(&reads, 1);
  (void)clock;
  now->tv_sec = us / 1000000;
  now->tv_nsec = us % 1000000 * 1000;
  return 0;
}
static struct {
  ElfW(Ehdr) file;
  ElfW(Phdr) loaded, dynamic;
  ElfW(Dyn) entries[3];
  ElfW(Sym) symbol;
  char names[32]; /* behind the symbols */
} vdso;
static unsigned long make_vdso(void) {
  unsigned long start = (unsigned long)&vdso;
  vdso.file.e_phoff = (unsigned long)&vdso.loaded - start;
  vdso.file.e_phnum = 2;
  vdso.loaded.p_type = PT_LOAD;
  vdso.loaded.p_vaddr = start;
  vdso.dynamic.p_type = PT_DYNAMIC;
  vdso.dynamic.p_offset = (unsigned long)&vdso.entries - start;
  vdso.entries[0].d_tag = DT_SYMTAB;
  vdso.entries[0].d_un.d_ptr = (unsigned long)&vdso.symbol;
  vdso.entries[1].d_tag = DT_STRTAB;
  vdso.entries[1].d_un.d_ptr = (unsigned long)vdso.names;
  strcpy(vdso.names + 1, "__vdso_clock_gettime");
  vdso.symbol.st_name = 1;
  vdso.symbol.st_shndx = 1;
  vdso.symbol.st_value = (unsigned long)read_clock;
  return start;
}
unsigned long getauxval(unsigned long type) {
  ElfW(auxv_t) entry = {0};
  int file = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
  while (read(file, &entry, sizeof entry) == sizeof entry && entry.a_type != type) {}
  close(file);
  if (type == AT_SYSINFO_EHDR) return make_vdso();
  return entry.a_type == type ? entry.a_un.a_val : 0;
}
static __attribute__((destructor)) void the_clock_was_read(void) {
  if (reads == 0) _exit(1);
}
"""

LOOP = r"""
#include <stdlib.h>
int main(int count, char **arguments) {
  long n = count > 1 ? atol(arguments[1]) : 0;
  void *volatile keep = malloc(32); /* keeps the span from becoming empty */
  for (long i = 0; i < n; i++) { void *volatile block = malloc(32); free(block); }
  free(keep);
  return 0;
}
"""

REMOTE_LOOP = r"""
#include <pthread.h>
#include <stdlib.h>
static void **blocks;
static long n;
static pthread_barrier_t barrier;
static void *take(void *unused) {
  for (long i = 0; i < n; i++) blocks[i] = malloc(32);
  pthread_barrier_wait(&barrier); /* taken */
  pthread_barrier_wait(&barrier); /* freed */
  return unused;
}
int main(int count, char **arguments) {
  n = count > 1 ? atol(arguments[1]) : 0;
  blocks = calloc(n, sizeof *blocks);
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, take, NULL);
  pthread_barrier_wait(&barrier);
  for (long i = 0; i < n; i++) free(blocks[i]);
  pthread_barrier_wait(&barrier);
  return pthread_join(thread, NULL);
}
"""

# Two threads take turns, so that each run is the same; before it is counted, blocks of both are
# everywhere.
EXCHANGING_LOOP = r"""
#include <pthread.h>
#include <stdlib.h>
enum { PLACES = %(places)d, TURNS = 500, BEFORE = 200000 };
static char *blocks[PLACES];
static unsigned long long random_state = 88172645463325252u;
static long turns;
static pthread_barrier_t barrier;
static unsigned long long next_random(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}
static void *run(void *other) {
  for (long turn = 0; turn < turns; turn += TURNS) {
    for (int i = 0; i < TURNS && (turn / TURNS %% 2 != 0) == (other != NULL); i++) {
      char *block = malloc(%(least)d + next_random() %% %(range)d);
      *block = 1;
      char **place = &blocks[next_random() %% PLACES];
      free(*place);
      *place = block;
    }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}
int main(int count, char **arguments) {
  turns = BEFORE + (count > 1 ? atol(arguments[1]) : 0);
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, run, blocks);
  run(NULL);
  return pthread_join(thread, NULL);
}
"""

REPLACING_LOOP = r"""
#include <stdlib.h>
int main(int count, char **arguments) {
  static char *blocks[200];
  unsigned long long random = 88172645463325252u;
  for (long n = count > 1 ? atol(arguments[1]) : 0; n > 0; n--) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    char **block = &blocks[random %% %(live)d];
    free(*block);
    *block = malloc(%(least)d + (random >> 32) %% %(range)d);
    **block = 1;
  }
  return 0;
}
"""

BATCHES_LOOP = r"""
#include <stdlib.h>
int main(int count, char **arguments) {
  static char *blocks[300];
  unsigned long long random = 88172645463325252u;
  for (long n = count > 1 ? atol(arguments[1]) : 0; n > 0; n -= 300) {
    for (int i = 0; i < 300; i++) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      blocks[i] = malloc(1000 + random % 15000);
      *blocks[i] = 1;
    }
    for (int i = 0; i < 300; i++) free(blocks[i]);
  }
  return 0;
}
"""

# What is counted, the program, and how many instructions per turn are permitted.
PATTERNS = [
    ("malloc and a free by another thread", REMOTE_LOOP, 165),
    ("a block exchanged", EXCHANGING_LOOP % dict(places=20000, least=16, range=985), 48),
    ("a larger one", EXCHANGING_LOOP % dict(places=1000, least=1000, range=15000), 85),
    ("a middle one", EXCHANGING_LOOP % dict(places=1000, least=16400, range=245000), 500),
    ("a middle block replaced", REPLACING_LOOP % dict(live=200, least=10000, range=240000), 315),
    ("a large block replaced", REPLACING_LOOP % dict(live=30, least=300000, range=2700000), 2560),
    ("one of the same length replaced", REPLACING_LOOP % dict(live=30, least=1000000, range=1), 1950),
    ("a block of a batch", BATCHES_LOOP, 106),
]

# A block is taken and freed with 20 calls on the stack: 16 of take, main's, and 3 before that.
DEEP_LOOP = r"""
#include <stdlib.h>
static __attribute__((noinline)) void take(int calls) {
  if (calls > 0) { take(calls - 1); __asm__ volatile(""); return; }
  void *volatile block = malloc(20000);
  free(block);
}
int main(int count, char **arguments) {
  for (long n = count > 1 ? atol(arguments[1]) : 0; n > 0; n--) take(15);
  return 0;
}
"""

# What is counted, the program, how a profile is taken of it, the turns, and how many instructions per
# turn more than without a profile are permitted.
PROFILED = [
    ("a sample with 20 calls on the stack", DEEP_LOOP, "profile_bytes=16", 10000, 1600),
    ("a small block, rarely a sample", REPLACING_LOOP % dict(live=200, least=16, range=500), "", 400000, 10.5),
]

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*)$")
PREFIXES = ("bnd ", "notrack ", "repz ", "data16 ", "cs ")


def parse_disassembly(text):
    """Instructions by address, in order: {address: (text, next address or None)}."""
    found = []
    for line in text.splitlines():
        match = INSTRUCTION.match(line)
        if match is not None and match[2].strip():
            found.append((int(match[1], 16), re.sub(r"\s+", " ", match[2].split("#")[0]).strip()))
    addresses = [address for address, _ in found[1:]] + [None]
    return {address: (text, following) for (address, text), following in zip(found, addresses)}


def mnemonic_of(instruction):
    for prefix in PREFIXES:
        instruction = instruction.removeprefix(prefix)
    return instruction.split()[0]


def straight_path(code, address):
    """The instructions from address to the first ret; raises ValueError where it does not go on."""
    path = []
    while len(path) < PATH_MAX:
        if address not in code:
            raise ValueError(f"the path leaves the code at {address}")
        text, following = code[address]
        path.append(text)
        mnemonic = mnemonic_of(text)
        if mnemonic.startswith("ret"):
            return path
        if mnemonic.startswith("call"):
            raise ValueError(f"a call on the fast path: {text}")
        if mnemonic == "jmp":
            target = re.search(r"jmp\s+([0-9a-f]+)\b", text)
            if target is None:
                raise ValueError(f"an indirect jump on the fast path: {text}")
            following = int(target[1], 16)
        address = following
    raise ValueError(f"no ret within {PATH_MAX} instructions")


def locks_the_bus(instruction):
    return (instruction.startswith("lock ") or " lock " in instruction
            or mnemonic_of(instruction).startswith("xchg") and "(" in instruction
            or mnemonic_of(instruction) in ("mfence", "cpuid"))


def problems(name, path):
    if len(path) > LIMITS[name]:
        yield f"{name}: {len(path)} instructions, at most {LIMITS[name]}"
    for instruction in path:
        if locks_the_bus(instruction):
            yield f"{name}: an atomic read-modify-write or fence: {instruction}"


def symbol_addresses(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return {fields[2].split("@")[0]: int(fields[0], 16) for fields in map(str.split, lines)
            if len(fields) == 3}


def self_costs(text, object_name):
    """Instructions executed per function in one object, from a callgrind file."""
    names, costs, function, current, skip = {}, {}, None, None, False

    def resolve(kind, value):
        match = re.match(r"\((\d+)\)(?: (.*))?$", value)
        if match is None:
            return value
        if match[2]:
            names[kind, match[1]] = match[2]
        return names.get((kind, match[1]), value)

    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key == "ob":
            current = resolve("ob", value)
        elif key == "fn":
            function = resolve("fn", value)
        elif key == "cfn":
            resolve("fn", value)
        elif key == "cob":
            resolve("ob", value)
        elif key == "calls":
            skip = True # the next line is the cost of the callee
        elif re.match(r"[+*\-0-9]", line):
            if not skip and current is not None and os.path.basename(current) == object_name:
                costs[function] = costs.get(function, 0) + int(line.split()[-1])
            skip = False
    return costs


def executed_counts(library, text, turns=10000, options=None):
    """Instructions per turn of a program inside the library, by the difference of two runs."""
    few, many = 1000, 1000 + turns
    environment = dict(os.environ, LD_PRELOAD=library)
    if options is not None:
        environment["LOAM_OPTIONS"] = options
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "loop.c"), os.path.join(folder, "loop")
        with open(source, "w", encoding="utf-8") as file:
            file.write(CLOCK + text)
        subprocess.run(["cc", "-O1", "-fno-builtin", "-rdynamic", "-pthread", source, "-o", program], check=True)
        costs = []
        for count in (few, many):
            out = os.path.join(folder, f"out.{count}")
            # The preload goes to the program only, through the environment of valgrind's child.
            result = subprocess.run(
                ["valgrind", "--tool=callgrind", "--soname-synonyms=somalloc=nouserintercepts",
                 f"--callgrind-out-file={out}", program, str(count)],
                env=environment, capture_output=True, text=True)
            if result.returncode != 0:
                sys.exit("valgrind failed:\n" + result.stderr[-2000:])
            with open(out, encoding="utf-8") as file:
                costs.append(self_costs(file.read(), os.path.basename(library)))
    return {name: (costs[1][name] - costs[0].get(name, 0)) / (many - few) for name in costs[1]
            if costs[1][name] - costs[0].get(name, 0) >= (many - few) / 100}


def measure(library):
    disassembly = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-M", "att", library],
                                 capture_output=True, text=True, check=True).stdout
    code, addresses = parse_disassembly(disassembly), symbol_addresses(library)
    executed, found = executed_counts(library, LOOP), []
    for name in LIMITS:
        try:
            path = straight_path(code, addresses[name])
        except (ValueError, KeyError) as error:
            found.append(f"{name}: {error}")
            continue
        print(f"{name}: {len(path)} instructions", *path, sep="\n    ")
        found += problems(name, path)
        aliases = {other for other in addresses if addresses[other] == addresses[name]}
        actual = sum(count for function, count in executed.items() if function in aliases)
        # A call that leaves for a slow path has fewer, or more.
        if not len(path) * 0.99 <= actual <= len(path) * 1.05:
            found.append(f"{name}: callgrind counts {actual:.2f} instructions per call, the "
                         f"straight path has {len(path)}")
    print("per call, in the library:", executed)
    excess = sum(executed.values()) - sum(LIMITS.values()) - SLOW_PATHS
    if excess > 0:
        found.append(f"{excess:.2f} instructions more than permitted per pair of malloc and free")
    for name, text, limit in PATTERNS:
        counts = executed_counts(library, text)
        print(f"{name}: {sum(counts.values()):.1f} instructions,", counts)
        if sum(counts.values()) > limit:
            found.append(f"{name}: {sum(counts.values()):.1f} instructions, at most {limit}")
    for name, text, how, turns, limit in PROFILED:
        taken = executed_counts(library, text, turns, f"profile=on,profile_file=/dev/null,{how}")
        more = sum(taken.values()) - sum(executed_counts(library, text, turns).values())
        print(f"{name}: {more:.1f} instructions more,", taken)
        if more > limit:
            found.append(f"{name}: {more:.1f} instructions more, at most {limit}")
    print(*found, sep="\n")
    return 1 if found else 0


SAMPLE = """
0000000000001000 <malloc>:
    1000:\tlea    0xf(%rdi),%rax
    1004:\tja     1100 <slow>
    1008:\tjmp    1020 <there>   # far
    100c:\tcall   2000 <other>
    1020:\tmov    (%rax),%rdx
    1024:\tbnd ret
    1100:\tlock xadd %eax,(%rdx)
    1104:\tret
"""


def self_test():
    code = parse_disassembly(SAMPLE)
    path = straight_path(code, 0x1000)
    assert len(path) == 5 and path[-1] == "bnd ret", path
    assert list(problems("malloc", path)) == []
    assert len(list(problems("malloc", straight_path(code, 0x1100)))) == 1
    assert len(list(problems("free", ["nop"] * (LIMITS["free"] + 1)))) == 1
    assert locks_the_bus("xchg %rax,(%rdx)") and not locks_the_bus("xchg %ax,%ax")
    try:
        straight_path(code, 0x100c)
        raise AssertionError("a call was not found")
    except ValueError:
        pass
    dump = ("ob=(1) /x/libloam.so\nfn=(1) malloc\n5 12\ncalls=1 0\n+5 99\nfn=(2) free\n+1 3\n"
            "ob=(2) /x/libc.so\nfn=(3) exit\n1 50\nob=(1)\nfn=(1)\n+1 4\n")
    assert self_costs(dump, "libloam.so") == {"malloc": 16, "free": 3}
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} LIBRARY | --self-test")
    return measure(os.path.abspath(sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
