//! What has grown and shrunk between two reports, of what kind and size, the largest first.

use crate::account::report::{Report, SCHEMA, Size};
use crate::numbers;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Serialize)]
pub struct Change {
    pub schema: u32,
    pub process: String,
    pub pid: Option<u64>,
    pub name: String,
    /// Of the earlier report.
    pub earlier: Earlier,
    pub resident_bytes: u64,
    pub change_bytes: i64,
    pub parts: Vec<PartChange>,
    pub sizes: Vec<SizeChange>,
    pub words: Vec<String>,
    #[serde(skip)]
    is_loams: bool,
}

#[derive(Serialize)]
pub struct Earlier {
    pub process: String,
    pub pid: Option<u64>,
    pub name: String,
    pub resident_bytes: u64,
}

/// Resident bytes of a kind.
#[derive(Serialize)]
pub struct PartChange {
    pub name: &'static str,
    pub earlier_bytes: u64,
    pub bytes: u64,
    pub change_bytes: i64,
}

/// Of blocks of one size: what they pin, of that what is live and what is beside, and how many are
/// live.
#[derive(Serialize, Default, Clone, Copy)]
pub struct SizeChange {
    pub block_bytes: u64,
    pub change_bytes: i64,
    pub live_bytes: i64,
    pub beside_bytes: i64,
    pub live_count: i64,
}

impl Change {
    pub fn since(earlier: &Path, now: &Report) -> Result<Change> {
        let shown = earlier.display();
        let text = std::fs::read(earlier).with_context(|| format!("cannot read {shown}"))?;
        let no_report = || format!("{shown} is no report of 'loam explain --json'");
        let data: Value = serde_json::from_slice(&text).ok().with_context(no_report)?;
        match data["schema"].as_u64() {
            Some(schema) if schema == u64::from(SCHEMA) => {}
            Some(schema)
                if ["loam", "glibc"].iter().any(|heap| data[*heap].is_object())
                    && data["sizes"].is_array() =>
            {
                bail!(
                    "{shown} is a report of schema {schema}, and --compare takes one of schema \
                 {SCHEMA}: 'loam explain --json' of this version writes it"
                )
            }
            _ => bail!("{}", no_report()),
        }
        let earlier: Report = serde_json::from_value(data).ok().with_context(no_report)?;
        Ok(Change::between(&earlier, now))
    }

    pub fn between(earlier: &Report, now: &Report) -> Change {
        let mut change = Change {
            schema: 1,
            process: now.process.clone(),
            pid: now.pid,
            name: now.name.clone(),
            earlier: Earlier {
                process: earlier.process.clone(),
                pid: earlier.pid,
                name: earlier.name.clone(),
                resident_bytes: earlier.resident_bytes,
            },
            resident_bytes: now.resident_bytes,
            change_bytes: difference(earlier.resident_bytes, now.resident_bytes),
            parts: parts(earlier, now),
            sizes: sizes(earlier, now),
            words: Vec::new(),
            is_loams: now.malloc.is_none(),
        };
        change.words = words(&change);
        change
    }
}

fn difference(earlier: u64, now: u64) -> i64 {
    now.cast_signed().wrapping_sub(earlier.cast_signed())
}

fn parts(earlier: &Report, now: &Report) -> Vec<PartChange> {
    let pairs = earlier.parts().into_iter().zip(now.parts());
    let change = |((name, earlier_bytes), (_, bytes))| PartChange {
        name,
        earlier_bytes,
        bytes,
        change_bytes: difference(earlier_bytes, bytes),
    };
    let mut parts: Vec<PartChange> = pairs.map(change).collect();
    parts.retain(|part| part.change_bytes != 0);
    parts.sort_by_key(|part| Reverse(part.change_bytes.unsigned_abs()));
    parts
}

/// What blocks of each size pin: live bytes, bytes beside, blocks.
fn by_size(report: &Report) -> BTreeMap<u64, [u64; 3]> {
    let small = report.sizes.iter().map(|size| {
        let Size { block_bytes, live_bytes, beside_bytes, live_count, .. } = *size;
        (block_bytes, [live_bytes, beside_bytes, live_count])
    });
    let larger = report.larger_sizes.iter();
    let larger = larger.map(|size| (size.block_bytes, [size.live_bytes, 0, size.live_count]));
    small.chain(larger).collect()
}

fn sizes(earlier: &Report, now: &Report) -> Vec<SizeChange> {
    let (earlier, now) = (by_size(earlier), by_size(now));
    let all: BTreeSet<u64> = earlier.keys().chain(now.keys()).copied().collect();
    let change = |size: &u64| {
        let ([live, beside, count], [live_now, beside_now, count_now]) = (
            earlier.get(size).copied().unwrap_or_default(),
            now.get(size).copied().unwrap_or_default(),
        );
        let (live_bytes, beside_bytes) =
            (difference(live, live_now), difference(beside, beside_now));
        SizeChange {
            block_bytes: *size,
            change_bytes: live_bytes + beside_bytes,
            live_bytes,
            beside_bytes,
            live_count: difference(count, count_now),
        }
    };
    let mut sizes: Vec<SizeChange> = all.iter().map(change).collect();
    sizes.retain(|size| (size.live_bytes, size.beside_bytes, size.live_count) != (0, 0, 0));
    sizes.sort_by_key(|size| {
        Reverse(size.live_bytes.unsigned_abs() + size.beside_bytes.unsigned_abs())
    });
    sizes
}

/// `+12.3 MiB`, `-4.00 KiB`
pub fn signed(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "+" };
    sign.to_owned() + &numbers::figure(bytes.unsigned_abs() as f64, "B")
}

fn words(change: &Change) -> Vec<String> {
    let mut words = Vec::new();
    let Earlier { pid, name, process, .. } = &change.earlier;
    if (*pid, name) != (change.pid, &change.name) {
        words.push(format!("The earlier report is of another process: {process}."));
    }
    let most = change.parts.iter().find(|part| part.change_bytes > 0);
    let Some(PartChange { name, change_bytes: most_bytes, .. }) = most else {
        words.push("Nothing has grown.".to_owned());
        return words;
    };
    words.push(format!("'{name}' grew most, by {}.", grown(*most_bytes)));
    let worth_a_word = |bytes: i64| bytes > 0 && bytes * 20 >= *most_bytes;
    let live = change.sizes.iter().max_by_key(|size| size.live_bytes);
    if let Some(size) = live.filter(|size| worth_a_word(size.live_bytes)) {
        words.push(format!(
            "Of what is live, blocks of {} bytes grew most, by {} in {} more. If that goes on while \
             the work does not, it is a leak: {}.",
            size.block_bytes,
            grown(size.live_bytes),
            size.live_count,
            match change.is_loams {
                true => "'loam prof --start PID' has a profile taken, which says where",
                false => "on loam, 'loam prof' says where",
            }
        ));
    }
    let beside = change.sizes.iter().max_by_key(|size| size.beside_bytes);
    if let Some(size) = beside.filter(|size| worth_a_word(size.beside_bytes)) {
        words.push(format!(
            "Of what is free beside live blocks, that beside blocks of {} bytes grew most, by {}.",
            size.block_bytes,
            grown(size.beside_bytes)
        ));
    }
    words
}

fn grown(bytes: i64) -> String {
    numbers::figure(bytes as f64, "B")
}
