//! Automatic ids: fields that number the tasks of their projects.
//!
//! A number is the rank of an edge from the task to the field, given in the commit that puts the task
//! into a project of the field: the next one, without gaps, however many tasks are put there at once.
//! The edge stays, so a number is never given again. Which fields number the tasks of a project stands
//! in the project itself: where there are none, nothing is read for it.
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Place, Ref, alias};
use crate::index::Key;
use crate::node::{Node, decode};
use crate::registry::rel;
use crate::values;
use crate::work::Work;

/// Longest prefix, in characters.
pub const PREFIX_MAX: usize = 10;

/// The fields that number the tasks of a project.
pub fn numbering(project: &Node) -> impl Iterator<Item = Gid> {
    project
        .raw("numbered_by")
        .into_iter()
        .flat_map(values::gids)
}

/// The prefix of a field that numbers tasks.
#[must_use]
pub fn prefix(field: &Node) -> Option<String> {
    let raw = field.raw("id_prefix").filter(|raw| *raw != "null")?;
    Some(decode(raw).into_owned())
}

/// The key by which search finds a number: that of the id as it is shown.
#[must_use]
pub fn key(prefix: &str, number: i64) -> Key {
    Key::text(&format!("{prefix}-{number}"))
}

/// The number that has a key.
#[must_use]
pub fn number_of(prefix: &str, of: &Key) -> Option<i64> {
    let Key::Text(text) = of else {
        return None;
    };
    let (_, digits) = text.rsplit_once('-')?;
    let number = digits.parse().ok()?;
    (key(prefix, number) == *of).then_some(number)
}

/// Gives a task that is put into a project its numbers, unless it has them.
pub fn number(work: &mut Work<'_>, project: Option<&Node>, task: Gid) {
    for field in project.into_iter().flat_map(numbering) {
        work.link(task, rel::NUMBERED, field, Place::Next, None);
    }
}

/// The project's list of such fields with another one, or without one.
#[must_use]
pub fn changed(project: &Node, field: Gid, there: bool) -> String {
    let rest = numbering(project).filter(|f| *f != field);
    let all: Vec<String> = rest
        .chain(there.then_some(field))
        .map(|f| format!("\"{f}\""))
        .collect();
    format!("[{}]", all.join(","))
}

/// Checks a prefix: letters and digits, a letter first.
///
/// # Errors
/// Says what it must be.
pub fn checked(prefix: &str) -> Result<(), Fault> {
    let letters = prefix.bytes().all(|b| b.is_ascii_alphanumeric());
    let first = prefix.starts_with(|c: char| c.is_ascii_alphabetic());
    if letters && first && prefix.len() <= PREFIX_MAX {
        return Ok(());
    }
    Err(Fault::field(
        "id_prefix",
        format_args!(
            "Must be 1 to {PREFIX_MAX} letters and digits that begin with a letter, not: {}",
            crate::check::clip(prefix)
        ),
    ))
}

/// The task with an id such as `ENG-7` in a workspace, if the text is an id at all.
#[must_use]
pub fn task(workspace: Gid, id: &str) -> Option<Ref> {
    let (prefix, number) = id.rsplit_once('-')?;
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    let number = number.parse().ok().filter(|_| plain)?;
    checked(prefix).ok()?;
    let field = Ref::Alias(alias::id_prefix(workspace, prefix));
    Some(field.of(crate::graph::By::Rank(rel::NUMBERED, number)))
}
