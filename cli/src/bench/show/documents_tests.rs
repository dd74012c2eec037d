use super::*;
use crate::bench::show::markdown::cell;
use crate::bench::synthetic;

const README: &str = "# loam\n\n<!-- figures:begin -->\nold\n<!-- figures:end -->\n\n\
                      <!-- bench:begin -->\nold\n<!-- bench:end -->\n\nthe rest\n";

fn updated(readme: &str, results: &[Results]) -> Result<[String; 4]> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("README.md");
    std::fs::create_dir(folder.path().join("docs"))?;
    std::fs::write(&path, readme)?;
    update_checkout(results, folder.path())?;
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name));
    Ok([
        read("README.md")?,
        read("docs/benchmarks.md")?,
        read("docs/benchmarks/time.svg")?,
        read("docs/benchmarks/memory.svg")?,
    ])
}

#[test]
fn only_the_block_of_the_readme_changes() {
    let [readme, ..] = updated(README, &[synthetic::suite(1)]).expect("documents");
    assert!(readme.starts_with("# loam\n\n<!-- figures:begin -->\n"), "{readme}");
    assert!(readme.ends_with("<!-- bench:end -->\n\nthe rest\n"), "{readme}");
    assert!(!readme.contains("\nold\n"));
    let [again, ..] = updated(&readme, &[synthetic::suite(1)]).expect("documents");
    assert_eq!(readme, again);
    for part in [
        "of the time with glibc's malloc: geometric mean of 3 real programs, from 0.",
        "of the peak memory with glibc's malloc: geometric mean of 3 real programs, from ",
        "Geometric means of NAME / loam over 3 real programs",
        "Time: glibc 1.",
        "Peak memory: glibc 1.",
        "5 others with means of their own",
        "(docs/benchmarks/means.svg)",
        "[docs/benchmarks.md](docs/benchmarks.md#real-programs)",
    ] {
        assert!(readme.replace('\n', " ").contains(part), "{part} in\n{readme}");
    }
    assert!(!readme.contains("\n|"), "{readme}");
}

#[test]
fn real_programs_have_tables_of_their_own_with_readmes_means() {
    let [readme, page, ..] = updated(README, &[synthetic::suite(1)]).expect("documents");
    let programs = page.split("## ").find(|part| part.starts_with("Real programs\n"));
    let programs = programs.expect("a section");
    for part in ["| redis: requests |", "| python |", "| ghostscript |"] {
        assert!(programs.contains(part), "{part} in\n{programs}");
    }
    assert!(!programs.contains("| larson |"), "{programs}");
    let means: Vec<&str> =
        programs.lines().filter(|line| line.starts_with("| geometric mean")).collect();
    let [time, memory] = means[..] else { panic!("{means:?}") };
    let readme = readme.replace('\n', " ");
    for (line, what) in [(time, "Time: "), (memory, "Peak memory: ")] {
        let first = line.split('|').nth(3).expect("glibc's").trim();
        assert!(readme.contains(&format!("{what}glibc {first},")), "{line} in\n{readme}");
    }
}

#[test]
fn rows_that_the_suite_has_and_the_results_have_not_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let suite = folder.path().join("suite.toml");
    let row = |name: &str| {
        format!(
            "[[row]]\nname = \"{name}\"\ngroup = \"g\"\ntitle = \"t\"\nabout = \"a\"\ncommand = \"c\"\n"
        )
    };
    std::fs::write(suite, row("factor") + &row("never")).expect("a suite");
    let results = [synthetic::suite(1)];
    assert_eq!(unmeasured(&results, folder.path()).expect("rows"), ["never"]);
    assert!(unmeasured(&results, Path::new("/nowhere")).expect("no suite").is_empty());
}

#[test]
fn rows_where_the_other_is_better_are_there_and_bold() {
    let [readme, page, ..] = updated(README, &[synthetic::suite(1)]).expect("documents");
    assert!(!readme.contains("| handoff |"), "{readme}");
    let line = page.lines().find(|line| line.starts_with("| handoff |")).expect("a row");
    assert!(line.contains("**0."), "{line}");
    let failed = page.lines().find(|line| line.starts_with("| batches |")).expect("a row");
    assert!(failed.contains(" ! |"), "{failed}");
}

#[test]
fn the_page_explains_every_row() {
    let [_, page, time, memory] = updated(README, &[synthetic::suite(1)]).expect("documents");
    for row in synthetic::suite(1).rows {
        assert!(page.contains(&format!("#### {}: {}", cell(&row.name), cell(&row.title))));
    }
    for part in [
        "Decides: how",
        "Not run: db\\_bench is not there",
        "left out:",
        "bump",
        "huge pages madvise",
        "commit 0123abc+changes",
        "Medians of 7 runs each",
    ] {
        assert!(page.contains(part), "{part} in\n{page}");
    }
    assert!(page.contains("(benchmarks/time.svg)"));
    assert!(time.starts_with("<svg") && memory.contains("prefers-color-scheme"));
}

#[test]
fn names_are_only_text() {
    let [readme, page, time, _] = updated(README, &[synthetic::suite(1)]).expect("documents");
    assert!(!time.contains("<script"));
    for text in [readme, page] {
        let outside_code = text.lines().filter(|line| !line.contains('`') || line.starts_with('|'));
        for line in outside_code {
            assert!(!line.contains("<script"), "{line}");
        }
    }
}

#[test]
fn missing_markers_are_named_and_nothing_is_written() {
    for (readme, part) in [
        ("no markers", "README.md: the line <!-- figures:begin --> is missing"),
        (&README.replace("bench:begin", ""), "the line <!-- bench:begin --> is missing"),
        (&README.replace("bench:end", ""), "README.md: the line <!-- bench:end --> is missing"),
        (&format!("<!-- bench:end -->\n{README}"), "in this order"),
    ] {
        let error = updated(readme, &[synthetic::suite(1)]).expect_err("an error");
        assert!(format!("{error:#}").contains(part), "{error:#}");
    }
    assert!(updated(README, &[]).is_err());
}

#[test]
fn several_results_are_on_the_page_one_after_another() {
    let both = [synthetic::suite(1), synthetic::suite(2)];
    let [_, page, ..] = updated(README, &both).expect("documents");
    assert!(page.contains("# 1. ") && page.contains("# 2. "));
}
