//! A step of a stack.

use crate::profile::symbols::Frame;
use crate::profile::written::Place;

/// Functions at one place: one, and those that were compiled into it.
pub struct Call {
    /// `None` if it is in no code that can be looked at.
    pub place: Option<Place>,
    /// The innermost first.
    pub frames: Vec<Frame>,
}
