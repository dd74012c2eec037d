//! Time, as columns of a picture.

use crate::arguments::PlotMoment;
use crate::numbers;
use crate::recording::event::Event;
use anyhow::{Result, bail};

pub const COLUMNS: usize = 1200;

/// What columns are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    Microseconds(u64),
    /// Of a recording without times.
    Events(u64),
}

impl Span {
    /// The column that a moment is in.
    pub fn column_of(self, moment: PlotMoment) -> Result<usize> {
        let share = match (moment, self) {
            (PlotMoment::Percent(percent), _) => percent / 100.0,
            (PlotMoment::Time(time), Span::Microseconds(whole)) => {
                let seconds = whole as f64 * 1e-6;
                if time.as_secs_f64() > seconds {
                    bail!("the recording ends after {}", numbers::duration(seconds));
                }
                time.as_secs_f64() / seconds
            }
            (PlotMoment::Time(_), Span::Events(_)) => {
                bail!("the recording has no times: say how far into it, as 50%")
            }
        };
        Ok(((share * COLUMNS as f64) as usize).min(COLUMNS - 1))
    }

    /// When a column ends.
    pub fn moment(self, column: usize) -> String {
        let part = |length: u64| length as f64 * (column + 1) as f64 / COLUMNS as f64;
        match self {
            Span::Microseconds(length) => numbers::figure(part(length) * 1e-6, "s"),
            Span::Events(length) => format!("event {:.0}", part(length)),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_moment_is_a_time_or_a_part_of_the_whole() {
        let second = |seconds| PlotMoment::Time(Duration::from_secs(seconds));
        let (timed, counted) = (Span::Microseconds(10_000_000), Span::Events(2400));
        assert_eq!(timed.column_of(second(5)).unwrap(), COLUMNS / 2);
        assert_eq!(timed.column_of(second(10)).unwrap(), COLUMNS - 1);
        assert_eq!(counted.column_of(PlotMoment::Percent(25.0)).unwrap(), COLUMNS / 4);
        assert_eq!((&*timed.moment(119), &*counted.moment(0)), ("1.00 s", "event 2"));
        let refused = timed.column_of(second(11)).unwrap_err().to_string();
        assert_eq!(refused, "the recording ends after 10.0 s");
        assert!(counted.column_of(second(1)).unwrap_err().to_string().contains("no times"));
    }
}
