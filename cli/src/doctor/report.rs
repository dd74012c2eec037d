//! What is found of a process, as data.

use crate::doctor::findings::Finding;
use crate::doctor::settings::Settings;
use serde::Serialize;

/// What is found of a process, or a core.
#[derive(Serialize)]
pub struct Report {
    pub schema: u32,
    pub pid: Option<u64>,
    pub name: String,
    #[serde(skip)]
    pub title: String,
    pub resident_bytes: u64,
    pub peak_resident_bytes: Option<u64>,
    /// Of the control group, if that has a limit of memory.
    pub group_used_bytes: Option<u64>,
    pub group_limit_bytes: Option<u64>,
    /// A profile is known, which names places.
    pub has_profile: bool,
    pub settings: Settings,
    /// What holds most first; three at most.
    pub findings: Vec<Finding>,
    /// The largest part of what is left, where there is no finding.
    pub live_bytes: u64,
}
