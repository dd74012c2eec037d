//! What verbs share that run programs on loam.

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Names the library where no option does.
pub const LIBRARY_VARIABLE: &str = "LOAM_LIBRARY";

#[derive(Debug, Args)]
pub struct LibraryArguments {
    /// The library to preload, instead of the libloam.so installed with this command
    #[arg(long, value_name = "PATH", env = LIBRARY_VARIABLE, hide_env_values = true)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    #[arg(value_hint = ValueHint::FilePath)]
    pub library: Option<PathBuf>,
}
