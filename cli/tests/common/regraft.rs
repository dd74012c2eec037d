//! An archive is read, surveyed and planned; what can be grafted is rewritten, and must then be read
//! again with the same members. For the crate that has the command's module `graft`.

use crate::graft::plan::Fate;
use crate::graft::survey::Content;
use crate::graft::{archive, plan, rewrite, survey};
use std::collections::BTreeSet;

/// What a stand-in for loam's object defines.
const FAMILY: [&str; 5] = ["malloc", "free", "calloc", "realloc", "__libc_malloc"];

pub fn check(data: &[u8]) {
    let Ok(members) = archive::read(data) else { return };
    let contents = survey::survey(&members);
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    if plan::examine(&contents, &names).is_err() {
        return;
    }
    let family = BTreeSet::from(FAMILY);
    let Ok(fates) = plan::plan(&contents, &names, &family) else { return };
    let replaceable = plan::replaceable(&contents, &fates, &family);
    let is_object = |content: &Content| matches!(content, Content::Object(..));
    let Some(object) = contents.iter().position(is_object) else { return };
    let rewritten = rewrite::rewrite(&members, &fates, members[object].data, &replaceable);
    let Ok(bytes) = rewritten else { return };
    let again = archive::read(&bytes).expect("the result can be read");
    let stays: Vec<&str> = names
        .iter()
        .zip(&fates)
        .filter(|(_, fate)| **fate != Fate::Drop)
        .map(|(name, _)| *name)
        .collect();
    let found: Vec<&str> = again.iter().skip(1).map(|member| member.name.as_str()).collect();
    assert_eq!(found, stays, "the members that stay, in their order");
}
