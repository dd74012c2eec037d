//! What the replayer reads (replayer.c describes it): for each thread its operations, with a wait
//! ahead of each that needs what another thread has done.

use crate::bench::replay_run::plan::{PACE_EVENTS, Plan};
use crate::recording::event::{Block, Entry, Event, What};
use crate::recording::numbered::NumberMap;
use crate::recording::reader::Reader;
use crate::recording::touches::Touches;
use anyhow::{Context, Result, bail};
use std::io::{BufWriter, Write};
use tempfile::NamedTempFile;

pub struct Prepared {
    pub file: NamedTempFile,
    /// What the replayer has in memory for itself.
    pub own_kib: u64,
}

const MAGIC: u64 = 0x3179_6c70_6572;
const HEAD_BYTES: u64 = 40;
const STREAM_BYTES: u64 = 16;
const PAGE_BYTES: u64 = 4096;
const ACTOR_BYTES: u64 = 64;
const BUFFER_BYTES: u64 = 32 << 10;

const TAKE: u64 = 0;
const CLEARED: u64 = 1;
const ALIGNED: u64 = 2;
const RESIZE: u64 = 3;
const GIVE: u64 = 4;
const START: u64 = 5;
const MARK: u64 = 6;
const WAIT: u64 = 7;
const HOLD: u64 = 8;
const WITH_PAGES: u64 = 16;
const NUMBER_SHIFT: u32 = 5;
const SIZE_FOLLOWS: u64 = 0xffff_ffff;
const NUMBER_MAX: u64 = (1 << 27) - 1;

pub fn prepare(reader: &Reader) -> Result<Prepared> {
    let mut script = Script::new(Plan::read(reader)?, Touches::read(reader)?);
    for event in reader.events() {
        script.add(&event?)?;
    }
    script.write(reader.summary().elsewhere_bytes.unwrap_or(0))
}

/// A thread of the recording.
#[derive(Default)]
struct Actor {
    words: Vec<u64>,
    marks: u64,
    /// By actor: of how many marks of its this one knows.
    known: NumberMap<u64>,
    /// Of blocks that it has freed: it may use them again at once.
    free_slots: Vec<u32>,
    /// The last stretch in which it did something.
    stretch: u64,
    has_ended: bool,
}

struct Object {
    slot: u32,
    touched: u64,
    /// Who had it last, and how many marks that one has made behind that.
    actor: usize,
    marks: u64,
}

struct Script {
    plan: Plan,
    touches: Touches,
    actors: Vec<Actor>,
    /// By thread of the recording.
    actor_of: NumberMap<usize>,
    objects: NumberMap<Object>,
    slot_count: u32,
    /// Of threads that have ended: free once those have made so many marks.
    left_slots: Vec<(u32, usize, u64)>,
    event: u64,
    last_actor: usize,
    /// The most that is held.
    mapped_max: u64,
    running: u64,
    running_max: u64,
    /// By actor, its marks at the end of the last stretch and of the one before.
    stretch_ends: [Vec<u64>; 2],
}

impl Script {
    fn new(plan: Plan, touches: Touches) -> Script {
        Script {
            plan,
            touches,
            actors: Vec::new(),
            actor_of: NumberMap::default(),
            objects: NumberMap::default(),
            slot_count: 0,
            left_slots: Vec::new(),
            event: 0,
            last_actor: 0,
            mapped_max: 0,
            running: 0,
            running_max: 0,
            stretch_ends: [Vec::new(), Vec::new()],
        }
    }

    fn add(&mut self, event: &Event) -> Result<()> {
        let at = self.event;
        self.event += 1;
        if at.is_multiple_of(PACE_EVENTS) {
            let marks = self.actors.iter().map(|actor| actor.marks).collect();
            self.stretch_ends.rotate_left(1);
            self.stretch_ends[1] = marks;
        }
        match event.what {
            What::Touched { .. } | What::Resident { .. } => return Ok(()),
            What::Mapped { bytes } => {
                self.hold(bytes);
                return Ok(());
            }
            What::ThreadEnd => {
                self.end_actor(event.thread);
                return Ok(());
            }
            _ => {}
        }
        let actor = self.actor(event.thread)?;
        self.keep_pace(actor, at / PACE_EVENTS);
        match event.what {
            What::Take { object, block } => self.take(actor, object, &block)?,
            What::Resize { object, block } => self.resize(actor, object, &block),
            What::Give { object, .. } => self.give(actor, object),
            _ => {}
        }
        if self.plan.is_marked(at) {
            self.mark(actor);
        }
        self.last_actor = actor;
        Ok(())
    }

    /// By whoever did something last, if somebody did.
    fn hold(&mut self, bytes: u64) {
        if let Some(actor) = self.actors.get_mut(self.last_actor) {
            actor.words.extend([HOLD, bytes]);
            self.mapped_max = self.mapped_max.max(bytes);
        }
    }

    /// The actor of a thread, started by whoever did something last.
    fn actor(&mut self, thread: u32) -> Result<usize> {
        if let Some(&actor) = self.actor_of.get(&u64::from(thread)) {
            return Ok(actor);
        }
        let actor = self.actors.len();
        if actor as u64 > NUMBER_MAX {
            bail!("the recording has too many threads");
        }
        if actor > 0 {
            self.actors[self.last_actor].words.push(START | (actor as u64) << NUMBER_SHIFT);
        }
        self.actors.push(Actor::default());
        self.actor_of.insert(u64::from(thread), actor);
        self.running += 1;
        self.running_max = self.running_max.max(self.running);
        Ok(actor)
    }

    fn end_actor(&mut self, thread: u32) {
        let Some(&actor) = self.actor_of.get(&u64::from(thread)) else { return };
        // It may have done something after it was thought to have ended.
        if std::mem::replace(&mut self.actors[actor].has_ended, true) {
            return;
        }
        self.running -= 1;
        let slots = std::mem::take(&mut self.actors[actor].free_slots);
        if !slots.is_empty() {
            self.mark(actor);
        }
        let marks = self.actors[actor].marks;
        self.left_slots.extend(slots.into_iter().map(|slot| (slot, actor, marks)));
    }

    fn mark(&mut self, actor: usize) {
        let actor = &mut self.actors[actor];
        actor.words.push(MARK);
        actor.marks += 1;
    }

    /// Before the next operation, the other one has made as many marks.
    fn wait(&mut self, actor: usize, other: usize, marks: u64) {
        let waiting = &mut self.actors[actor];
        let known = waiting.known.entry(other as u64).or_default();
        if other != actor && *known < marks {
            *known = marks;
            waiting.words.extend([WAIT | (other as u64) << NUMBER_SHIFT, marks]);
        }
    }

    /// All that was done before the last stretch is done before this one begins.
    fn keep_pace(&mut self, actor: usize, stretch: u64) {
        if std::mem::replace(&mut self.actors[actor].stretch, stretch) == stretch {
            return;
        }
        let ends = std::mem::take(&mut self.stretch_ends[0]);
        ends.iter().enumerate().for_each(|(other, &marks)| self.wait(actor, other, marks));
        self.stretch_ends[0] = ends;
    }

    fn slot(&mut self, actor: usize) -> Result<u32> {
        if let Some(slot) = self.actors[actor].free_slots.pop() {
            return Ok(slot);
        }
        if let Some((slot, other, marks)) = self.left_slots.pop() {
            self.wait(actor, other, marks);
            return Ok(slot);
        }
        if u64::from(self.slot_count) > NUMBER_MAX {
            bail!("the recording has too many live blocks at a time");
        }
        self.slot_count += 1;
        Ok(self.slot_count - 1)
    }

    fn take(&mut self, actor: usize, object: u64, block: &Block) -> Result<()> {
        let slot = self.slot(actor)?;
        let touched = self.touches.next(block.size);
        let what = match block.entry {
            _ if block.alignment > 0 => ALIGNED,
            Entry::Calloc => CLEARED,
            _ => TAKE,
        };
        self.put_block(actor, what, slot, block, (0, touched));
        self.keep(object, slot, touched, actor);
        Ok(())
    }

    fn resize(&mut self, actor: usize, object: u64, block: &Block) {
        let touched = self.touches.next(block.size);
        let Some(old) = self.objects.remove(&object) else { return };
        self.wait(actor, old.actor, old.marks);
        self.put_block(actor, RESIZE, old.slot, block, (old.touched, touched));
        self.keep(object, old.slot, touched, actor);
    }

    fn give(&mut self, actor: usize, object: u64) {
        let Some(old) = self.objects.remove(&object) else { return };
        self.wait(actor, old.actor, old.marks);
        self.actors[actor].words.push(GIVE | u64::from(old.slot) << NUMBER_SHIFT);
        self.actors[actor].free_slots.push(old.slot);
    }

    /// The mark behind this event, if there is to be one, is the next.
    fn keep(&mut self, object: u64, slot: u32, touched: u64, actor: usize) {
        let marks = self.actors[actor].marks + 1;
        self.objects.insert(object, Object { slot, touched, actor, marks });
    }

    fn put_block(
        &mut self,
        actor: usize,
        what: u64,
        slot: u32,
        block: &Block,
        (old, touched): (u64, u64),
    ) {
        let is_all = old < PAGE_BYTES && touched == block.size;
        let flag = if is_all { 0 } else { WITH_PAGES };
        let short = block.size.min(SIZE_FOLLOWS);
        let words = &mut self.actors[actor].words;
        words.push(what | flag | u64::from(slot) << NUMBER_SHIFT | short << 32);
        if short == SIZE_FOLLOWS {
            words.push(block.size);
        }
        if what == ALIGNED {
            words.push(block.alignment);
        }
        if !is_all {
            words.push((old / PAGE_BYTES) | (touched.div_ceil(PAGE_BYTES) << 32));
        }
    }

    fn write(self, elsewhere_bytes: u64) -> Result<Prepared> {
        let cannot_write = "cannot write a file for the replay";
        let file = NamedTempFile::with_prefix("loam-replay-").context(cannot_write)?;
        let mut out = BufWriter::new(file.as_file());
        let (threads, slots) = (self.actors.len() as u64, u64::from(self.slot_count));
        let mut put =
            |words: &[u64]| words.iter().try_for_each(|word| out.write_all(&word.to_ne_bytes()));
        put(&[MAGIC, threads, slots, elsewhere_bytes, self.mapped_max]).context(cannot_write)?;
        let mut offset = HEAD_BYTES + threads * STREAM_BYTES;
        for actor in &self.actors {
            let count = actor.words.len() as u64;
            put(&[offset, count]).context(cannot_write)?;
            offset += count * 8;
        }
        for actor in &self.actors {
            put(&actor.words).context(cannot_write)?;
        }
        out.flush().context(cannot_write)?;
        drop(out);
        let own_bytes =
            threads * ACTOR_BYTES + slots * 8 + self.running_max * BUFFER_BYTES + 2 * PAGE_BYTES;
        Ok(Prepared { file, own_kib: own_bytes / 1024 })
    }
}
