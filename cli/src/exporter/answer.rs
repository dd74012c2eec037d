//! A request, and what is answered.

use crate::arguments::ProfFigure;
use crate::exporter::fleet::Fleet;
use crate::exporter::one::About;
use crate::exporter::reply::Reply;
use crate::exporter::{accept, metrics, own, page, targets};
use crate::failure::in_one_line;
use anyhow::Result;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::spawn_blocking;

pub struct Exporter {
    fleet: Arc<Mutex<Fleet>>,
    is_loopback: bool,
}

/// Who asks for a process that is to be left alone for longer is told to come again.
const PATIENCE: Duration = Duration::from_secs(20);

const PLACES: &str = "there are /, /metrics, /targets, and with ?pid=NUMBER /heap, \
                      /debug/pprof/heap and /debug/pprof/allocs";

impl Exporter {
    pub fn new(address: SocketAddr, every: Duration, glibc_every: Option<Duration>) -> Exporter {
        let fleet = Arc::new(Mutex::new(Fleet::new(every, glibc_every)));
        Exporter { fleet, is_loopback: address.ip().is_loopback() }
    }

    pub async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        Ok(self.reply(&request).await.response())
    }

    async fn reply(&self, request: &Request<Incoming>) -> Reply {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let why = "nothing is changed here: there are GET and HEAD";
            let reply = Reply::refusal(StatusCode::METHOD_NOT_ALLOWED, why);
            return reply.with(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        let host = text_of(request, &header::HOST).unwrap_or_default();
        if self.is_loopback && !names_this_machine(host) {
            // A page of another site whose name leads here by now.
            let why = "this address is asked for by its number, or as localhost";
            return Reply::refusal(StatusCode::MISDIRECTED_REQUEST, why);
        }
        let query = request.uri().query().unwrap_or_default();
        let about = match request.uri().path() {
            "/" => return self.listed(page::render).await.map_or_else(failed, Reply::page),
            "/metrics" => return self.metrics(text_of(request, &header::ACCEPT)).await,
            "/targets" => {
                let host = host.to_owned();
                let text = self.listed(move |fleet| targets::render(fleet, &host)).await;
                return text.map_or_else(failed, |text| Reply::of("application/json", text));
            }
            "/heap" => About::Heap,
            "/debug/pprof/heap" => About::Profile(ProfFigure::Live),
            "/debug/pprof/allocs" => About::Profile(ProfFigure::Taken),
            _ => return Reply::refusal(StatusCode::NOT_FOUND, PLACES),
        };
        match asked_for(query) {
            Ok(pid) => self.one(pid, about).await,
            Err(why) => Reply::refusal(StatusCode::BAD_REQUEST, why),
        }
    }

    /// What is due is read, and then something is said of all that was.
    async fn listed(
        &self,
        render: impl FnOnce(&Fleet) -> Result<String> + Send + 'static,
    ) -> Result<String> {
        let mut fleet = self.fleet.clone().lock_owned().await;
        let look = move || {
            fleet.look();
            render(&fleet)
        };
        spawn_blocking(look).await?
    }

    async fn metrics(&self, accept: Option<&str>) -> Reply {
        let format = accept::format(accept);
        let begun = Instant::now();
        let render = move |fleet: &Fleet| Ok(metrics::render(fleet, begun.elapsed(), format));
        let text = self.listed(render).await;
        text.map_or_else(failed, |text| Reply::of(accept::name(format), text))
    }

    async fn one(&self, pid: i32, about: About) -> Reply {
        loop {
            let fleet = self.fleet.clone().lock_owned().await;
            if own::started(pid).is_none() {
                let why = format!(
                    "there is no process {pid} of this user's; / lists those that are read"
                );
                return Reply::refusal(StatusCode::NOT_FOUND, &why);
            }
            match fleet.rest(pid) {
                None => return read(fleet, pid, about).await,
                Some(rest) if rest > PATIENCE => return busy(rest),
                Some(rest) => {
                    drop(fleet);
                    tokio::time::sleep(rest).await;
                }
            }
        }
    }
}

async fn read(mut fleet: OwnedMutexGuard<Fleet>, pid: i32, about: About) -> Reply {
    let with_glibc = fleet.with_glibc();
    let read = spawn_blocking(move || fleet.work(pid, || about.read(pid, with_glibc))?.reply());
    let read = read.await;
    match read {
        Ok(Ok(reply)) => reply,
        Ok(Err(cause)) => Reply::refusal(StatusCode::NOT_FOUND, &in_one_line(&cause)),
        Err(cause) => failed(cause.into()),
    }
}

fn busy(rest: Duration) -> Reply {
    let why = "the process was read for long, and is left alone for nine times as long";
    let reply = Reply::refusal(StatusCode::SERVICE_UNAVAILABLE, why);
    reply.with(header::RETRY_AFTER, rest.as_secs() + 1)
}

#[allow(clippy::needless_pass_by_value)] // as map_or_else has it
fn failed(cause: anyhow::Error) -> Reply {
    Reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, &in_one_line(&cause))
}

fn text_of<'request>(
    request: &'request Request<Incoming>,
    name: &HeaderName,
) -> Option<&'request str> {
    request.headers().get(name)?.to_str().ok()
}

/// `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`, and none, of who speaks HTTP 1.0.
fn names_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let number = name.trim_start_matches('[').trim_end_matches(']');
    name.is_empty() || name.eq_ignore_ascii_case("localhost") || number.parse::<IpAddr>().is_ok()
}

/// The process. What else is in a query is left to who has put it there, but for what would make
/// another profile.
fn asked_for(query: &str) -> Result<i32, &'static str> {
    let pairs = || query.split('&').filter_map(|pair| pair.split_once('='));
    if pairs().any(|(name, _)| name == "seconds") {
        return Err("seconds=: there are profiles of what was taken and is live, not of a time; \
                    'loam prof --since' compares two");
    }
    let pid = pairs().find(|(name, _)| *name == "pid").map(|(_, pid)| pid);
    let pid = pid.ok_or("which process? ?pid=NUMBER; / lists them")?;
    let pid = pid.parse().ok().filter(|pid| *pid > 0);
    pid.ok_or("pid= takes the number of a process")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sites_names_for_this_machine_are_not_taken() {
        for host in ["", "127.0.0.1:9464", "127.0.0.1", "[::1]:9464", "LocalHost:80"] {
            assert!(names_this_machine(host), "{host}");
        }
        for host in ["rebound.example:9464", "localhost.example", "127.0.0.1.example:80"] {
            assert!(!names_this_machine(host), "{host}");
        }
    }

    #[test]
    fn a_query_names_a_process() {
        assert_eq!(asked_for("pid=7"), Ok(7));
        assert_eq!(asked_for("debug=0&pid=7&pid=8"), Ok(7));
        for query in
            ["", "pid", "pid=", "pid=0", "pid=-7", "pid=x", "pid=99999999999", "pid=7&seconds=5"]
        {
            assert!(asked_for(query).is_err(), "{query}");
        }
    }
}
