//! What is known of glibc's malloc besides where its memory is: which it was, what a trim would give
//! back, and what the same blocks would take on loam.

use crate::account::sums::Account;
use crate::heap::figures::{Allocator, Class, Counted, Figures, Kind};
use crate::heap::on_loam;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Malloc {
    pub name: String,
    #[serde(flatten)]
    pub counted: Counted,
    pub on_loam: OnLoam,
}

/// What the process would have in memory on loam, once loam has given back what it does.
#[derive(Serialize, Deserialize)]
pub struct OnLoam {
    pub low_bytes: u64,
    pub high_bytes: u64,
    pub reason: String,
}

impl Malloc {
    pub fn of(account: &Account, figures: &Figures) -> Option<Malloc> {
        let Allocator::Glibc(glibc) = &figures.allocator else { return None };
        Some(Malloc {
            name: figures.allocator.name().to_owned(),
            counted: glibc.counted.clone(),
            on_loam: OnLoam::of(account, figures, glibc.on_loam),
        })
    }
}

impl OnLoam {
    fn of(account: &Account, figures: &Figures, blocks: on_loam::Range) -> OnLoam {
        let range = on_loam::process(&on_loam::Here {
            blocks,
            others_bytes: account.others.sum(),
            beside_bytes: account.heap.of(Kind::Beside),
            free_bytes: [Kind::Idle, Kind::Cached, Kind::Depots, Kind::Dirty]
                .iter()
                .map(|kind| account.heap.of(*kind))
                .sum(),
            given_back_bytes: account
                .peak_bytes
                .map_or(0, |peak| peak.saturating_sub(account.resident_bytes)),
            size_count: figures.classes.iter().filter(|class| is_live(class)).count() as u64,
        });
        OnLoam {
            low_bytes: range.low_bytes,
            high_bytes: range.high_bytes,
            reason: "the low end has the live blocks side by side in loam's sizes, each as small as \
                     it may have been asked for; the high end has as much free beside them as here, \
                     and full caches; whole pages that are free have gone back, as they do while the \
                     program goes on, or with background=on"
                .to_owned(),
        }
    }
}

fn is_live(class: &Class) -> bool {
    class.live_count != 0
}
