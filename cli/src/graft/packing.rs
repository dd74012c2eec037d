//! How a folder is packed: told from its content, and the same for the new one.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Xz,
    Zstd,
    Zip,
}

/// What a packed folder's name may end in; the longer ones first.
const SUFFIXES: [&str; 12] = [
    ".artifactbundle.tar.gz",
    ".artifactbundle.tar.xz",
    ".artifactbundle.tar.zst",
    ".artifactbundle.tar",
    ".artifactbundle.zip",
    ".tar.gz",
    ".tar.xz",
    ".tar.zst",
    ".tgz",
    ".txz",
    ".tar",
    ".zip",
];

/// What a packed folder's name ends in, if it is one by its name.
fn suffix_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy();
    SUFFIXES.into_iter().find(|suffix| name.ends_with(suffix))
}

/// The name of the new file, unless one was given: beside the original.
pub fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let suffix = suffix_of(target).unwrap_or_default();
    let stem = &name[..name.len() - suffix.len()];
    target.with_file_name(format!("{stem}-loam{suffix}"))
}

/// Why a file in a folder is not looked into, if it is a packed folder itself.
pub fn why_not_within(path: &Path) -> Option<String> {
    suffix_of(path).map(|_| "a packed folder of its own: graft it by itself".to_owned())
}

/// Where a tar archive says what it is.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

impl Packing {
    /// `None` for a file that is no packed folder.
    pub fn of(path: &Path) -> Result<Option<Packing>> {
        let cannot = || format!("cannot read {}", path.display());
        let mut start = Vec::new();
        let file = File::open(path).with_context(cannot)?;
        file.take(512).read_to_end(&mut start).with_context(cannot)?;
        let (offset, magic) = TAR_MAGIC;
        Ok(match &*start {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            [b'P', b'K', 3, 4, ..] => Some(Packing::Zip),
            other => other
                .get(offset..)
                .is_some_and(|at| at.starts_with(magic))
                .then_some(Packing::Plain),
        })
    }
}

pub fn decoder<'a>(packing: Packing, input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match packing {
        Packing::Plain => Box::new(input),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        Packing::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(input)),
        Packing::Zstd => Box::new(zstd::Decoder::with_buffer(input)?),
        Packing::Zip => return Err(no_stream()),
    })
}

/// In a .zip each file is compressed by itself.
fn no_stream() -> io::Error {
    io::Error::from(io::ErrorKind::Unsupported)
}

pub enum Encoder<W: Write> {
    Plain(W),
    Gzip(flate2::write::GzEncoder<W>),
    Xz(liblzma::write::XzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    /// With each program's own default of effort.
    pub fn new(packing: Packing, output: W) -> io::Result<Encoder<W>> {
        Ok(match packing {
            Packing::Plain => Encoder::Plain(output),
            Packing::Gzip => {
                Encoder::Gzip(flate2::write::GzEncoder::new(output, flate2::Compression::default()))
            }
            Packing::Xz => Encoder::Xz(liblzma::write::XzEncoder::new(output, 6)),
            Packing::Zstd => {
                Encoder::Zstd(zstd::Encoder::new(output, zstd::DEFAULT_COMPRESSION_LEVEL)?)
            }
            Packing::Zip => return Err(no_stream()),
        })
    }

    /// Writes what ends the compressed data.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Encoder::Plain(_) => Ok(()),
            Encoder::Gzip(encoder) => encoder.finish().map(drop),
            Encoder::Xz(encoder) => encoder.finish().map(drop),
            Encoder::Zstd(encoder) => encoder.finish().map(drop),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoder::Plain(output) => output.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Xz(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::Plain(output) => output.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Xz(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }
}
