//! The things that hold most of a process's memory: what each is, whose line that is, what it would
//! give back, and what to do.

use crate::account::sums::Account;
use crate::arguments::ProfFigure;
use crate::doctor::settings::Settings;
use crate::heap::figures::{Class, Figures, Kind};
use crate::numbers;
use crate::profile::range::Range;
use crate::profile::rows::{Grouping, Row, rows};
use crate::profile::stacks;
use crate::profile::symbols::{Frame, Symbols};
use crate::profile::written::{Profile, Sum};
use serde::Serialize;

#[derive(Serialize)]
pub struct Finding {
    /// `live`, `beside`, `given_back`, `cached`, `unused`, `profile`, `mappings`, `files`, `stacks`,
    /// `libc_heap`
    pub kind: &'static str,
    pub bytes: u64,
    /// Of that, what the process would have less in memory once it is done.
    pub gives_back_bytes: u64,
    pub what: String,
    /// The line of the program, if a profile names one; and what calls it, the nearest first.
    pub place: Option<Place>,
    pub callers: Vec<Place>,
    /// Estimated from so many samples, and between these, in 95 of 100 cases.
    pub samples: Option<u64>,
    pub low_bytes: Option<u64>,
    pub high_bytes: Option<u64>,
    #[serde(rename = "do")]
    pub advice: String,
}

#[derive(Serialize)]
pub struct Place {
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    #[serde(skip)]
    pub shown: String,
}

impl From<&Frame> for Place {
    fn from(frame: &Frame) -> Place {
        Place {
            function: frame.function.clone(),
            file: frame.line.as_ref().map(|(file, _)| file.clone()),
            line: frame.line.as_ref().map(|(_, line)| *line),
            shown: frame.shown(),
        }
    }
}

/// What is less is not worth a word: of what is in memory, and in any case.
const SHARE_MIN: f64 = 0.05;
pub const BYTES_MIN: u64 = 4 << 20;

/// What holds most first.
pub fn all(
    account: &Account,
    figures: &Figures,
    profile: Option<&Profile>,
    settings: &Settings,
) -> Vec<Finding> {
    let places = profile.map(Places::of);
    let mut all = match &places {
        Some(places) => places.findings(account),
        None => vec![live(figures), beside(account, figures)],
    };
    all.push(given_back(account, settings));
    all.push(cached(account, settings));
    all.push(unused(account));
    all.push(of_profile(account));
    all.extend(others(account, settings));
    let least = BYTES_MIN.max((account.resident_bytes as f64 * SHARE_MIN) as u64);
    all.retain(|finding| finding.bytes > least);
    all.sort_by_key(|finding| std::cmp::Reverse(finding.bytes));
    all
}

fn finding(
    kind: &'static str,
    bytes: u64,
    gives_back_bytes: u64,
    what: &str,
    advice: &str,
) -> Finding {
    Finding {
        kind,
        bytes,
        gives_back_bytes,
        what: what.to_owned(),
        place: None,
        callers: Vec::new(),
        samples: None,
        low_bytes: None,
        high_bytes: None,
        advice: advice.to_owned(),
    }
}

const HAVE_A_PROFILE: &str = "have a profile taken, which names the lines: loam prof --start PID; \
    some minutes later ask again. What was taken before it no profile names.";
const IS_IT_A_LEAK: &str = "if that grows while the work does not, it is a leak: loam prof --save \
    old.profile PID, and some minutes later loam prof --since old.profile PID.";
const APART: &str = "take what lives long before or apart from what lives short, as in a heap of its \
    own (loam_heap_new).";

fn live(figures: &Figures) -> Finding {
    let blocks = figures.live();
    let what = format!("live: the program has it, in {} blocks{}", blocks.count, sizes(figures));
    finding("live", blocks.bytes, blocks.bytes, &what, HAVE_A_PROFILE)
}

/// `, 12000 of them of 336 bytes`: the size that has most.
fn sizes(figures: &Figures) -> String {
    let small = figures
        .classes
        .iter()
        .map(|class| (class.live_count, class.block_bytes, class.resident.of(Kind::Live)));
    let larger =
        figures.larger.iter().map(|(size, larger)| (larger.count, *size, larger.resident_bytes));
    match small.chain(larger).max_by_key(|(_, _, bytes)| *bytes) {
        Some((count, size, bytes)) if bytes != 0 => {
            format!("; most by size are {count} of {size} bytes, {}", numbers::bytes(bytes))
        }
        _ => String::new(),
    }
}

fn beside(account: &Account, figures: &Figures) -> Finding {
    let bytes = account.heap.of(Kind::Beside);
    let of_class = |class: &&Class| class.resident.of(Kind::Beside);
    let by = figures.classes.iter().max_by_key(of_class).map_or(String::new(), |class| {
        format!(
            "; most of it beside {} blocks of {} bytes, {}",
            class.live_count,
            class.block_bytes,
            numbers::bytes(of_class(&class))
        )
    });
    let what = format!("free beside blocks, on the pages that these pin{by}");
    finding("beside", bytes, bytes, &what, &format!("{HAVE_A_PROFILE} Then {APART}"))
}

fn given_back(account: &Account, settings: &Settings) -> Finding {
    let bytes: u64 =
        [Kind::Idle, Kind::Depots, Kind::Dirty].into_iter().map(|kind| account.heap.of(kind)).sum();
    let never = matches!(settings.option("purge_delay_ms"), Some("never" | "0"));
    let advice = match never {
        true => {
            "purge_delay_ms=never is set, so that nothing goes back by itself: leave that out, or \
             call malloc_trim(0)."
        }
        false => {
            "it goes back by itself while any thread allocates. Before a long rest call \
             malloc_trim(0), or start the process with LOAM_OPTIONS=background=on."
        }
    };
    finding("given_back", bytes, bytes, "free, on pages that no block is on", advice)
}

fn cached(account: &Account, settings: &Settings) -> Finding {
    let bytes = account.heap.of(Kind::Cached);
    let bound = match settings.option("heap_cache_bytes") {
        Some(value) => {
            format!("heap_cache_bytes={value} bounds it; a smaller one bounds it closer")
        }
        None => "the option heap_cache_bytes bounds what all threads keep".to_owned(),
    };
    let advice = format!(
        "{bound}. A thread that sleeps keeps what it has: call malloc_trim(0) in it before."
    );
    finding("cached", bytes, bytes, "in caches of threads, for their next calls", &advice)
}

fn unused(account: &Account) -> Finding {
    let advice = "the system gives huge pages to everybody (transparent_hugepage/enabled is \
                  'always'), or huge_pages=always is set: 'madvise' in the one, or leave the other \
                  out.";
    let bytes = account.heap.of(Kind::Unused);
    finding(
        "unused",
        bytes,
        bytes,
        "in memory though nobody has used it: parts of huge pages",
        advice,
    )
}

fn of_profile(account: &Account) -> Finding {
    let advice = "take samples farther apart (loam prof --start PID --every BYTES), or end the \
                  profile (loam prof --stop PID): then it goes as its blocks are freed.";
    let bytes = account.heap.of(Kind::Profile);
    finding("profile", bytes, bytes, "the profile's own", advice)
}

fn others(account: &Account, settings: &Settings) -> Vec<Finding> {
    let others = account.others;
    let mappings = match (settings.is_python, settings.is_pythons_malloc) {
        (true, false) => {
            "objects of Python up to 512 bytes are there, in arenas of its own: start it with \
             PYTHONMALLOC=malloc, and loam has them, and names their lines."
        }
        _ => "who maps them is to say: no malloc has them.",
    };
    vec![
        finding(
            "mappings",
            others.mappings,
            0,
            "mappings of the program's own, not loam's",
            mappings,
        ),
        finding(
            "files",
            others.files,
            0,
            "code and data of files, which processes share",
            "nothing: the system takes it when it needs it.",
        ),
        finding(
            "stacks",
            others.stacks,
            0,
            "stacks of threads",
            "fewer threads, or less on their stacks.",
        ),
        finding(
            "libc_heap",
            others.libc_heap,
            0,
            "the C library's own heap, from before loam or past it",
            "loam verify PID says who takes memory past loam.",
        ),
    ]
}

/// What a profile knows.
struct Places<'profile> {
    profile: &'profile Profile,
    live: Vec<Row>,
    pinned: Vec<Row>,
}

impl Places<'_> {
    fn of(profile: &Profile) -> Places<'_> {
        let stacks = stacks::named(profile, &mut Symbols::default());
        let by = |figure| rows(&stacks, Grouping::lines(figure));
        Places { profile, live: by(ProfFigure::Live), pinned: by(ProfFigure::Pinned) }
    }

    fn findings(&self, account: &Account) -> Vec<Finding> {
        let live = self.live.iter().map(|row| {
            let what = format!("live, in {} blocks that the program has", row.sums.live.count);
            of_row("live", row, &row.sums.live, &what, IS_IT_A_LEAK)
        });
        let beside = self.pinned.iter().map(|row| {
            let what = "free beside blocks, on the pages that these pin".to_owned()
                + &row.pinned_age_ms().map_or(String::new(), |ms| {
                    format!(
                        "; half of it by blocks of {} and more",
                        numbers::duration(ms as f64 * 1e-3)
                    )
                });
            of_row("beside", row, &row.sums.beside, &what, APART)
        });
        let [live_left, _, _] = self.profile.not_sampled().unwrap_or_default();
        let total = self.profile.total.beside.bytes.max(0).cast_unsigned();
        let beside_left = account.heap.of(Kind::Beside).saturating_sub(total);
        let before = "taken before the profile was begun, or no sample by chance: start the process \
                      with LOAM_OPTIONS=profile=on, and its first block is in it.";
        let left = [
            finding("live", live_left, live_left, "live, of no known line", before),
            finding(
                "beside",
                beside_left,
                beside_left,
                "free beside blocks of no known line",
                before,
            ),
        ];
        live.chain(beside).chain(left).collect()
    }
}

fn of_row(kind: &'static str, row: &Row, sum: &Sum, what: &str, advice: &str) -> Finding {
    let bytes = sum.bytes.max(0).cast_unsigned();
    let range = Range::of(sum);
    let bound = |bound: f64| bound.max(0.0) as u64;
    Finding {
        place: Some(Place::from(row.frame())),
        callers: row.largest_callers().into_iter().map(Place::from).collect(),
        samples: Some(sum.samples.max(0).cast_unsigned()),
        low_bytes: range.map(|range| bound(range.low)),
        high_bytes: range.map(|range| bound(range.high)),
        ..finding(kind, bytes, bytes, what, advice)
    }
}
