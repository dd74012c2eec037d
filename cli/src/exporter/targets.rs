//! Processes that take a profile, as Prometheus, Parca and Pyroscope's collector discover what to
//! scrape: <https://prometheus.io/docs/prometheus/latest/http_sd/>

use crate::exporter::fleet::Fleet;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// `host`: as the one who asks has reached this address.
pub fn render(fleet: &Fleet, host: &str) -> Result<String> {
    let profiled = fleet.readings().filter(|reading| reading.has_profile);
    let target = |pid: &str, name: &str| {
        let labels =
            json!({ "__param_pid": pid, "pid": pid, "process": name, "service_name": name });
        json!({ "targets": [host], "labels": labels })
    };
    let targets: Vec<Value> =
        profiled.map(|reading| target(&reading.pid.to_string(), &reading.name)).collect();
    serde_json::to_string(&targets).context("cannot write JSON")
}
