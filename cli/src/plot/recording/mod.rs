//! A recording as a picture: what is live over time, and which pages that keeps.

mod blocks; // those that are live
mod classes; // how well pages are used, by size
mod content; // what its pictures say
mod modules; // the files that its stacks lead into
mod origin; // what tells one from another
mod page; // the page for a browser
mod pages; // pages over time
mod part; // what each block pins
mod pins; // who keeps pages at a moment
mod placement; // where blocks are
mod raster; // pages by address and time
mod reading; // all of a recording
mod still; // a picture without a page
mod sums; // sizes, lifetimes, and what is live over time
#[cfg(test)]
mod synthetic; // a made recording
mod time; // columns of a picture
mod unpinned; // what is in memory and on no page of a live block

pub use page::render;
pub use reading::read;
pub use still::draw;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers;
    use crate::plot::recording::reading::Recording;
    use crate::plot::recording::time::COLUMNS;
    use nix::sys::resource::{UsageWho, getrusage};

    fn drawn(event_count: u64, has_addresses: bool) -> (Recording, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        synthetic::write(&path, event_count, has_addresses);
        let recording = read(&path, None).unwrap();
        let page = render(std::slice::from_ref(&recording)).unwrap();
        (recording, page)
    }

    #[test]
    fn what_few_blocks_keep_is_seen_and_a_model_stands_in_for_addresses() {
        let (recorded, page) = drawn(100_000, true);
        let (modelled, other) = drawn(100_000, false);
        let raster = &recorded.raster;
        assert!(raster.fullness == modelled.raster.fullness, "the same places, the same picture");
        assert!(!page.contains("of a model") && other.contains("of a model"));
        let column = |column: usize| {
            let rows = 0..raster.addresses.len();
            let cells = rows.map(move |row| raster.fullness[row * COLUMNS + column]);
            cells.filter(|cell| *cell != 0).collect::<Vec<u8>>()
        };
        // Sessions are left when the work of the first half is done.
        let (working, rest) = (column(COLUMNS / 2 - 50), column(COLUMNS - 1));
        assert!(
            working.iter().filter(|cell| **cell > 85).count() * 2 > working.len(),
            "{working:?}"
        );
        assert!(rest.iter().filter(|cell| **cell <= 10).count() * 2 > rest.len(), "{rest:?}");
        // Sessions stand alone on their pages, and are of one size.
        let bars = page.split("by size</h3>").nth(1).unwrap().split("</h3>").next().unwrap();
        assert_eq!(bars.matches("97 to 112 bytes").count(), 1, "{bars}");
        assert!(bars.contains("2.6 % of 2.78 MiB"), "{bars}");
        let classes = recorded.classes.values();
        let pinned: f64 = classes.map(|one| one.live_bytes as f64 + one.beside_bytes).sum();
        assert_eq!(pinned.round() as u64, raster.pinned_bytes[recorded.worst]);
        let says = "of them free.</p>";
        assert!(page.contains(says), "{}", &page[..page.find("<dl").unwrap()]);
    }

    #[test]
    fn what_the_page_says_is_what_it_draws() {
        let bytes = |count: u64| numbers::figure(count as f64, "B");
        for (events, has_addresses) in [(6, true), (1000, true), (90_000, true), (90_000, false)] {
            let (recording, page) = drawn(events, has_addresses);
            let Recording { raster, sums, worst, .. } = &recording;
            let lines = raster.most_pinned_bytes.iter().zip(&sums.live_bytes);
            assert_eq!(lines.filter(|(kept, live)| kept < live).count(), 0, "{events}");
            let ends = raster.pinned_bytes.iter().zip(&sums.last_live_bytes);
            let free: Vec<u64> = ends.map(|(kept, live)| kept - live).collect();
            let (most, kept) = (free.iter().max().unwrap(), raster.pinned_bytes[*worst]);
            assert_eq!(*most, free[*worst], "{events}");
            let fact = |name: &str| {
                let rest = page.split(&format!("{name}</dt><dd>")).nth(1).unwrap();
                rest.split("</dd>").next().unwrap().to_owned()
            };
            let highest = |values: &[u64]| bytes(*values.iter().max().unwrap());
            let peak = highest(&sums.live_bytes);
            let end = bytes(sums.last_live_bytes[COLUMNS - 1]);
            assert!(fact("live at the peak, as asked for").starts_with(&peak), "{events}");
            assert!(fact("live at the end").starts_with(&end), "{events}");
            let pages = fact("pinned at most: pages that live blocks are on");
            assert_eq!(pages, highest(&raster.most_pinned_bytes));
            let answer = page.split("<p class=\"answer\">").nth(1).unwrap();
            let answer = answer.split("</p>").next().unwrap();
            assert!(answer.starts_with(&format!("At most {peak} were live, {end} at the end")));
            let share = numbers::percent(*most as f64 / kept as f64);
            assert!(answer.contains(&bytes(kept)) && answer.contains(&share), "{answer}");
            assert_eq!(answer.contains("well used"), *most * 5 < kept, "{answer}");
        }
    }

    #[test]
    #[ignore = "long: ten million events"]
    fn ten_million_events_are_drawn_soon_and_in_little_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        synthetic::write(&path, 10_000_000, true);
        let peak_kib = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        // From here on.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let busy_seconds = || {
            let time = getrusage(UsageWho::RUSAGE_THREAD).unwrap().user_time();
            time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6
        };
        let begin = busy_seconds();
        let page = render(&[read(&path, None).unwrap()]).unwrap();
        let seconds = busy_seconds() - begin;
        eprintln!("{seconds:.2} s, {} KiB at most, a page of {} bytes", peak_kib(), page.len());
        assert!(peak_kib() < 200_000, "{} KiB", peak_kib());
        assert!(page.len() < 2_000_000);
        // Without optimisation, on a busy machine.
        assert!(seconds < 120.0, "{seconds} s");
    }
}
