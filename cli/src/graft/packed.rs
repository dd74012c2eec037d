//! Grafts a packed folder: every entry is copied as it is, but for C libraries.

use super::compression::{Encoder, Packing, decoder};
use super::libc_archive::{self, may_be_libc};
use super::objects::{Arch, Objects};
use super::outcome::{ArchiveOutcome, Done};
use super::place::{self, ORIGINAL_SUFFIX, Unfinished};
use super::{archive, interrupt};
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use tar::{Builder, Entry, EntryType, Header};

/// What a packed folder's name may end in; the longer ones first.
const SUFFIXES: [&str; 10] = [
    ".artifactbundle.tar.gz",
    ".artifactbundle.tar.xz",
    ".artifactbundle.tar.zst",
    ".artifactbundle.tar",
    ".tar.gz",
    ".tar.xz",
    ".tar.zst",
    ".tgz",
    ".txz",
    ".tar",
];

/// The name of the new file, unless one was given: beside the original.
pub fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let suffix = SUFFIXES.iter().find(|suffix| name.ends_with(**suffix)).copied().unwrap_or("");
    let stem = &name[..name.len() - suffix.len()];
    target.with_file_name(format!("{stem}-loam{suffix}"))
}

/// Packs the folder again, with the C libraries in it grafted. Without `output` nothing is
/// written.
pub fn graft(
    target: &Path,
    output: Option<&Path>,
    archs: &[Arch],
    objects: &mut Objects,
    bar: &ProgressBar,
) -> Result<Vec<ArchiveOutcome>> {
    let shown = target.display().to_string();
    let cannot = || format!("cannot read {shown}");
    let file = File::open(target).with_context(cannot)?;
    let metadata = file.metadata().with_context(cannot)?;
    bar.set_length(metadata.len());
    let packing = Packing::of(target)?.with_context(|| format!("{shown}: not a packed folder"))?;
    let input = decoder(packing, BufReader::new(bar.wrap_read(file))).with_context(cannot)?;
    let mut repacker = Repacker { archs, objects, outcomes: Vec::new() };
    let Some(output) = output else {
        repacker.copy(input, &mut Builder::new(io::sink())).with_context(|| shown)?;
        return repacker.outcomes();
    };
    let mut unfinished = Unfinished::new(output, Some(&metadata))?;
    let encoder = Encoder::new(packing, unfinished.file()).context("cannot compress")?;
    let mut builder = Builder::new(encoder);
    repacker.copy(input, &mut builder).with_context(|| shown)?;
    let cannot = || format!("cannot write {}", output.display());
    builder.into_inner().and_then(Encoder::finish).with_context(cannot)?;
    let outcomes = repacker.outcomes()?;
    unfinished.finish()?;
    Ok(outcomes)
}

struct Repacker<'a> {
    archs: &'a [Arch],
    objects: &'a mut Objects,
    outcomes: Vec<ArchiveOutcome>,
}

/// What entries before an entry say about it, where its own header has no room.
#[derive(Default)]
struct Extension {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl Repacker<'_> {
    fn outcomes(self) -> Result<Vec<ArchiveOutcome>> {
        if self.outcomes.is_empty() {
            bail!("there is no C library's archive in it");
        }
        Ok(self.outcomes)
    }

    fn copy<W: Write>(&mut self, input: impl Read, output: &mut Builder<W>) -> Result<()> {
        let mut input = tar::Archive::new(Counting { inner: input, bytes: 0 });
        let mut extension = Extension::default();
        let mut end = 0;
        for entry in input.entries().context("cannot read")?.raw(true) {
            interrupt::check()?;
            let mut entry = entry.context("truncated or damaged")?;
            let size = entry.header().entry_size().context("damaged")?;
            end = entry.raw_file_position() + size.next_multiple_of(BLOCK_BYTES);
            if let Some(read) = read_extension(&mut entry, &mut extension)? {
                output.append(entry.header(), &*read).context("cannot write")?;
                continue;
            }
            let found = std::mem::take(&mut extension);
            self.copy_entry(&mut entry, size, &found, output)?;
        }
        let mut rest = input.into_inner();
        if rest.bytes <= end {
            bail!("truncated: it ends without an end mark");
        }
        // What follows holds the checksum of all.
        io::copy(&mut rest, &mut io::sink()).context("truncated or damaged")?;
        Ok(())
    }

    fn copy_entry<W: Write>(
        &mut self,
        entry: &mut Entry<impl Read>,
        size: u64,
        extension: &Extension,
        output: &mut Builder<W>,
    ) -> Result<()> {
        let header = entry.header().clone();
        let own_path = header.path_bytes().into_owned();
        let path = path_of(extension.path.as_ref().unwrap_or(&own_path));
        check_path(&path)?;
        if header.entry_type() == EntryType::Link {
            let own_link = header.link_name_bytes().unwrap_or_default().into_owned();
            check_path(&path_of(extension.link.as_ref().unwrap_or(&own_link)))?;
        }
        if header.entry_type() == EntryType::GNUSparse {
            bail!("{} is packed with holes: pack it without --sparse", path.display());
        }
        let mut start = Vec::new();
        let magic_bytes = archive::MAGIC.len() as u64;
        entry.take(magic_bytes).read_to_end(&mut start).context("truncated or damaged")?;
        if !header.entry_type().is_file() || start != archive::MAGIC {
            let data = (&*start).chain(entry);
            return append(output, &header, data, size, &path);
        }
        let mut data = start;
        entry.read_to_end(&mut data).context("truncated or damaged")?;
        if data.len() as u64 != size {
            bail!("truncated within {}", path.display());
        }
        self.copy_archive(&header, data, &path, output).with_context(|| path.display().to_string())
    }

    fn copy_archive<W: Write>(
        &mut self,
        header: &Header,
        data: Vec<u8>,
        path: &Path,
        output: &mut Builder<W>,
    ) -> Result<()> {
        let as_it_is = |output: &mut Builder<W>, data: &[u8]| {
            append(output, header, data, data.len() as u64, path)
        };
        if place::is_ours(path) || !may_be_libc(&data) || !libc_archive::is_libc(&data)? {
            return as_it_is(output, &data);
        }
        let shown = path.display().to_string();
        let libc = libc_archive::recognise(&data)?;
        let is_asked_for = |arch| self.archs.is_empty() || self.archs.contains(&arch);
        let done = match libc.arch {
            Some(arch) if !is_asked_for(arch) => Some(Done::Skipped),
            Some(_) if libc.holds_loam => Some(Done::AlreadyGrafted),
            _ => None,
        };
        if let Some((arch, done)) = libc.arch.zip(done) {
            self.outcomes.push(ArchiveOutcome::unchanged(shown, arch, &libc, done));
            return as_it_is(output, &data);
        }
        let mut grafted = libc_archive::graft(&data, &shown, self.objects)?;
        let mut new = header.clone();
        new.set_size(grafted.bytes.len() as u64);
        new.set_cksum();
        let size = grafted.bytes.len() as u64;
        append(output, &new, &*grafted.bytes, size, path)?;
        let original = PathBuf::from(format!("{shown}{ORIGINAL_SUFFIX}"));
        output
            .append_data(&mut header.clone(), &original, &*data)
            .context("cannot write the original")?;
        grafted.outcome.original = Some(original.display().to_string());
        self.outcomes.push(grafted.outcome);
        Ok(())
    }
}

/// A tar archive is made of blocks of this size.
const BLOCK_BYTES: u64 = 512;

fn append<W: Write>(
    output: &mut Builder<W>,
    header: &Header,
    data: impl Read,
    size: u64,
    path: &Path,
) -> Result<()> {
    let mut data = Counting { inner: data, bytes: 0 };
    output.append(header, &mut data).with_context(|| format!("cannot copy {}", path.display()))?;
    if data.bytes != size {
        bail!("truncated within {}", path.display());
    }
    Ok(())
}

/// Reads an entry that says something about the next one. `None` for one that does not.
fn read_extension(entry: &mut Entry<impl Read>, found: &mut Extension) -> Result<Option<Vec<u8>>> {
    let kind = entry.header().entry_type();
    let is_extension = kind.is_gnu_longname()
        || kind.is_gnu_longlink()
        || kind.is_pax_local_extensions()
        || kind.is_pax_global_extensions();
    if !is_extension {
        return Ok(None);
    }
    let mut data = Vec::new();
    entry.read_to_end(&mut data).context("truncated or damaged")?;
    let text = || data.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
    if kind.is_gnu_longname() {
        found.path = Some(text());
    } else if kind.is_gnu_longlink() {
        found.link = Some(text());
    } else if kind.is_pax_local_extensions() {
        for record in tar::PaxExtensions::new(&data) {
            let record = record.context("damaged")?;
            match record.key_bytes() {
                b"path" => found.path = Some(record.value_bytes().to_vec()),
                b"linkpath" => found.link = Some(record.value_bytes().to_vec()),
                b"size" => bail!("it holds a file too large for its header, which is not handled"),
                _ => {}
            }
        }
    }
    Ok(Some(data))
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

/// Nothing in the folder may be a path out of it.
fn check_path(path: &Path) -> Result<()> {
    let climbs = |part: Component| matches!(part, Component::ParentDir | Component::RootDir);
    if path.components().any(climbs) {
        bail!("{} leads out of the folder: not touched", path.display());
    }
    Ok(())
}

/// Counts what is read.
struct Counting<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }
}
