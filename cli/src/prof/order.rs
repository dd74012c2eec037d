//! Has a process that runs take a profile, or take it no longer: one word of loam's is written, that
//! malloc looks at where it is slow anyway (src/api/profile.h).

use crate::heap::chosen;
use crate::heap::layout::Layout;
use crate::heap::live::Live;
use crate::heap::samples::word_at;
use crate::heap::source::Source;
use crate::numbers;
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

const SAMPLE_BYTES: u64 = 512 << 10;
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

pub fn start(pid: u32, sample_bytes: Option<u64>) -> Result<String> {
    let bytes = sample_bytes.unwrap_or(SAMPLE_BYTES);
    let ordered = Ordered::give(pid, |layout| Ok(layout.number("profile.order")? + bytes))?;
    let between = numbers::bytes(bytes);
    Ok(match ordered.is_obeyed()? {
        true => format!("{}: a profile is taken, of a sample each {between}\n", ordered.title),
        false => ordered.waits(),
    })
}

pub fn stop(pid: u32) -> Result<String> {
    let ordered = Ordered::give(pid, |layout| layout.number("profile.order"))?;
    Ok(match ordered.is_obeyed()? {
        true => format!("{}: no profile is taken any longer\n", ordered.title),
        false => ordered.waits(),
    })
}

struct Ordered {
    source: Box<dyn Source>,
    title: String,
    address: u64,
    order: u32,
}

impl Ordered {
    fn give(pid: u32, order: impl Fn(&Layout) -> Result<u64>) -> Result<Ordered> {
        let source = chosen::open(pid.to_string().as_ref())?;
        let title = source.process().title.clone();
        let layout = Layout::find(source.as_ref())?;
        let address = layout.root("profile_order")?;
        let order = u32::try_from(order(&layout)?)?;
        let pid = pid.cast_signed();
        if Live::is_privileged(pid)? {
            bail!("{title} is privileged: nobody else says what it does");
        }
        Live::write_word(pid, address, order)?;
        Ok(Ordered { source, title, address, order })
    }

    /// Whether it is, after a while.
    fn is_obeyed(&self) -> Result<bool> {
        let end = Instant::now() + PATIENCE;
        while word_at(self.source.as_ref(), self.address)? == self.order {
            if Instant::now() > end {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    }

    fn waits(&self) -> String {
        format!("{}: it will obey once it allocates, which it does not do just now\n", self.title)
    }
}
