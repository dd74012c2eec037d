#!/usr/bin/env python3
"""What `loam explain` says of real programs on glibc, against what they have: ten programs, each brought to
the same state with glibc's malloc and with loam preloaded.

    on_glibc.py LOAM LIBLOAM.SO [PROGRAM...]

Of each: the parts add up to what is in memory, what is live is what the program has taken and not
freed, and what it said the program would have on loam is what it has there.
"""
# label: long
# packages: mariadb-server-core mariadb-client-core
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "on_glibc")
WAIT_SECONDS = 120


class Program:
    """One that runs in a folder of its own, and ends with the block."""

    def __init__(self, folder, preload, tools):
        self.folder, self.preload, self.tools = folder, preload, tools
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", HOME=folder)
        self.process = None
        self.more = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command, **options):
        """A command that makes something ready, on the system's malloc."""
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True,
                       stdout=subprocess.DEVNULL, **options)

    def start(self, *command, **variables):
        with open(self.path("errors"), "wb") as errors:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env={**self.environment, **variables, **self.preload},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)

    def tell(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def wait_for(self, word=b"ready"):
        for line in self.process.stdout:
            if word in line:
                return
        with open(self.path("errors"), encoding="utf-8", errors="replace") as errors:
            sys.exit(f"{self.process.args[0]} has ended: {errors.read()[-2000:]}")

    def end(self):
        if self.more is not None:
            os.close(self.more)
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def retried(call):
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return call()
        except (subprocess.CalledProcessError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


# ---- the programs ----------------------------------------------------------------------------------

def python(program):
    program.start("/usr/bin/python3", "-c", """
import json, sys
rows = [{"id": i, "name": "n" * (i % 90), "tags": [str(i), str(i * 7)]} for i in range(60000)]
text = json.dumps(rows)
kept = json.loads(text)[::3]
del rows, text
print("ready", flush=True)
sys.stdin.read()
""", PYTHONMALLOC="malloc")
    program.wait_for()


def perl(program):
    program.start("perl", "-e", """$| = 1;
my %all = map { $_ => [$_, "v" x ($_ % 300), { n => $_ }] } 1..60000;
delete $all{$_} for grep { $_ % 4 } 1..60000;
print "ready\\n"; <STDIN>;
""")
    program.wait_for()


def ruby(program):
    program.start("ruby", "-e", """
all = (1..150000).map { |i| { id: i, text: 'x' * (i % 400), list: [i] * (i % 9) } }
all = all.select.with_index { |_, i| i % 3 == 0 }
GC.start
puts "ready"; $stdout.flush; gets
""")
    program.wait_for()


def ghostscript(program):
    program.start("gs", "-q", "-dNOPAUSE", "-sDEVICE=png16m", "-r100", "-sOutputFile=" + program.path("page%d.png"),
                  "-dLastPage=12", "/usr/share/R/doc/manual/R-intro.pdf")
    program.tell("/all 50000 array def 0 1 49999 { dup 20 mod 8 add string all 3 1 roll put } for\n"
                 "(ready\\n) print flush\n")
    program.wait_for()


def sqlite(program):
    program.start("sqlite3", ":memory:")
    program.tell("""create table t(a integer primary key, b text, c blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
insert into t select i, printf('%0*d', i % 200, i), randomblob(i % 50) from n;
create index t_b on t(b);
delete from t where a % 4 != 0;
select count(*), sum(length(b)) from t;
select 'ready';
""")
    program.wait_for()


def git(program):
    """With what it keeps of the objects that it has read."""
    program.run("git", "init", "-q", ".")
    files = 3000
    stream = "".join(f"blob\nmark :{i}\ndata {len(text)}\n{text}\n" for i, text in
                     ((i, "".join(f"line {i % 50} {n}\n" for n in range(i % 400))) for i in range(1, files)))
    tree = "".join(f"M 100644 :{i} d{i % 40}/f{i}\n" for i in range(1, files))
    stream += f"commit refs/heads/main\ncommitter n <e> 0 +0000\ndata 1\na\n{tree}\n"
    program.run("git", "fast-import", "--quiet", input=stream.encode())
    program.run("git", "repack", "-adfq")
    program.start("git", "cat-file", "--batch")
    for i in range(1, files):
        program.tell(f"main:d{i % 40}/f{i}\n")
        size = int(program.process.stdout.readline().split()[2])
        program.process.stdout.read(size + 1)


def gcc(program):
    """In the midst of a file, which includes what nobody has written yet."""
    os.mkfifo(program.path("more.h"))
    with open(program.path("a.c"), "w", encoding="utf-8") as file:
        for i in range(20000):
            file.write(f"struct s{i} {{ int a[{i % 7 + 1}]; struct s{i} *next; }};\n"
                       f"int f{i}(struct s{i} *s, int x) {{ for (int i = 0; i < x; i++) x += s->a[0] * {i}; "
                       "return s->next ? x : 0; }\n")
        file.write('#include "more.h"\n')
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True)
    program.start(compiler.stdout.strip(), "-quiet", "-O2", "a.c", "-o", "a.s")
    # Once the compiler has come to it.
    program.more = retried(lambda: os.open(program.path("more.h"), os.O_WRONLY | os.O_NONBLOCK))


def redis(program):
    socket = program.path("socket")
    program.start("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--activedefrag", "no")
    client = ["redis-cli", "-s", socket]
    retried(lambda: program.run(*client, "ping", stderr=subprocess.DEVNULL))
    lines = [f"SET key:{i} {'v' * (i * 37 % 900 + 1)}\nHSET hash:{i % 3000} f{i} {i}\n"
             f"RPUSH list:{i % 500} {'e' * (i % 60 + 1)}" for i in range(100000)]
    lines += [f"DEL key:{i}" for i in range(100000) if i * 7 % 10 < 6]
    program.run(*client, "--pipe", input="\n".join(lines).encode() + b"\n")


def mariadb(program):
    data, socket = program.path("data"), program.path("socket")
    program.run("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal",
                "--user=root", "--skip-test-db", stderr=subprocess.DEVNULL)
    program.start("/usr/sbin/mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={socket}",
                  "--skip-networking", "--innodb-buffer-pool-size=64M", "--skip-log-bin")
    client = ["mariadb", "--no-defaults", "-u", "root", "-S", socket]
    retried(lambda: program.run(*client, "-e", "select 1", stderr=subprocess.DEVNULL))
    program.run(*client, input=b"""create database d; use d;
create table t(a int primary key, b varchar(200), key(b)) engine=innodb;
insert into t select seq, repeat(seq, seq % 20) from seq_1_to_100000;
create table m(a int primary key, b varchar(200)) engine=memory select * from t where a % 3 = 0;
select b, count(*) from t group by b order by 2 desc limit 3;
""")


def server(program):
    program.start(program.tools.server)
    program.wait_for()


PROGRAMS = [python, perl, ruby, redis, mariadb, ghostscript, git, sqlite, gcc, server]


# ---- what they have, and what is said of it ----------------------------------------------------------

def resident_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Rss:"))


def wait_until_settled(pid):
    """Its memory has been the same for a second."""
    last, since, end = 0, time.monotonic(), time.monotonic() + WAIT_SECONDS
    while time.monotonic() < min(since + 1, end):
        now = resident_bytes(pid)
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)


class Tools:
    def __init__(self, folder, loam, library):
        self.loam, self.library = os.path.abspath(loam), os.path.abspath(library)
        self.held, self.server = os.path.join(folder, "held.so"), os.path.join(folder, "server")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-pthread", f"{HERE}/held.c", "-o", self.held], check=True)
        subprocess.run(["c++", "-std=c++20", "-O2", "-pthread", f"{HERE}/server.cpp", "-o", self.server], check=True)

    def explained(self, pid):
        """What explain says, and the seconds of a processor that it took."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([self.loam, "explain", "--json", str(pid)], capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            sys.exit(done.stderr.decode())
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return json.loads(done.stdout), seconds

    def run(self, make, preload):
        """The report of a program in the state that it is brought to, the seconds, and what held.c has counted."""
        with tempfile.TemporaryDirectory(prefix="loam-on-glibc-") as folder:
            counted = os.path.join(folder, "held")
            program = Program(folder, {**preload, "HELD_FILE": counted}, self)
            try:
                make(program)
                wait_until_settled(program.process.pid)
                report, seconds = self.explained(program.process.pid)
                held = None
                if os.path.exists(counted):
                    with open(counted, "rb") as file:
                        held = struct.unpack("qq", file.read())
                return report, seconds, held
            finally:
                program.end()

    def on_glibc(self, make):
        libc = next(line.split()[2] for line in subprocess.run(
            ["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout.splitlines() if "libc.so" in line)
        # Before the malloc that Redis is linked with.
        return self.run(make, {"LD_PRELOAD": f"{self.held}:{libc}"})

    def on_loam(self, make):
        """What is free on whole pages goes back at once."""
        report, _, _ = self.run(make, {"LD_PRELOAD": self.library, "LOAM_OPTIONS": "background=on,purge_delay_ms=10"})
        return report


def sum_of(values):
    return sum(values.values())


def check(make, tools):
    report, seconds, held = tools.on_glibc(make)
    there = tools.on_loam(make)
    resident, unexplained = report["resident_bytes"], report["unexplained_bytes"]
    live = tuple(sum(kind[part] for kind in report["blocks"].values()) for part in ("count", "bytes"))
    said = report["malloc"]["on_loam"]
    # What is not malloc's is as it was here: other threads of the program may have had more or less time.
    kept = there["resident_bytes"] - sum_of(there["others"]) + sum_of(report["others"])
    mib = [f"{value / 2**20:.1f}" for value in (resident, live[1], said["low_bytes"], said["high_bytes"], kept)]
    print("{:<12}{:>8} MiB, live {:>6}, read in {:.2f} s; on loam said {:>6} to {:>6}, seen {:>6}".format(
        make.__name__, *mib[:2], seconds, *mib[2:]), flush=True)
    failures = []
    if abs(unexplained) > max(resident / 50, 256 << 10):
        failures.append(f"{unexplained} bytes of {resident} are unexplained")
    for what, found, known in zip(("blocks", "bytes"), live, held):
        if abs(found - known) > known / 100:
            failures.append(f"{found} {what} are live, and the program has {known}")
    if seconds > 1 + 2 * resident / 2**30:
        failures.append(f"read in {seconds:.1f} s")
    if not said["low_bytes"] <= kept <= said["high_bytes"]:
        failures.append(f"on loam it has {kept} bytes, and not {said['low_bytes']} to {said['high_bytes']}")
    return [f"{make.__name__}: {failure}" for failure in failures]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    names = sys.argv[3:] or [make.__name__ for make in PROGRAMS]
    with tempfile.TemporaryDirectory(prefix="loam-on-glibc-") as folder:
        tools = Tools(folder, *sys.argv[1:3])
        failures = [line for make in PROGRAMS if make.__name__ in names for line in check(make, tools)]
    print(*failures, sep="\n", end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
