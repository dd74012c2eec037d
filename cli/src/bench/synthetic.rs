//! Made-up results with everything that can happen in them: for tests, and to look at.

use crate::bench::judge::results::*;
use crate::bench::judge::statistics::BOOTSTRAP_ROUNDS_MIN;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// A name that would end a script, a table and an attribute, were it not escaped.
pub const HOSTILE: &str = "<script>alert('\"&|`')</script>";
/// So few that no rounds are resampled, which takes longer than all else that is done with them.
const ROUNDS: usize = BOOTSTRAP_ROUNDS_MIN - 1;

/// Name, version, time and memory as multiples of loam's.
const ALLOCATORS: [(&str, &str, f64, f64); 7] = [
    ("loam", "0.1.0", 1.0, 1.0),
    ("glibc", "2.36", 1.30, 0.93),
    ("mimalloc", "3.4.3", 1.05, 1.45),
    ("snmalloc", "0.7.4", 1.0, 1.12),
    ("jemalloc", "5.3.1", 1.21, 1.6),
    (HOSTILE, "1 <b>", 0.93, 1.02),
    ("bump", "", 0.7, 4.0),
];

/// Name, title, seconds and KiB under loam.
const ROWS: [(&str, &str, f64, f64); 8] = [
    ("factor", "tiny short-lived blocks", 0.31, 1_900.0),
    ("larson", "a server's sessions, handed from thread to thread", 2.4, 61_000.0),
    ("batches", "bulk allocation, mixed frees", 0.9, 140_000.0),
    ("handoff", "one thread allocates, one frees", 1.7, 9_200.0),
    ("ghostscript", "Ghostscript renders a page", 4.1, 88_000.0),
    ("python", "CPython builds and drops dictionaries", 3.3, 2_400_000.0),
    ("redis", "Redis serves a mix of commands", 6.0, 31_000.0),
    (HOSTILE, "a row <b>with</b> a bad | name", 0.0042, 800.0),
];

/// Every row under every allocator, from one seed.
pub fn suite(seed: u64) -> Results {
    let mut noise = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<Row> =
        ROWS.iter().map(|(name, title, s, kib)| row(name, title, *s, *kib, &mut noise)).collect();
    rows[2].cells[4] = failed("jemalloc", "ended by SIGSEGV in round 2");
    rows[3].cells[3].effect = Effect::Partial(vec!["sh: glibc's malloc".into()]);
    rows[4].cells[1].runs[2].problem = Some("took longer than 60 s".into());
    rows[4].cells[1].runs[2].values.clear();
    rows[7].cells[5] = failed(HOSTILE, "prints </td><script>alert(1)</script>");
    add_requests(&mut rows[6]);
    rows.push(skipped());
    let mut allocators: Vec<AllocatorRow> = ALLOCATORS.iter().map(allocator).collect();
    allocators.push(AllocatorRow {
        problem: Some(
            "libtcmalloc.so.4 was not found; apt-get install libtcmalloc-minimal4".into(),
        ),
        ..allocator(&("gperftools", "", 1.0, 1.0))
    });
    Results {
        schema: SCHEMA,
        loam: "0.1.0".into(),
        commit: Some("0123abc+changes".into()),
        command: ["loam", "bench", "suite", "--name", HOSTILE].map(String::from).to_vec(),
        started: "2026-11-21T10:20:30Z".into(),
        seconds: 754.0,
        seed,
        machine: machine(),
        allocators,
        rows,
        parts: Vec::new(),
    }
}

/// One command of the user's.
pub fn command(seed: u64) -> Results {
    let mut results = suite(seed);
    results.rows = vec![results.rows.swap_remove(4)];
    results.rows[0].group = None;
    results.rows[0].about = None;
    results
}

/// As large as a suite gets.
pub fn large_suite(seed: u64) -> Results {
    let mut results = suite(seed);
    for copy in 0..5 {
        for mut row in suite(seed + copy + 1).rows.into_iter().take(8) {
            row.name = format!("{}-{copy}", row.name);
            results.rows.push(row);
        }
    }
    for (name, model) in [("rpmalloc", 2), ("tcmalloc", 3), ("gperftools", 4), ("tbb", 1)] {
        results.allocators.retain(|row| row.name != name);
        let mut allocator = results.allocators[model].clone();
        allocator.name = name.into();
        results.allocators.insert(6, allocator);
        for row in results.rows.iter_mut().filter(|row| row.skipped.is_none()) {
            let mut cell = row.cells[model].clone();
            cell.allocator = name.into();
            for run in &mut cell.runs {
                run.values.values_mut().for_each(|value| *value *= 1.1);
            }
            row.cells.insert(6, cell);
        }
    }
    results
}

fn machine() -> Machine {
    Machine {
        processor: "Example 9000 Processor".into(),
        processor_count: 2,
        memory_kib: 8_120_000,
        kernel: "Linux 6.1.0-18-amd64".into(),
        system: "Debian GNU/Linux 12 (bookworm)".into(),
        libc: "glibc 2.36".into(),
        huge_pages: Some("madvise".into()),
        taken_by_others: Some(0.07),
    }
}

fn allocator(&(name, version, _, _): &(&str, &str, f64, f64)) -> AllocatorRow {
    let is_limit = name == "bump";
    AllocatorRow {
        name: name.into(),
        version: (!version.is_empty()).then(|| version.into()),
        flags: (name == "loam").then(|| "-O2 -g".into()),
        library: (name != "glibc").then(|| format!("/opt/peers/lib{name}.so")),
        environment: BTreeMap::new(),
        is_limit,
        problem: None,
    }
}

fn row(name: &str, title: &str, seconds: f64, kib: f64, noise: &mut ChaCha8Rng) -> Row {
    let moods: Vec<f64> = (0..ROUNDS).map(|_| jitter(noise, 0.03)).collect();
    let measured = |&(name, _, time, memory): &(&str, &str, f64, f64)| {
        let time = time * jitter(noise, 0.15);
        let memory = memory * jitter(noise, 0.15);
        let measure = |(round, mood): (usize, &f64)| {
            let wall = seconds * time * mood * jitter(noise, 0.02);
            run(round, wall, kib * memory * jitter(noise, 0.01))
        };
        let runs = moods.iter().enumerate().map(measure).collect();
        Cell { allocator: name.into(), effect: Effect::Full, problem: None, runs }
    };
    let lower = |unit: &str| Metric { unit: unit.into(), better: Better::Lower };
    let seconds_of = [metric::WALL, metric::USER, metric::SYSTEM, metric::CPU];
    let counts = [metric::FAULTS_MINOR, metric::FAULTS_MAJOR, metric::SWITCHES_VOLUNTARY];
    let mut metrics: BTreeMap<String, Metric> =
        seconds_of.iter().map(|name| (name.to_string(), lower("s"))).collect();
    metrics.extend(counts.iter().map(|name| (name.to_string(), lower(""))));
    metrics.insert(metric::PEAK.into(), lower("KiB"));
    Row {
        name: name.into(),
        group: Some(if seconds < 3.0 { "field".into() } else { "real".into() }),
        title: title.into(),
        about: Some(format!("What {name} is about. Decides: how it is handled.")),
        command: format!("/opt/bench/{name} --size 20 | tee 'a b'"),
        skipped: None,
        judged: vec![metric::WALL.into(), metric::PEAK.into()],
        metrics,
        cells: ALLOCATORS.iter().map(measured).collect(),
    }
}

fn run(round: usize, wall: f64, kib: f64) -> Run {
    let values = [
        (metric::WALL, wall),
        (metric::USER, wall * 0.8),
        (metric::SYSTEM, wall * 0.1),
        (metric::CPU, wall * 0.9),
        (metric::PEAK, kib.round()),
        (metric::FAULTS_MINOR, (kib / 4.0).round()),
        (metric::FAULTS_MAJOR, 0.0),
        (metric::SWITCHES_VOLUNTARY, 12.0),
    ];
    let interval_ms = wall * 1000.0 / 40.0;
    let height = |at: usize| (at as f64 / 12.0).min((45.0 - at as f64) / 8.0).clamp(0.02, 1.0);
    let samples = (0..40).map(|at| (kib * height(at)) as u64).collect();
    Run {
        round,
        values: values.map(|(name, value)| (name.to_owned(), value)).into(),
        resident: Some(Samples { interval_ms, kib: samples }),
        problem: None,
    }
}

/// A figure that is better high, in place of the wall time.
fn add_requests(row: &mut Row) {
    row.judged[0] = "requests".into();
    row.metrics.insert("requests".into(), Metric { unit: "/s".into(), better: Better::Higher });
    for run in row.cells.iter_mut().flat_map(|cell| &mut cell.runs) {
        let wall = run.values.get(metric::WALL).copied().unwrap_or(1.0);
        run.values.insert("requests".into(), 600_000.0 / wall);
    }
}

fn failed(name: &str, problem: &str) -> Cell {
    Cell {
        allocator: name.into(),
        effect: Effect::Full,
        problem: Some(problem.into()),
        runs: Vec::new(),
    }
}

fn skipped() -> Row {
    Row {
        name: "rocksdb".into(),
        group: Some("real".into()),
        title: "RocksDB fills a database".into(),
        about: None,
        command: "db_bench".into(),
        skipped: Some("db_bench is not there; apt-get install rocksdb-tools".into()),
        judged: vec![metric::WALL.into()],
        metrics: BTreeMap::new(),
        cells: Vec::new(),
    }
}

/// About 1, and mostly within that share of it.
fn jitter(noise: &mut ChaCha8Rng, share: f64) -> f64 {
    let sum: f64 = (0..3).map(|_| noise.random_range(-1.0..1.0)).sum();
    (share * sum).exp()
}

#[test]
#[ignore = "writes files to look at"]
fn write_examples() {
    assert!(large_suite(1).rows.len() > 40);
    use crate::bench::judge::comparison::Comparison;
    use crate::bench::show::form::Form;
    use crate::bench::show::html::Page;
    use crate::bench::show::table::Style;
    let folder = std::env::temp_dir().join("loam-bench-examples");
    std::fs::create_dir_all(&folder).expect("a folder");
    let examples = [("suite", suite(1), "loam"), ("command", command(1), "glibc")];
    for (name, results, baseline) in examples.into_iter().chain([("large", large_suite(1), "loam")])
    {
        let json = serde_json::to_string(&results).expect("JSON");
        std::fs::write(folder.join(format!("{name}.json")), json).expect("a file");
        let comparison = Comparison::new(&results, baseline).expect("a baseline");
        let style = Style { width: 110, is_colored: false };
        let text = style.show(&comparison).expect("a text");
        std::fs::write(folder.join(format!("{name}.txt")), text).expect("a file");
        let page = Page.show(&comparison).expect("a page");
        std::fs::write(folder.join(format!("{name}.html")), page).expect("a page");
    }
    std::fs::create_dir_all(folder.join("docs")).expect("a folder");
    let markers = "# loam\n\n<!-- figures:begin -->\n<!-- figures:end -->\n\n\
                   <!-- bench:begin -->\n<!-- bench:end -->\n";
    std::fs::write(folder.join("README.md"), markers).expect("a file");
    crate::bench::show::documents::update_checkout(&[suite(1)], &folder).expect("documents");
}
