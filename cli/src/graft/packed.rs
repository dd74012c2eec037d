//! Grafts a packed folder: every entry is copied as it is, but for C libraries.

use crate::binary::arch::Arch;
use crate::graft::objects::Objects;
use crate::graft::outcome::{ArchiveOutcome, Contents};
use crate::graft::packing::{Encoder, Packing, decoder};
use crate::graft::place::Unfinished;
use crate::graft::repacker::{Repacker, Replaced, check_path};
use crate::graft::{archive, interrupt, zipped};
use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, Entry, EntryType, Header};

/// Packs the folder again, with the C libraries in it grafted. Without `output` nothing is
/// written.
pub fn graft(
    target: &Path,
    output: Option<&Path>,
    archs: &[Arch],
    objects: &mut Objects,
    bar: &ProgressBar,
) -> Result<Contents<ArchiveOutcome>> {
    let shown = target.display().to_string();
    let cannot = || format!("cannot read {shown}");
    let file = File::open(target).with_context(cannot)?;
    let metadata = file.metadata().with_context(cannot)?;
    bar.set_length(metadata.len());
    let packing = Packing::of(target)?.with_context(|| format!("{shown}: not a packed folder"))?;
    let mut repacker = Repacker::new(archs, objects);
    if packing == Packing::Zip {
        let unfinished =
            zipped::copy(&mut repacker, file, &metadata, output, bar).with_context(|| shown)?;
        let contents = repacker.contents(target)?;
        unfinished.map_or(Ok(()), Unfinished::finish)?;
        return Ok(contents);
    }
    let input = decoder(packing, BufReader::new(bar.wrap_read(file))).with_context(cannot)?;
    let Some(output) = output else {
        repacker.copy(input, &mut Builder::new(io::sink())).with_context(|| shown)?;
        return repacker.contents(target);
    };
    let mut unfinished = Unfinished::new(output, Some(&metadata))?;
    let encoder = Encoder::new(packing, unfinished.file()).context("cannot compress")?;
    let mut builder = Builder::new(encoder);
    repacker.copy(input, &mut builder).with_context(|| shown)?;
    let cannot = || format!("cannot write {}", output.display());
    builder.into_inner().and_then(Encoder::finish).with_context(cannot)?;
    let contents = repacker.contents(target)?;
    unfinished.finish()?;
    Ok(contents)
}

/// What entries before an entry say about it, where its own header has no room.
#[derive(Default)]
struct Extension {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl Repacker<'_> {
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
        if !header.entry_type().is_file() || !self.is_archive(&start, &path) {
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
        let Some(Replaced { bytes, original }) = self.grafted(&data, path)? else {
            return append(output, header, &*data, data.len() as u64, path);
        };
        let mut new = header.clone();
        new.set_size(bytes.len() as u64);
        new.set_cksum();
        append(output, &new, &*bytes, bytes.len() as u64, path)?;
        output
            .append_data(&mut header.clone(), &original, &*data)
            .context("cannot write the original")
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
