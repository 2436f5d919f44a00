//! Vacation dates of a workspace membership, computed from the out-of-office entries of its user.
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::resources::membership::{self, VACATIONS, Vacation};
use crate::model::resources::{END_DATE, START_DATE, ooo_entry};
use crate::model::time::Date;
use crate::storage::change_builder::ChangeBuilder;

/// The first and the last day of an entry.
pub type EntryDays = (Option<Date>, Option<Date>);

/// Maximum number of entries of a user that are not over.
const ENTRIES_MAX: usize = 200;

/// Writes the days of an entry into the membership of its user, or removes them if the entry no longer has days. Entries
/// that are over are left out.
///
/// # Errors
/// Fails if the user has too many entries that are not over.
pub fn keep_vacation_dates(
    work: &mut ChangeBuilder<'_>,
    seat: &Node,
    entry: Gid,
    days: EntryDays,
) -> Result<(), DomainError> {
    let today = Date::of(work.now);
    let mut vacations = membership::vacations(seat);
    vacations.retain(|vacation| vacation.entry != entry && vacation.end_on >= today);
    if let (Some(start_on), Some(end_on)) = days
        && end_on >= today
    {
        vacations.push(Vacation {
            start_on,
            end_on,
            entry,
        });
    }
    if vacations.len() > ENTRIES_MAX {
        let reason = format_args!("The user has {ENTRIES_MAX} out-of-office entries already");
        return Err(DomainError::field("user", reason));
    }
    write(work, seat, vacations);
    Ok(())
}

/// Adds the days of entries from another membership. Entries that are over are left out, and so are entries beyond the
/// maximum of a membership.
pub fn add_vacations(work: &mut ChangeBuilder<'_>, seat: &Node, entries: &[(Gid, EntryDays)]) {
    let today = Date::of(work.now);
    let mut vacations = membership::vacations(seat);
    vacations.retain(|vacation| vacation.end_on >= today);
    for (entry, days) in entries {
        if let (Some(start_on), Some(end_on)) = *days
            && end_on >= today
            && vacations.len() < ENTRIES_MAX
        {
            let entry = *entry;
            vacations.push(Vacation {
                start_on,
                end_on,
                entry,
            });
        }
    }
    write(work, seat, vacations);
}

/// Makes out-of-office entries part of a new membership of their user.
pub(super) fn take_entries(work: &mut ChangeBuilder<'_>, seat: &mut Draft, entries: &[&Node]) {
    let today = Date::of(work.now);
    let mut vacations = Vec::new();
    for entry in entries {
        let mut draft = Draft::edit(entry);
        draft.set(ooo_entry::MEMBERSHIP, seat.gid);
        work.save(&draft);
        if let (Some(start_on), Some(end_on)) = (entry.get(START_DATE), entry.get(END_DATE))
            && end_on >= today
            && vacations.len() < ENTRIES_MAX
        {
            vacations.push(Vacation {
                start_on,
                end_on,
                entry: entry.gid,
            });
        }
    }
    vacations.sort_unstable();
    set_vacations(seat, &vacations);
}

fn write(work: &mut ChangeBuilder<'_>, seat: &Node, mut vacations: Vec<Vacation>) {
    vacations.sort_unstable();
    let mut draft = Draft::edit(seat);
    set_vacations(&mut draft, &vacations);
    work.save(&draft);
}

/// Sets the out-of-office entries of a membership.
fn set_vacations(seat: &mut Draft, vacations: &[Vacation]) {
    let items = vacations.iter().map(|vacation| {
        let Vacation {
            start_on,
            end_on,
            entry,
        } = vacation;
        format!(r#"["{start_on}","{end_on}","{entry}"]"#)
    });
    let items: Vec<String> = items.collect();
    match items.is_empty() {
        true => seat.clear(VACATIONS),
        false => seat.set(VACATIONS, format!("[{}]", items.join(","))),
    }
}
