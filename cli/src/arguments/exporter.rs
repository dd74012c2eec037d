//! The verb that answers other programs.

use clap::Args;
use std::net::SocketAddr;
use std::time::Duration;

const EXPORTER_EXAMPLES: &str = "\
Examples:
  loam exporter                            on http://127.0.0.1:9464/
  loam exporter --every 1min               each process is read once a minute at most
  loam exporter --glibc 1min               also of processes on glibc
  loam exporter --listen 0.0.0.0:9464      for other machines, too: whoever reaches it may read all
  go tool pprof 'http://127.0.0.1:9464/debug/pprof/heap?pid=4711'

Exit status: 0 when it was ended by Ctrl-C or SIGTERM, 2 if it cannot listen.";

/// Answer Prometheus, pprof and people about all processes on loam
///
/// Serves by HTTP, until it is ended, what is known of this user's processes that are on loam, which
/// need not be prepared: /metrics for Prometheus, also as OpenMetrics; /debug/pprof/heap?pid=PID and
/// allocs, for pprof, Parca and Pyroscope, of a process that takes a profile (loam prof --start PID);
/// / for people, with a page for each process, as explain --html writes. Nothing is written, nothing
/// runs in the processes, and of other users' nothing is said.
#[derive(Debug, Args)]
#[command(after_help = EXPORTER_EXAMPLES)]
pub struct ExporterArguments {
    /// Where to listen: an address of this machine, and a port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9464")]
    #[arg(value_parser = address)]
    pub listen: SocketAddr,

    /// How long metrics of a process are kept before it is read again
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    #[arg(value_parser = humantime::parse_duration)]
    pub every: Duration,

    /// Also of processes on glibc, each read once in this time at most: they take longer to read
    #[arg(long, value_name = "DURATION")]
    #[arg(value_parser = humantime::parse_duration)]
    pub glibc: Option<Duration>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write a number of a machine and a port, as 127.0.0.1:9464".into())
}
