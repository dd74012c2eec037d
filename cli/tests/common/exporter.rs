//! `loam exporter`, and what is asked of it.

use super::{Background, loam_process};
use regex::Regex;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub struct Exporter {
    pub child: Background,
    /// `127.0.0.1:PORT`
    pub address: String,
}

/// Whichever port nobody has.
pub const FREE: &str = "127.0.0.1:0";

pub struct Answer {
    pub status: u16,
    /// With their names in small letters.
    pub headers: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Exporter {
    pub fn start(words: &[&str]) -> Exporter {
        Exporter::of(loam_process().args(["exporter", "--listen", FREE]).args(words))
    }

    pub fn of(command: &mut Command) -> Exporter {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("an exporter");
        let output = child.stdout.take().expect("its output");
        let child = Background(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("its line");
        let address = line.trim_end().strip_prefix("listening on http://");
        let address =
            address.and_then(|rest| rest.strip_suffix('/')).unwrap_or_else(|| panic!("{line}"));
        Exporter { address: address.to_owned(), child }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(90))).expect("a limit");
        stream
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    /// `more`: whole lines.
    pub fn ask(&self, method: &str, path: &str, more: &str) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{more}\r\n", self.address);
        ask(&self.address, &head)
    }

    pub fn metrics(&self) -> String {
        let answer = self.get("/metrics");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text()
    }

    /// Once it says what is expected, which it has some time for.
    pub fn metrics_when(&self, holds: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let text = self.metrics();
            if holds(&text) {
                return text;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{text}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Sends a request, and reads to the end.
pub fn ask(address: &str, head: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(90))).expect("a limit");
    // Of one that is too long nobody reads the end.
    let _ = stream.write_all(head.as_bytes());
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer");
    let headers = String::from_utf8_lossy(&all[..end]).to_lowercase();
    let status = headers.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    let is_in_chunks = headers.contains("transfer-encoding: chunked");
    let body = &all[end + 4..];
    let body = if is_in_chunks { unchunked(body) } else { body.to_vec() };
    Answer { status, headers, body }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let digits = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let size = usize::from_str_radix(digits.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
    whole
}

/// The figure of a process in metrics, or of all if there is no number; `None` if there is none.
pub fn figure(metrics: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let line = Regex::new(&format!(r"(?m)^{name}(?:\{{(.*)\}})? (\S+)$")).unwrap();
    let is_it = |found: &regex::Captures| {
        let of = found.get(1).map_or("", |of| of.as_str());
        labels
            .iter()
            .all(|(name, value)| of.split(',').any(|one| one == format!("{name}=\"{value}\"")))
    };
    let found = line.captures_iter(metrics).find(is_it)?;
    Some(found[2].parse().expect("a number"))
}
