//! `loam exporter` as other programs read it: Prometheus, pprof and a browser. Queries and rules are
//! those of the documents.

use crate::common::exporter::{Exporter, FREE, ask};
use crate::common::heaps::places;
use crate::common::{Background, Workshop, checkout, loam_process};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Has planted what the word says, and takes a profile.
fn planted(what: &str) -> Background {
    says_done(Command::new(places()).arg(what))
}

fn says_done(command: &mut Command) -> Background {
    let options = "purge_delay_ms=never,profile=on,profile_bytes=1024";
    let command = command.stdout(Stdio::piped()).env("LOAM_OPTIONS", options);
    let mut child = command.spawn().expect("a process");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    let mut lines = output.lines().map(|line| line.expect("a line"));
    assert!(lines.any(|line| line == "done"));
    Background(child)
}

/// The path of a program of the system's; `None`, which is said, where it is not installed.
fn installed(names: &[&str]) -> Option<String> {
    let folders = std::env::var("PATH").unwrap_or_default();
    let paths = folders
        .split(':')
        .flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}")));
    let found = paths.into_iter().find(|path| std::path::Path::new(path).is_file());
    if found.is_none() {
        eprintln!("not tested: there is no {}", names.join(" or "));
    }
    found
}

/// What stands indented in the page below a line that begins with these words.
fn block(first: &str) -> String {
    let page = std::fs::read_to_string(checkout("docs/tasks/fleet.md")).expect("the page");
    let lines: Vec<&str> = page.lines().collect();
    let at = lines.iter().position(|line| line.starts_with(&format!("    {first}")));
    let at = at.unwrap_or_else(|| panic!("{first} in {page}"));
    let within = |line: &&&str| line.starts_with("    ") || line.is_empty();
    let block: Vec<&str> = lines[at..]
        .iter()
        .take_while(within)
        .map(|line| line.get(4..).unwrap_or_default())
        .collect();
    block.join("\n").trim_end().to_owned() + "\n"
}

struct Prometheus {
    child: Child,
    address: String,
    _workshop: Workshop,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    /// With the configuration and the rules that the page shows, but at once.
    fn start(program: &str, exporter: &Exporter) -> Prometheus {
        let workshop = Workshop::new();
        let write =
            |name: &str, text: &str| std::fs::write(workshop.path(name), text).expect("a file");
        let rules = block("groups:");
        assert_eq!(rules.matches("for: 10m").count(), 1, "{rules}");
        write("loam-rules.yml", &rules.replace("for: 10m", "for: 1s"));
        let scrapes = block("scrape_configs:");
        assert!(scrapes.contains("127.0.0.1:9464"), "{scrapes}");
        let often = "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\n";
        write(
            "prometheus.yml",
            &(often.to_owned() + &scrapes.replace("127.0.0.1:9464", &exporter.address)),
        );
        let free =
            TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port");
        let address = free.to_string();
        let child = Command::new(program)
            .arg(format!("--config.file={}", workshop.path("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", workshop.path("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Prometheus");
        Prometheus { child, address, _workshop: workshop }
    }

    /// `None` while it begins.
    fn get(&self, path: &str) -> Option<Value> {
        std::net::TcpStream::connect(&self.address).ok()?;
        let answer = ask(
            &self.address,
            &format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
        );
        (answer.status == 200).then(|| serde_json::from_slice(&answer.body).expect("JSON"))
    }

    fn get_when(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let got = self.get(path);
            if let Some(value) = got.as_ref().filter(|value| holds(value)) {
                return value.clone();
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{path}: {got:#?}");
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// What a query finds of processes of these numbers, in their order.
    fn query(&self, query: &str, pids: [&str; 2]) -> [f64; 2] {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let of = |value: &Value, pid: &str| -> Option<f64> {
            let all = value["data"]["result"].as_array()?;
            let one = all.iter().find(|one| one["metric"]["pid"] == pid)?;
            one["value"][1].as_str()?.parse().ok()
        };
        let path = format!("/api/v1/query?query={encoded}");
        let value = self.get_when(&path, |value| pids.iter().all(|pid| of(value, pid).is_some()));
        pids.map(|pid| of(&value, pid).unwrap())
    }
}

#[test]
fn prometheus_scrapes_answers_queries_and_fires_the_alert_of_the_page() {
    let Some(program) = installed(&["prometheus"]) else { return };
    let (pin, leak) = (planted("pin"), planted("leak"));
    let (pin_pid, leak_pid) = (pin.pid(), leak.pid());
    let pids = [pin_pid.as_str(), leak_pid.as_str()];
    let exporter = Exporter::start(&["--every", "1s"]);
    let prometheus = Prometheus::start(&program, &exporter);
    let queries = block("loam_memory_usage_bytes{state=\"live\"}");
    let queries: Vec<&str> = queries.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(queries.len(), 3, "{queries:?}");
    let [pinning, leaking] = prometheus.query(queries[0], pids);
    assert!(leaking > 19_000_000.0 && pinning < 1_000_000.0, "{leaking} {pinning}");
    let [pinning, leaking] = prometheus.query(queries[1], pids);
    assert!(pinning > 0.3 && leaking < 0.1, "{pinning} {leaking}");
    // What a trim would bring back.
    let [pinning, leaking] = prometheus.query(queries[2], pids);
    assert!(pinning > leaking && leaking >= 0.0, "{pinning} {leaking}");
    let alert = |value: &Value, pid: &str| {
        let all = value["data"]["alerts"].as_array().cloned().unwrap_or_default();
        let of = |one: &&Value| {
            one["labels"]["pid"] == pid && one["labels"]["alertname"] == "LoamPinned"
        };
        all.iter().find(of).map(|one| one["state"].clone())
    };
    let alerts = prometheus
        .get_when("/api/v1/alerts", |value| alert(value, &pin_pid) == Some("firing".into()));
    assert_eq!(alert(&alerts, &leak_pid), None);
}

#[test]
fn pprof_fetches_what_is_live_and_what_was_taken() {
    let Some(go) = installed(&["go"]) else { return };
    let workshop = Workshop::new();
    let process = planted("retain");
    let exporter = Exporter::start(&[]);
    for (path, kind) in [("heap", "inuse_space"), ("allocs", "alloc_space")] {
        let url = exporter.url(&format!("/debug/pprof/{path}?pid={}", process.pid()));
        let output = Command::new(&go)
            .args(["tool", "pprof", "-top", &url])
            .env("PPROF_TMPDIR", workshop.path("profiles"))
            .output()
            .expect("pprof");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(&format!("Type: {kind}\n")) && text.contains("Time: "), "{text}");
        // All of it was freed.
        let first = text.lines().any(|line| line.contains("100%") && line.contains(" retain"));
        assert_eq!(first, path == "allocs", "{text}");
    }
    let targets = exporter.get("/targets").text();
    let targets: Value = serde_json::from_str(&targets).expect("JSON");
    let is_its = |one: &&Value| one["labels"]["__param_pid"] == process.pid();
    let target = targets.as_array().unwrap().iter().find(is_its).expect("the process");
    assert_eq!(target["targets"][0], exporter.address);
}

#[test]
fn a_browser_shows_the_list_and_the_heap_that_it_leads_to() {
    let Some(browser) = installed(&["chromium", "chromium-browser"]) else { return };
    let process = planted("pin");
    let exporter = Exporter::start(&[]);
    let workshop = Workshop::new();
    let shown = |path: &str| {
        let profile = format!("--user-data-dir={}", workshop.path("browser").display());
        let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
        let output = Command::new(&browser)
            .args(flags)
            .args([&profile, "--virtual-time-budget=5000", "--dump-dom", &exporter.url(path)])
            .output()
            .expect("a browser");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let list = shown("/");
    let link =
        regex::Regex::new(&format!(r#"<a href="(/heap\?pid={})">places</a>"#, process.pid()));
    let link = link.unwrap().captures(&list).unwrap_or_else(|| panic!("{list}"))[1].to_owned();
    let heap = shown(&link);
    // Its scripts have run, which the answer's headers may forbid.
    assert!(heap.contains("<body class=\"has-map\">") && heap.contains("places.c:"), "{heap}");
}

/// As where one of the two is in a container.
#[test]
fn functions_of_a_process_with_mounts_of_its_own_have_their_names() {
    let is_allowed = Command::new("unshare").args(["-m", "true"]).status();
    if !is_allowed.is_ok_and(|status| status.success()) {
        eprintln!("not tested: nothing can be mounted here");
        return;
    }
    let workshop = Workshop::new();
    let folder = workshop.path("mounted");
    std::fs::create_dir(&folder).unwrap();
    let script = "mount -t tmpfs none \"$1\" && cp \"$2\" \"$1/places\" && exec \"$1/places\" leak";
    let words = ["-m", "sh", "-c", script, "sh"];
    let process = says_done(Command::new("unshare").args(words).args([&folder, &places()]));
    assert!(!folder.join("places").exists(), "only the process sees it");
    let exporter = Exporter::start(&[]);
    let heap = exporter.get(&format!("/debug/pprof/heap?pid={}", process.pid()));
    let mut text = Vec::new();
    GzDecoder::new(&heap.body[..]).read_to_end(&mut text).expect("it is gzip");
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("leak") && text.contains("places.c"), "{text}");
}

/// The words that start it, at an address that is free.
fn started_by(words: &[String], address: &str) {
    assert_eq!(words[0], "/usr/bin/loam");
    assert_eq!(words.iter().filter(|word| *word == address).count(), 1, "{words:?}");
    let words = words[1..].iter().map(|word| if word == address { FREE } else { word });
    Exporter::of(loam_process().args(words)).metrics();
}

#[test]
fn the_unit_of_the_page_is_one_of_systemds_and_starts_it() {
    let unit = block("# /etc/systemd/system/loam-exporter@.service");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    started_by(&shlex::split(start).expect("words"), "127.0.0.1:9464");
    let Some(analyze) = installed(&["systemd-analyze"]) else { return };
    let workshop = Workshop::new();
    let path = workshop.path("loam-exporter@root.service");
    let command = workshop.path("loam");
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("loam"), &command).expect("a link");
    std::fs::write(&path, unit.replace("/usr/bin/loam", command.to_str().unwrap()))
        .expect("a file");
    let words = ["verify", "--man=no", "--recursive-errors=no"];
    let output = Command::new(analyze).args(words).arg(&path).output().expect("systemd");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("loam-exporter"), "{said}");
}

#[test]
fn the_daemon_set_of_the_page_starts_it() {
    let set = block("apiVersion: apps/v1");
    let line = set.lines().find_map(|line| line.trim().strip_prefix("command: "));
    let words: Vec<String> = serde_json::from_str(line.expect("a command")).expect("words");
    started_by(&words, "0.0.0.0:9464");
    let workshop = Workshop::new();
    std::fs::write(workshop.path("set.yml"), &set).expect("a file");
    let code = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
    let python =
        Command::new("/usr/bin/python3").args(["-c", code]).arg(workshop.path("set.yml")).output();
    let output = python.expect("Python");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let set: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (wanted, of_pods) = (&set["spec"]["selector"]["matchLabels"], &set["spec"]["template"]);
    assert_eq!(wanted, &of_pods["metadata"]["labels"]);
    let container = &of_pods["spec"]["containers"][0];
    assert_eq!(
        (&of_pods["spec"]["hostPID"], &container["ports"][0]["containerPort"]),
        (&true.into(), &9464.into())
    );
    assert_eq!(container["securityContext"]["capabilities"]["add"][0], "SYS_PTRACE");
}
