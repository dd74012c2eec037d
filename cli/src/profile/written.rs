//! A profile as the library writes it; docs/profile.md has the format.

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    pub count: i64,
    pub bytes: i64,
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Sum) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

impl Sub for Sum {
    type Output = Sum;
    fn sub(self, other: Sum) -> Sum {
        Sum { count: self.count - other.count, bytes: self.bytes - other.bytes }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub taken: Sum,
    pub live: Sum,
    pub peak: Sum,
    pub samples: i64,
    /// Freed, and still in memory without use. This and the next of what is read from outside.
    pub retained: Sum,
    /// Blocks nearly alone on their pages, and what they keep there.
    pub pinned: Sum,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.taken += other.taken;
        self.live += other.live;
        self.peak += other.peak;
        self.samples += other.samples;
        self.retained += other.retained;
        self.pinned += other.pinned;
    }
}

impl Sub for Sums {
    type Output = Sums;
    fn sub(self, other: Sums) -> Sums {
        Sums {
            taken: self.taken - other.taken,
            live: self.live - other.live,
            peak: self.peak - other.peak,
            samples: self.samples - other.samples,
            retained: self.retained - other.retained,
            pinned: self.pinned - other.pinned,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Site {
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
    /// Resident.
    pub retained: u64,
    pub pinned: u64,
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
        let text = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        let text = String::from_utf8_lossy(&text);
        if !text.starts_with("loam-profile 1\n") {
            bail!("{shown} is not a profile of loam's");
        }
        if !text.ends_with("\nend\n") {
            bail!("{shown} is cut off: the program has not written all of it");
        }
        let mut profile = Profile::parse(&text).with_context(|| format!("{shown} is damaged"))?;
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
                // What is written for others, and what later versions write besides.
                _ => Some(()),
            };
            known.with_context(|| format!("line {}", number + 1))?;
        }
        Ok(profile)
    }

    pub fn title(&self) -> String {
        format!("{} ({})", self.process, self.pid)
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
        self.sites.push(Site { callers, sums, pins: Vec::new() });
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

    /// Live, retained and pinned bytes of the process that no place has: of blocks that were not
    /// sampled, as those from before the profile. By chance the places may have more.
    pub fn not_sampled(&self) -> Option<[i64; 3]> {
        let Held { live, retained, pinned } = self.held?;
        let Sums { live: of_live, retained: of_retained, pinned: of_pinned, .. } = self.total;
        let all = [(live, of_live), (retained, of_retained), (pinned, of_pinned)];
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
            Some(Site { callers: site.callers.clone(), sums, pins: Vec::new() })
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
        for Module { start, end, bias, build_id, path } in self.modules.iter().map(AsRef::as_ref) {
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
            sites += "\n";
        }
        out + &numbered.text + &sites + "end\n"
    }
}

fn numbers(sums: &Sums) -> String {
    let Sums { taken, live, peak, samples, .. } = sums;
    let of = |sum: &Sum| format!("{} {}", sum.count, sum.bytes);
    format!("{} {} {} {samples}", of(taken), of(live), of(peak))
}

fn sums(numbers: &[i64]) -> Sums {
    let sum = |at: usize| Sum { count: numbers[at], bytes: numbers[at + 1] };
    Sums { taken: sum(0), live: sum(2), peak: sum(4), samples: numbers[6], ..Sums::default() }
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "loam-profile 1\nprocess 12 a b\nsample_bytes 1000\n\
        module 0x5000 0x6000 0x4000 ab12 /usr/bin/a b\n\
        total 10 1000 5 500 6 600 7 0\nsite 1 10 1000 5 500 6 600 7 0x5010 0x9000\n\
        block 1 0x77 8 100 5\nend\n";

    #[test]
    fn lines_become_what_they_say() {
        let profile = Profile::parse(TEXT).unwrap();
        assert_eq!(profile.title(), "a b (12)");
        assert_eq!(profile.modules[0].path, Path::new("/usr/bin/a b"));
        let site = &profile.sites[0];
        assert_eq!(site.sums.live, Sum { count: 5, bytes: 500 });
        assert_eq!(site.callers[0].address, 0x1010);
        assert_eq!(site.callers[1], Place { module: None, address: 0x9000, known: None });
    }

    #[test]
    fn what_is_written_is_what_was_read_but_for_samples() {
        let written = Profile::parse(TEXT).unwrap().write();
        assert_eq!(written, TEXT.replace("block 1 0x77 8 100 5\n", ""));
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
        assert_eq!(same.sites[0].sums, Sums::default());
    }
}
