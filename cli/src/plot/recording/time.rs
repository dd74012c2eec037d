//! Time, as columns of a picture.

use crate::recording::event::Event;

pub const COLUMNS: usize = 1200;

/// What columns are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    Microseconds(u64),
    /// Of a recording without times.
    Events(u64),
}

/// In which column an event is.
pub struct Clock {
    span: Span,
    event_count: u64,
}

impl Clock {
    pub fn new(span: Span) -> Clock {
        Clock { span, event_count: 0 }
    }

    /// Of the next event; never less than that of the one before.
    pub fn column(&mut self, event: &Event) -> usize {
        let (at, whole) = match self.span {
            Span::Microseconds(whole) => (event.time_us, whole),
            Span::Events(whole) => (self.event_count, whole),
        };
        self.event_count += 1;
        let column = u128::from(at) * COLUMNS as u128 / (u128::from(whole) + 1);
        (column as usize).min(COLUMNS - 1)
    }
}
