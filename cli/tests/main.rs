//! All tests of the command are one program, which is linked once. Each file is named here (`house`
//! looks whether it is), and is an entry of ctest's.

mod common;

mod bench;
mod bench_suite;
mod doctor;
mod documents;
mod explain;
mod explain_change;
mod explain_several;
mod exporter;
mod exporter_scraped;
mod generated;
mod glibc;
mod graft;
mod graft_bundle;
mod graft_folder;
mod graft_mimalloc;
mod graft_old_musl;
mod graft_processors;
mod graft_refusals;
mod graft_zip;
mod house;
mod mistakes;
mod pins;
mod plot;
mod plot_pins;
mod plot_still;
mod prof;
mod prof_callers;
mod prof_process;
mod prof_python;
mod prof_static;
mod record;
mod replay;
mod run;
mod run_stats;
mod signals;
mod trace;
mod verify;
mod verify_launchers;
mod verify_pe;
mod verify_run;
mod without;
