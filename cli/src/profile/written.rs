//! A profile as the library writes it; docs/profile.md has the format.

use crate::naming;
use crate::profile::known::{Known, Language};
use crate::profile::perf_map::PerfMap;
use crate::profile::place::{Codes, Lines, Numbered, line_at};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::ops::{AddAssign, Sub};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::profile::place::{Module, Place};

/// What samples stand for. Of a difference it may be less than nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    pub count: i64,
    pub bytes: i64,
    pub samples: i64,
    /// How far off the bytes are by chance: the square of a standard deviation.
    pub variance: f64,
}

impl Sum {
    /// Of blocks that are each known.
    pub fn exact(count: i64, bytes: i64) -> Sum {
        Sum { count, bytes, samples: count, variance: 0.0 }
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Sum) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.samples += other.samples;
        self.variance += other.variance;
    }
}

impl Sub for Sum {
    type Output = Sum;
    fn sub(self, other: Sum) -> Sum {
        Sum {
            count: self.count - other.count,
            bytes: self.bytes - other.bytes,
            samples: self.samples - other.samples,
            variance: self.variance + other.variance,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    pub taken: Sum,
    pub live: Sum,
    pub peak: Sum,
    /// Freed, and still in memory without use. This and the next of what is read from outside.
    pub freed: Sum,
    /// What the live ones pin, and what of that is free beside them.
    pub pinned: Sum,
    pub beside: Sum,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.taken += other.taken;
        self.live += other.live;
        self.peak += other.peak;
        self.freed += other.freed;
        self.pinned += other.pinned;
        self.beside += other.beside;
    }
}

impl Sub for Sums {
    type Output = Sums;
    fn sub(self, other: Sums) -> Sums {
        // What has been taken only grows, by samples that are the later one's alone; and what has
        // gone of what was live is what these are more than the growth.
        let taken = (self.taken.variance - other.taken.variance).max(0.0);
        let live = 2.0 * taken - self.live.variance + other.live.variance;
        let of = |sum: Sum, variance: f64| Sum { variance: variance.min(sum.variance), ..sum };
        Sums {
            taken: of(self.taken - other.taken, taken),
            live: of(self.live - other.live, live.max(0.0)),
            peak: self.peak - other.peak,
            freed: self.freed - other.freed,
            pinned: self.pinned - other.pinned,
            beside: self.beside - other.beside,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Site {
    /// Where it was written, its number there.
    pub number: u64,
    /// The innermost first.
    pub callers: Vec<Place>,
    pub sums: Sums,
    /// By the samples that pin.
    pub pins: Vec<Pin>,
}

#[derive(Debug, Clone, Copy)]
pub struct Pin {
    pub bytes: i64,
    pub age_ms: Option<u64>,
}

/// Of all blocks of the process, sampled or not, as `loam explain` says.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// That blocks take.
    pub live: u64,
    /// Resident, as the next ones.
    pub freed: u64,
    pub pinned: u64,
    /// What the profile itself takes, beside all these.
    pub profile: u64,
}

#[derive(Debug, Default)]
pub struct Profile {
    /// Its name.
    pub process: String,
    pub pid: u64,
    pub sample_bytes: u64,
    pub modules: Vec<Arc<Module>>,
    pub lines: Lines,
    pub codes: Codes,
    /// How long it had run, of one that it has written itself.
    pub age_ms: Option<u64>,
    pub total: Sums,
    pub lost: u64,
    pub sites: Vec<Site>,
    /// `None` of a file.
    pub held: Option<Held>,
}

impl Profile {
    pub fn read(path: &Path) -> Result<Profile> {
        let shown = path.display();
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        let text = String::from_utf8_lossy(&bytes);
        if !text.starts_with("loam-profile 1\n") {
            bail!("{shown} is not a profile of loam's");
        }
        let Some(end) = last_line(&bytes) else {
            bail!("{shown} is cut off: the program has not written all of it");
        };
        let mut profile = Profile::parse(&text).with_context(|| format!("{shown} is damaged"))?;
        check(&bytes, end).with_context(|| format!("{shown} is damaged"))?;
        if let Some(age_ms) = profile.age_ms {
            let pid = profile.pid;
            profile.name_codes(|| PerfMap::of_profile(path, pid, age_ms));
        }
        Ok(profile)
    }

    /// Code that is in no file, by a map that is read if there is such code.
    pub fn name_codes(&mut self, map: impl FnOnce() -> Option<PerfMap>) {
        let is_code = |place: &&mut Place| place.module.is_none() && place.known.is_none();
        let callers = self.sites.iter_mut().flat_map(|site| &mut site.callers);
        let mut places = callers.filter(is_code).peekable();
        let Some(map) = places.peek().and_then(|_| map()) else { return };
        for place in places {
            // The call is before the address that it returns to.
            place.known = map.known(place.address.wrapping_sub(1)).map(Arc::new);
        }
    }

    fn parse(text: &str) -> Result<Profile> {
        let mut profile = Profile::default();
        for (number, line) in text.lines().enumerate() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let known = match word {
                "process" => {
                    let (pid, name) = rest.split_once(' ').unwrap_or((rest, "?"));
                    profile.process = name.to_owned();
                    profile.pid = pid.parse().unwrap_or(0);
                    Some(())
                }
                "sample_bytes" => rest.parse().ok().map(|bytes| profile.sample_bytes = bytes),
                "module" => parse_module(rest).map(|one| profile.modules.push(Arc::new(one))),
                "age" => rest.parse().ok().map(|age_ms| profile.age_ms = Some(age_ms)),
                "line" => profile.take_line(rest),
                "code" => profile.take_code(rest),
                "total" => profile.take_total(rest),
                "site" => profile.take_site(rest),
                "chance" => profile.take_chance(rest),
                // What is written for others, and what later versions write besides.
                _ => Some(()),
            };
            known.with_context(|| format!("line {}", number + 1))?;
        }
        profile.sum_up_chance();
        Ok(profile)
    }

    pub fn title(&self) -> String {
        naming::with_number("process", &self.process, Some(self.pid).filter(|pid| *pid != 0))
    }

    fn take_total(&mut self, text: &str) -> Option<()> {
        let numbers: Vec<i64> =
            text.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        self.total = sums(numbers.get(..7)?);
        self.lost = u64::try_from(*numbers.get(7)?).ok()?;
        Some(())
    }

    fn take_site(&mut self, text: &str) -> Option<()> {
        let words: Vec<&str> = text.split(' ').collect();
        let numbers = words.get(1..8)?.iter().map(|word| word.parse().ok());
        let sums = sums(&numbers.collect::<Option<Vec<i64>>>()?);
        let callers = words.get(8..)?.iter().map(|word| Some(self.place(hex(word)?)));
        let callers = callers.collect::<Option<_>>()?;
        self.sites.push(Site { number: words[0].parse().ok()?, callers, sums, pins: Vec::new() });
        Some(())
    }

    fn take_line(&mut self, text: &str) -> Option<()> {
        let (number, rest) = text.split_once(' ')?;
        self.lines.insert(number.parse().ok()?, Arc::new(Known::parse(rest, Language::Python)?));
        Some(())
    }

    fn take_code(&mut self, text: &str) -> Option<()> {
        let (address, rest) = text.split_once(' ')?;
        self.codes.insert(hex(address)?, Arc::new(Known::parse(rest, Language::Jit)?));
        Some(())
    }

    /// Of the site before: how many samples its sums are of, and how far off they may be.
    fn take_chance(&mut self, text: &str) -> Option<()> {
        let words = text.split(' ').map(|word| word.parse().ok());
        let words: Vec<u64> = words.collect::<Option<_>>()?;
        let site = self.sites.last_mut().filter(|site| site.number == words[0])?;
        let Sums { taken, live, peak, .. } = &mut site.sums;
        for (at, sum) in [taken, live, peak].into_iter().enumerate() {
            let [samples, deviation] = words.get(1 + 2 * at..3 + 2 * at)? else { return None };
            sum.samples = samples.cast_signed();
            sum.variance = (*deviation as f64).powi(2);
        }
        Some(())
    }

    /// The profile's sums are as far off as those of all sites are.
    fn sum_up_chance(&mut self) {
        let mut all = Sums::default();
        self.sites.iter().for_each(|site| all += site.sums);
        let of = |sum: &mut Sum, all: Sum| {
            (sum.samples, sum.variance) = (all.samples, all.variance);
        };
        of(&mut self.total.taken, all.taken);
        of(&mut self.total.live, all.live);
        of(&mut self.total.peak, all.peak);
    }

    /// Live, freed and pinned bytes of the process that no place has: of blocks that were not
    /// sampled, as those from before the profile.
    pub fn not_sampled(&self) -> Option<[u64; 3]> {
        Some(self.left()?.map(|left| left.max(0).cast_unsigned()))
    }

    /// Those that the places have by chance beyond what there is.
    pub fn sampled_beyond(&self) -> Option<[u64; 3]> {
        Some(self.left()?.map(|left| left.min(0).unsigned_abs()))
    }

    fn left(&self) -> Option<[i64; 3]> {
        let Held { live, freed, pinned, .. } = self.held?;
        let Sums { live: of_live, freed: of_freed, pinned: of_pinned, .. } = self.total;
        let all = [(live, of_live), (freed, of_freed), (pinned, of_pinned)];
        Some(all.map(|(all, sampled)| all.cast_signed() - sampled.bytes))
    }

    pub fn place(&self, address: u64) -> Place {
        if let Some(line) = line_at(address, &self.lines) {
            return line;
        }
        let holds = |module: &&Arc<Module>| (module.start..module.end).contains(&address);
        match self.modules.iter().find(holds) {
            Some(module) => {
                let (module, address) = (module.clone(), address.wrapping_sub(module.bias));
                Place { module: Some(module), address, known: None }
            }
            None => Place { module: None, address, known: self.codes.get(&address).cloned() },
        }
    }

    /// What is more than in an earlier profile, or less.
    pub fn since(mut self, earlier: &Profile) -> Profile {
        type Key = Vec<(Option<PathBuf>, u64, Option<Arc<Known>>)>;
        let key = |site: &Site| -> Key {
            let path = |place: &Place| place.module.as_ref().map(|module| module.path.clone());
            // What is made while a program runs is elsewhere each time.
            let address = |place: &Place| if place.known.is_some() { 0 } else { place.address };
            let one = |place: &Place| (path(place), address(place), place.known.clone());
            site.callers.iter().map(one).collect()
        };
        let mut before: HashMap<Key, Sums> = HashMap::new();
        for site in &earlier.sites {
            *before.entry(key(site)).or_default() += site.sums;
        }
        for site in &mut self.sites {
            site.sums = site.sums - before.remove(&key(site)).unwrap_or_default();
        }
        let gone = earlier.sites.iter().filter_map(|site| {
            let sums = Sums::default() - before.remove(&key(site))?;
            Some(Site { sums, pins: Vec::new(), ..site.clone() })
        });
        self.sites.extend(gone);
        self.total = self.total - earlier.total;
        // An earlier one has been read from a file, which knows nothing of pages.
        self.held = None;
        self
    }

    /// As the library writes it, without samples of their own.
    pub fn write(&self) -> String {
        let mut out = format!("loam-profile 1\nprocess {} {}\n", self.pid, self.process);
        out += &format!("sample_bytes {}\n", self.sample_bytes);
        for Module { start, end, bias, build_id, path, .. } in
            self.modules.iter().map(AsRef::as_ref)
        {
            let id = if build_id.is_empty() { "-" } else { build_id };
            out += &format!("module {start:#x} {end:#x} {bias:#x} {id} {}\n", path.display());
        }
        out += &format!("total {} {}\n", numbers(&self.total), self.lost);
        let (mut numbered, mut sites) = (Numbered::default(), String::new());
        for (index, site) in self.sites.iter().enumerate() {
            sites += &format!("site {} {}", index + 1, numbers(&site.sums));
            for place in &site.callers {
                let bias = place.module.as_ref().map_or(0, |module| module.bias);
                let address = || place.address.wrapping_add(bias);
                sites += &format!(" {:#x}", numbered.word(place).unwrap_or_else(address));
            }
            sites += &format!("\nchance {}{}\n", index + 1, chances(&site.sums));
        }
        let text = out + &numbered.text + &sites;
        let end = format!("end {}\n", checksum(text.as_bytes()));
        text + &end
    }
}

/// Where the line `end` begins, if the file ends with it.
fn last_line(bytes: &[u8]) -> Option<usize> {
    let lines = bytes.strip_suffix(b"\n")?;
    let start = lines.iter().rposition(|&byte| byte == b'\n')? + 1;
    (lines[start..].split(|&byte| byte == b' ').next()? == b"end").then_some(start)
}

/// An end without a checksum is accepted.
fn check(bytes: &[u8], end: usize) -> Result<()> {
    let line = String::from_utf8_lossy(&bytes[end..]);
    let Some(said) = line.trim_end().strip_prefix("end ") else { return Ok(()) };
    let number = bytes.iter().filter(|&&byte| byte == b'\n').count();
    let said: u64 = said.parse().with_context(|| format!("line {number}"))?;
    let found = checksum(&bytes[..end]);
    if said != found {
        bail!("line {number} has checksum {said}, the lines before it have {found}");
    }
    Ok(())
}

/// FNV-1a of 64 bits (src/profile/file.c).
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn numbers(sums: &Sums) -> String {
    let Sums { taken, live, peak, .. } = sums;
    let of = |sum: &Sum| format!("{} {}", sum.count, sum.bytes);
    format!("{} {} {} {}", of(taken), of(live), of(peak), taken.samples)
}

fn chances(sums: &Sums) -> String {
    let of = |sum: &Sum| format!(" {} {:.0}", sum.samples, sum.variance.sqrt().ceil());
    [&sums.taken, &sums.live, &sums.peak].map(of).concat()
}

/// By the number of samples of what was taken. Files without a word about chance have no other.
fn sums(numbers: &[i64]) -> Sums {
    let (taken_bytes, samples) = (numbers[1].max(1) as f64, numbers[6]);
    let sum = |at: usize| {
        let (count, bytes) = (numbers[at], numbers[at + 1]);
        let samples = (samples as f64 * bytes as f64 / taken_bytes).ceil();
        // As if all blocks were of one size.
        let unseen = (1.0 - samples / count.max(1) as f64).max(0.0);
        let variance = (bytes as f64).powi(2) / samples.max(1.0) * unseen;
        Sum { count, bytes, samples: samples as i64, variance }
    };
    Sums { taken: sum(0), live: sum(2), peak: sum(4), ..Sums::default() }
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// `START END BIAS BUILD_ID PATH`; a path may have blanks.
fn parse_module(text: &str) -> Option<Module> {
    let words: Vec<&str> = text.splitn(5, ' ').collect();
    let [start, end, bias, build_id, path] = words[..] else { return None };
    let build_id = if build_id == "-" { String::new() } else { build_id.to_owned() };
    Some(Module {
        start: hex(start)?,
        end: hex(end)?,
        bias: hex(bias)?,
        build_id,
        path: path.into(),
        file: path.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "loam-profile 1\nprocess 12 a b\nsample_bytes 1000\n\
        module 0x5000 0x6000 0x4000 ab12 /usr/bin/a b\n\
        total 10 1000 5 500 6 600 7 0\nsite 1 10 1000 5 500 6 600 7 0x5010 0x9000\n\
        chance 1 7 3 4 2 5 2\n\
        block 1 0x77 8 100 5\nend\n";

    #[test]
    fn lines_become_what_they_say() {
        let profile = Profile::parse(TEXT).unwrap();
        assert_eq!(profile.title(), "a b (12)");
        let unnamed = Profile::parse(&TEXT.replace("12 a b", "12 ")).unwrap();
        assert_eq!(unnamed.title(), "process 12");
        let of_core = Profile { process: "core.12".into(), ..Profile::default() };
        assert_eq!(of_core.title(), "core.12");
        assert_eq!(profile.modules[0].path, Path::new("/usr/bin/a b"));
        let site = &profile.sites[0];
        let live = Sum { count: 5, bytes: 500, samples: 4, variance: 4.0 };
        assert_eq!((site.sums.live, profile.total.live), (live, live));
        assert_eq!(site.callers[0].address, 0x1010);
        assert_eq!(site.callers[1], Place { module: None, address: 0x9000, known: None });
    }

    #[test]
    fn what_is_written_is_what_was_read_but_for_samples() {
        let written = Profile::parse(TEXT).unwrap().write();
        let (lines, end) = written.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(format!("{lines}\nend\n"), TEXT.replace("block 1 0x77 8 100 5\n", ""));
        assert_eq!(end, format!("end {}", checksum(format!("{lines}\n").as_bytes())));
    }

    /// By the test vectors of FNV's authors.
    #[test]
    fn the_checksum_is_everybodys() {
        assert_eq!(checksum(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(checksum(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_changed_byte_is_damage_and_a_file_without_checksum_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Profile::read(&path).map(drop).map_err(|error| format!("{error:#}"))
        };
        let written = Profile::parse(TEXT).unwrap().write();
        assert_eq!(read(&written), Ok(()));
        assert_eq!(read(TEXT), Ok(()));
        let error = read(&written.replace(" 5 500 ", " 5 501 ")).unwrap_err();
        assert!(error.contains("is damaged: line 8 has checksum "), "{error}");
        let error = read(&written.replace("\nend ", "\nend x")).unwrap_err();
        assert!(error.contains("is damaged: line 8: "), "{error}");
        let error = read(written.trim_end()).unwrap_err();
        assert!(error.contains("is cut off"), "{error}");
    }

    #[test]
    fn a_line_that_is_cut_is_named() {
        let text = TEXT.replace("site 1 10", "site 1");
        assert_eq!(Profile::parse(&text).unwrap_err().to_string(), "line 6");
    }

    #[test]
    fn a_difference_has_what_came_and_what_went() {
        let before = Profile::parse(TEXT).unwrap();
        let other = TEXT.replace("0x5010", "0x5020").replace("5 500", "1 100");
        let after = Profile::parse(&other).unwrap().since(&before);
        let live: Vec<i64> = after.sites.iter().map(|site| site.sums.live.bytes).collect();
        assert_eq!(live, [100, -500]);
        let same = Profile::parse(TEXT).unwrap().since(&before);
        let Sums { taken, live, .. } = same.sites[0].sums;
        assert_eq!((taken, live), (Sum::default(), Sum::default()));
    }
}
