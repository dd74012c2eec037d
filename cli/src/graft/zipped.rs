//! Grafts a folder packed as .zip: every file is copied as it is, still compressed, but for C
//! libraries.

use crate::graft::place::Unfinished;
use crate::graft::repacker::{Repacker, Replaced, check_path};
use crate::graft::{archive, interrupt};
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};
use zip::read::ZipFile;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// Gives the new file, not in its place yet. Without `output` nothing is written.
pub fn copy(
    repacker: &mut Repacker,
    input: File,
    metadata: &Metadata,
    output: Option<&Path>,
    bar: &ProgressBar,
) -> Result<Option<Unfinished>> {
    let input = ZipArchive::new(BufReader::new(input)).context("damaged")?;
    bar.set_length(input.len() as u64);
    let Some(output) = output else {
        // What is written is needed by nobody; compressed files are small enough to hold.
        return copy_all(repacker, input, Cursor::new(Vec::new()), bar).map(|_| None);
    };
    let mut unfinished = Unfinished::new(output, Some(metadata))?;
    copy_all(repacker, input, unfinished.file(), bar)?
        .flush()
        .with_context(|| format!("cannot write {}", output.display()))?;
    Ok(Some(unfinished))
}

fn copy_all<W: Write + Seek>(
    repacker: &mut Repacker,
    mut input: ZipArchive<BufReader<File>>,
    output: W,
    bar: &ProgressBar,
) -> Result<W> {
    let mut output = ZipWriter::new(output);
    output.set_raw_comment(input.comment().into()).context("its comment cannot be kept")?;
    for at in 0..input.len() {
        interrupt::check()?;
        bar.inc(1);
        let path = path_of(&input.by_index_raw(at).context("damaged")?)?;
        let path = path.as_path();
        check_path(path)?;
        let replaced = match data_of_archive(repacker, &mut input, at, path)? {
            Some(data) => {
                let shown = || path.display().to_string();
                repacker.grafted(&data, path).with_context(shown)?.map(|new| (new, data))
            }
            None => None,
        };
        let entry = input.by_index_raw(at).context("damaged")?;
        match replaced {
            None => output.raw_copy_file(entry).context("cannot write")?,
            Some((Replaced { bytes, original }, data)) => {
                let options = options_of(&entry);
                write(&mut output, path, options, &bytes)?;
                write(&mut output, &original, options, &data)?;
            }
        }
    }
    output.finish().context("cannot write")
}

fn path_of<R: Read>(entry: &ZipFile<R>) -> Result<PathBuf> {
    Ok(PathBuf::from(entry.name().context("damaged")?.into_owned()))
}

/// The bytes of a file that is an archive.
fn data_of_archive(
    repacker: &mut Repacker,
    input: &mut ZipArchive<BufReader<File>>,
    at: usize,
    path: &Path,
) -> Result<Option<Vec<u8>>> {
    let shown = || path.display().to_string();
    let entry = input.by_index_raw(at).context("damaged")?;
    if !entry.is_file() {
        return Ok(None);
    }
    if entry.encrypted() {
        bail!("{} is encrypted", path.display());
    }
    drop(entry);
    let mut entry = input.by_index(at).with_context(shown)?;
    let mut data = Vec::new();
    let magic_bytes = archive::MAGIC.len() as u64;
    entry.by_ref().take(magic_bytes).read_to_end(&mut data).with_context(shown)?;
    if !repacker.is_archive(&data, path) {
        return Ok(None);
    }
    entry.read_to_end(&mut data).context("truncated or damaged").with_context(shown)?;
    Ok(Some(data))
}

/// The mode, the time and the compression of a file.
fn options_of<R: Read>(entry: &ZipFile<R>) -> SimpleFileOptions {
    let options = SimpleFileOptions::default().compression_method(entry.compression());
    let options = match entry.last_modified() {
        Some(time) => options.last_modified_time(time),
        None => options,
    };
    match entry.unix_mode() {
        Some(mode) => options.unix_permissions(mode),
        None => options,
    }
}

fn write<W: Write + Seek>(
    output: &mut ZipWriter<W>,
    path: &Path,
    options: SimpleFileOptions,
    bytes: &[u8],
) -> Result<()> {
    let options = options.large_file(u32::try_from(bytes.len()).is_err());
    let written: io::Result<()> = output
        .start_file(path.to_string_lossy(), options)
        .map_err(io::Error::from)
        .and_then(|()| output.write_all(bytes));
    written.with_context(|| format!("cannot write {}", path.display()))
}
