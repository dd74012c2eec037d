//! `loam exporter`: what other programs ask of the processes on loam by HTTP: metrics, profiles, and
//! pages for people.

mod accept; // which format is asked for
mod answer; // a request, and what is answered
mod fleet; // processes, and what was last read of them
mod metrics; // figures as Prometheus reads them
mod one; // what is answered about one process
mod own; // which processes are this user's
mod page; // the list of processes, as a page
mod read; // one process
mod reply; // what is answered
mod serve; // connections
mod targets; // the list of processes, as Prometheus and others discover them

use crate::arguments::ExporterArguments;
use crate::failure::{Failure, USAGE};
use answer::Exporter;
use anyhow::Context;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

pub fn exporter(arguments: &ExporterArguments) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot wait for requests")?;
    runtime.block_on(run(arguments))?;
    // What is still being read ends with this process.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

async fn run(arguments: &ExporterArguments) -> Result<(), Failure> {
    if arguments.every.is_zero() {
        return Err(Failure::new(USAGE, "--every=0s: it takes a duration above 0"));
    }
    if arguments.glibc.is_some_and(|every| every.is_zero()) {
        return Err(Failure::new(USAGE, "--glibc=0s: it takes a duration above 0"));
    }
    let asked = arguments.listen;
    let failed = || format!("cannot listen on {asked}");
    let listener = TcpListener::bind(asked).await.with_context(failed)?;
    let address = listener.local_addr().with_context(failed)?;
    // Before anybody is told that it is ready.
    let listen = |kind| signal(kind).context("cannot listen for signals");
    let (mut interrupt, mut terminate) =
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    announce(address)?;
    let ended = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    serve::serve(listener, Exporter::new(address, arguments.every, arguments.glibc), ended).await;
    Ok(())
}

fn announce(address: SocketAddr) -> Result<(), Failure> {
    let mut text = format!("listening on http://{address}/\n");
    if !address.ip().is_loopback() {
        text += "whoever reaches this address may read all of it\n";
    }
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
    Ok(())
}
