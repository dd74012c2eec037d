//! `loam doctor`: what holds most of a process's memory, and what to do about it.

mod findings; // the things that hold most
mod report; // what is found
mod settings; // what the process was started with
mod text; // as text

use crate::account::sums::Account;
use crate::arguments::DoctorArguments;
use crate::failure::Failure;
use crate::heap::chosen;
use crate::heap::walk;
use crate::process::group::Group;
use crate::profile::living;
use anyhow::Context;
use report::Report;
use settings::Settings;
use std::io::Write;
use std::process::ExitCode;

/// More than these nobody does at once.
const SHOWN: usize = 3;

pub fn doctor(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let source = chosen::open(&arguments.target)?;
    let figures = walk::of_loam(source.as_ref())?;
    let process = source.process();
    let account = Account::of(process, &figures);
    let profile = living::find(source.as_ref())?;
    let settings = Settings::of(process);
    let number = process.pid.filter(|_| process.is_live).and_then(|pid| i32::try_from(pid).ok());
    let limit = number.and_then(Group::of).and_then(|group| group.limit());
    let mut findings = findings::all(&account, &figures, profile.as_ref(), &settings);
    findings.truncate(SHOWN);
    let report = Report {
        schema: 1,
        pid: account.pid,
        name: account.name.clone(),
        title: account.title.clone(),
        resident_bytes: account.resident_bytes,
        peak_resident_bytes: account.peak_bytes,
        group_used_bytes: limit.map(|limit| limit.used_bytes),
        group_limit_bytes: limit.map(|limit| limit.limit_bytes),
        has_profile: profile.is_some(),
        settings,
        findings,
        live_bytes: figures.live().bytes,
    };
    let output = match arguments.json {
        true => serde_json::to_string_pretty(&report).context("cannot write JSON")? + "\n",
        false => text::render(&report),
    };
    std::io::stdout().write_all(output.as_bytes()).context("cannot write to standard output")?;
    Ok(ExitCode::SUCCESS)
}
