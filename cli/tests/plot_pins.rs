//! `loam plot` of a recording with stacks names the line of the program that keeps pages.

use crate::common::{Workshop, fixture, loam};
use predicates::str::is_match;
use std::path::{Path, PathBuf};

/// The recording of a program whose few survivors keep nearly all pages.
fn recorded(workshop: &Workshop, flags: &[&str]) -> PathBuf {
    let program = workshop.compile("survivors.c", &["-g", "-fomit-frame-pointer"]);
    let trace = workshop.path("trace");
    let mut command = loam();
    command.arg("record").args(flags).arg("--output").arg(&trace).arg("--").arg(program);
    command.assert().success();
    trace
}

fn plotted(trace: &Path, flags: &[&str]) -> String {
    let page = trace.with_extension("html");
    let mut command = loam();
    command.arg("plot").arg(trace).args(flags).arg("--html").arg(&page).assert().success();
    std::fs::read_to_string(page).expect("the page")
}

fn between<'page>(page: &'page str, begin: &str, end: &str) -> &'page str {
    let (_, rest) = page.split_once(begin).expect(begin);
    rest.split_once(end).expect(end).0
}

/// As the page shows it.
fn planted_place() -> String {
    let text = std::fs::read_to_string(fixture("survivors.c")).expect("the fixture");
    let line = text.lines().position(|line| line.ends_with("// survivors")).expect("the comment");
    format!("fixtures&#x2f;survivors.c:{}", line + 1)
}

#[test]
fn the_line_whose_survivors_keep_pages_is_the_answer_and_the_first_of_the_list() {
    let workshop = Workshop::new();
    let trace = recorded(&workshop, &["--stacks"]);
    let page = plotted(&trace, &[]);
    let place = planted_place();
    let answer = between(&page, "<p class=\"answer\">", "</p>");
    let says = format!("are kept free by blocks from open_session ({place}).");
    assert!(answer.ends_with(&says), "{answer}");
    assert_eq!(page.matches("<ol class=\"pins\">").count(), 2, "the worst moment, and the end");
    for list in page.split("<ol class=\"pins\">").skip(1) {
        let first = list.split_once("</li>").expect("a line").0;
        assert!(first.contains(&format!("{place}</code>")), "{first}");
        assert!(first.contains(" that 667 blocks with 130 KiB keep, half of it for "), "{first}");
        let caller = "from serve  fixtures&#x2f;survivors.c:";
        assert!(first.contains(caller), "{first}");
    }
    assert_eq!(page.matches("<h4>At the end</h4>").count(), 1);
    assert_eq!(page.matches(", when most was free on them</h4>").count(), 1);
}

#[test]
fn a_moment_can_be_chosen() {
    let workshop = Workshop::new();
    let trace = recorded(&workshop, &["--stacks"]);
    let page = plotted(&trace, &["--at", "100%"]);
    assert_eq!(page.matches("<ol class=\"pins\">").count(), 1);
    assert!(page.contains("<h4>At the end</h4>"));
    // While all is in use nobody keeps what is free.
    let page = plotted(&trace, &["--at", "0%"]);
    assert!(!between(&page, "<ol class=\"pins\">", "</ol>").contains("survivors.c"));

    let out = workshop.path("out.html");
    for (at, says) in [
        ("5h", ": the recording ends after "),
        ("soon", "write a time, as 90s, or a part of the whole, as 50%"),
        ("101%", "not from 0% to 100%"),
    ] {
        let mut command = loam();
        command.arg("plot").arg(&trace).args(["--at", at, "--html"]).arg(&out);
        let refused = command.assert().code(2).stdout("");
        refused.stderr(is_match(format!("^loam: [^\n]*{says}[^\n]*\n$")).unwrap());
        assert!(!out.exists());
    }
    let own = std::process::id().to_string();
    let refused = loam().args(["plot", &own, "--at", "1s", "--html"]).arg(&out).assert().code(2);
    refused.stderr("loam: --at is for recordings: a process is drawn as it is\n");
}

#[test]
fn without_stacks_the_page_says_how_to_have_them() {
    let workshop = Workshop::new();
    let trace = recorded(&workshop, &[]);
    let page = plotted(&trace, &[]);
    assert!(page.contains("<code>loam record --stacks</code>"));
    assert!(!page.contains("<ol class=\"pins\">"));
    let mut command = loam();
    command.arg("plot").arg(&trace).args(["--at", "1%", "--html"]).arg(workshop.path("page"));
    let says = "trace does not say who keeps pages, for --at: record it with --stacks";
    command.assert().code(2).stderr(is_match(format!("^loam: [^\n]*{says}\n$")).unwrap());
}
