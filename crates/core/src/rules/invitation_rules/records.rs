//! Records that name the invited user of an answered invitation, such as rates, allocations and days out of office. The person
//! replaces that user; without an heir, or if the person already has a record of that kind, the record is removed.
use super::{Invitation, OBJECTS};
use crate::model::decimal::Decimal;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{FieldDef, FieldSource, Relation, Type, ValueType, Writability, rel};
use crate::model::resources::{ALL, END_DATE, START_DATE, capacity, ooo_entry, timesheet};
use crate::rules::budget_rules::{self, CountedMinutes, ProjectTotals};
use crate::rules::timesheet_rules::WeekRef;
use crate::rules::vacation_rules::{self, EntryDays};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{LinkSelector, NodeRef, ReadQuery, ReadView, alias};
use std::collections::BTreeMap;

/// Maximum number of records of one kind that are moved in one commit.
const RECORDS: usize = OBJECTS / 2;

/// Field that names a user. The user has a list of the records with that field.
#[derive(Clone, Copy)]
pub(super) struct NamingField {
    pub(super) ty: Type,
    pub(super) def: &'static FieldDef,
    pub(super) rel: Relation,
    key: &'static str,
}

/// Returns the fields of all types that let a request name any user of the workspace; that user then lists the records.
/// Fields that the server sets name the user of the request, who is never an invited user.
pub(super) fn naming_fields() -> impl Iterator<Item = NamingField> {
    let fields = ALL
        .iter()
        .flat_map(|of| of.fields.iter().map(|def| (of.ty, def)));
    fields.filter_map(|(ty, def)| {
        let (ValueType::One([Type::User, ..]), FieldSource::Inline(key)) =
            (def.value_type, def.source)
        else {
            return None;
        };
        let rel = def.listed_by.filter(|_| def.write != Writability::Never)?;
        Some(NamingField { ty, def, rel, key })
    })
}

/// Returns the read query for some records that name the invited user.
#[must_use]
pub fn listed(it: &Invitation) -> ReadQuery {
    let want = ReadQuery::of(it.reader()).node(it.invited);
    naming_fields().fold(want, |want, field| {
        want.incoming_edges(it.invited, field.rel, RECORDS)
    })
}

/// Returns the read query for the full records that [`listed`] found, and for the data that depends on them.
#[must_use]
pub fn listed_in_full(it: &Invitation, found: &ReadView) -> ReadQuery {
    let mut want = ReadQuery::of(it.reader());
    for field in naming_fields() {
        for edge in found.sources(it.invited, field.rel) {
            want = want.node(edge.src);
            want = match field.ty {
                Type::Rate | Type::Allocation => {
                    let parent = LinkSelector::Key(capacity::PARENT.def.name);
                    budget_rules::needs(&NodeRef::Gid(edge.src).of(parent), want)
                }
                Type::TimesheetApprovalStatus => want.edges(edge.src, rel::WEEK_IN_LIST),
                _ => want,
            };
        }
    }
    want
}

/// Returns the read query for the person's own records of the same kinds as the records in a view of [`listed_in_full`].
#[must_use]
pub fn kept_by_person(it: &Invitation, full: &ReadView) -> ReadQuery {
    let seat = LinkSelector::Aux(rel::WORKSPACES, it.workspace);
    let mut want = ReadQuery::of(it.reader()).node(NodeRef::Gid(it.person).of(seat));
    want = want.edge(it.person, rel::WORKSPACES, it.workspace);
    for (record, _) in records(full) {
        want = match record.ty {
            Type::Rate => want.node(rate_of(it.person, record)),
            Type::TimesheetApprovalStatus => match week_of(it, record) {
                Some(week) => week.needs(want),
                None => want,
            },
            _ => want,
        };
    }
    want
}

/// Returns the records in a view of [`listed_in_full`], each with its field.
fn records(full: &ReadView) -> impl Iterator<Item = (&Node, NamingField)> {
    let named = full.resolved_refs.iter().filter_map(|(name, gid)| {
        let node = full.node((*gid)?)?;
        matches!(name, NodeRef::Gid(_)).then_some(node)
    });
    named.filter_map(|node| Some((node, naming_fields().find(|field| field.ty == node.ty)?)))
}

/// Returns a reference to the rate that a user has on the project of another rate.
fn rate_of(user: Gid, rate: &Node) -> NodeRef {
    let project = rate.get(capacity::RATE_PARENT).unwrap_or(rate.gid);
    NodeRef::Alias(alias::rate(project, user))
}

/// Returns the person's week with the same days as another week.
fn week_of(it: &Invitation, week: &Node) -> Option<WeekRef> {
    let monday = week.get(timesheet::START_DATE)?;
    WeekRef::of(it.person.into(), it.workspace.into(), monday)
}

/// A change of the totals of a project.
enum TotalsChange {
    Minutes(Option<CountedMinutes>, Option<CountedMinutes>),
    Rate(Gid, Option<Decimal>),
}

/// Combined changes that several records make to the same nodes.
#[derive(Default)]
struct Sums {
    totals: BTreeMap<Gid, Vec<TotalsChange>>,
    vacations: Vec<(Gid, EntryDays)>,
}

/// Assigns the records in a view of [`listed_in_full`] to the heir, or removes records that the heir cannot take. Returns
/// true if there were any records. `kept` is the view of [`kept_by_person`].
pub fn pass_on(
    work: &mut ChangeBuilder<'_>,
    it: &Invitation,
    heir: Option<Gid>,
    (full, kept): (&ReadView, &ReadView),
) -> bool {
    let (mut any, mut sums) = (false, Sums::default());
    for (record, field) in records(full) {
        let mut draft = Draft::edit(record);
        if draft.linked(field.def.name) != Some(it.invited) {
            continue;
        }
        any = true;
        let heir = heir.filter(|_| !is_taken(it, record, kept));
        match heir {
            Some(heir) => draft.set_raw(field.key, "null", format!("\"{heir}\"")),
            None => {
                work.unlink(record.gid, field.rel, it.invited);
                work.trash(record.gid, record.ty);
            }
        }
        follow_up(
            work,
            it,
            heir,
            (record, &mut draft),
            (full, kept),
            &mut sums,
        );
        if heir.is_some() {
            work.save(&draft);
        }
    }
    write_sums(work, sums, full, kept_seat(it, kept));
    any
}

/// Returns true if a user can have only one record of this kind, and the person already has one.
fn is_taken(it: &Invitation, record: &Node, kept: &ReadView) -> bool {
    match record.ty {
        Type::Rate => kept.resolve(&rate_of(it.person, record)).is_some(),
        Type::TimesheetApprovalStatus => {
            let week = week_of(it, record).and_then(|week| week.read(kept));
            week.is_some_and(|week| week.gid != record.gid)
        }
        _ => false,
    }
}

/// Returns the person's membership of the workspace.
fn kept_seat<'v>(it: &Invitation, kept: &'v ReadView) -> Option<&'v Node> {
    let edge = kept.link(it.person, rel::WORKSPACES, it.workspace)?;
    kept.node(edge.aux?)
}

/// Applies the consequences of a record that is assigned to the heir or removed.
fn follow_up(
    work: &mut ChangeBuilder<'_>,
    it: &Invitation,
    heir: Option<Gid>,
    (record, draft): (&Node, &mut Draft),
    (full, kept): (&ReadView, &ReadView),
    sums: &mut Sums,
) {
    match record.ty {
        Type::Allocation => {
            let before = budget_rules::planned(&Draft::edit(record));
            let now = heir.and_then(|_| budget_rules::planned(draft));
            if let Some(project) = record.get(capacity::PARENT) {
                let change = TotalsChange::Minutes(before, now);
                sums.totals.entry(project).or_default().push(change);
            }
        }
        Type::Rate => {
            let Some(project) = record.get(capacity::RATE_PARENT) else {
                return;
            };
            let unique = alias::rate(project, it.invited);
            work.changes.remove_aliases.push((unique, record.gid));
            let changes = sums.totals.entry(project).or_default();
            changes.push(TotalsChange::Rate(it.invited, None));
            if let Some(heir) = heir {
                let unique = alias::rate(project, heir);
                work.changes.add_aliases.push((unique, record.gid));
                changes.push(TotalsChange::Rate(heir, budget_rules::hourly_rate(draft)));
            }
        }
        Type::OooEntry if heir.is_some() => {
            if let Some(seat) = kept_seat(it, kept)
                && draft.get(ooo_entry::MEMBERSHIP) != Some(seat.gid)
            {
                draft.set(ooo_entry::MEMBERSHIP, seat.gid);
                let days = (draft.get(START_DATE), draft.get(END_DATE));
                sums.vacations.push((record.gid, days));
            }
        }
        Type::TimesheetApprovalStatus => {
            let list = it.list(it.person);
            let lists = full.links(record.gid, rel::WEEK_IN_LIST);
            if kept
                .resolve(&list)
                .is_some_and(|list| lists.iter().any(|edge| edge.dst == list))
            {
                return;
            }
            for edge in lists {
                work.unlink(record.gid, rel::WEEK_IN_LIST, edge.dst);
            }
            if let (Some(week), true) = (week_of(it, record), heir.is_some()) {
                week.enlist(work, kept, record.gid);
            }
        }
        _ => {}
    }
}

/// Writes the totals of projects and the vacation dates of the person's membership.
fn write_sums(work: &mut ChangeBuilder<'_>, sums: Sums, full: &ReadView, seat: Option<&Node>) {
    for (project, changes) in sums.totals {
        let Some(project) = full.node(project) else {
            // The totals were removed with the project.
            continue;
        };
        let mut totals = ProjectTotals::read(work, full, project);
        for change in changes {
            match change {
                TotalsChange::Minutes(before, now) => totals.replace_minutes(before, now),
                TotalsChange::Rate(user, rate) => totals.set_rate(user, rate),
            }
        }
        totals.save(work, full);
    }
    if let (Some(seat), false) = (seat, sums.vacations.is_empty()) {
        vacation_rules::add_vacations(work, seat, &sums.vacations);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FOLLOWED, HELD, RESPONSIBLE};
    use super::*;
    use crate::model::registry::Direction;

    /// Fields that are not moved: those that name the user of the request, who is never an invited user, and fields of the
    /// past and of recipes, which are read with the heir in place of an invited user. Values of people fields have their own
    /// rules.
    const NOT_MOVED: &[(Type, &str)] = &[
        (Type::Project, "completed_by"),
        (Type::Task, "created_by"),
        (Type::Task, "assigned_by"),
        (Type::Task, "completed_by"),
        (Type::Story, "created_by"),
        (Type::Story, "assignee"),
        (Type::Story, "follower"),
        (Type::Story, "old_people_value"),
        (Type::Story, "new_people_value"),
        (Type::CustomField, "created_by"),
        (Type::CustomField, "people_value"),
        (Type::Event, "user"),
        (Type::Event, "resource"),
        (Type::Event, "parent"),
        (Type::ProjectTemplate, "owner"),
        (Type::TaskTemplate, "created_by"),
        (Type::TemplateTask, "assignee"),
        (Type::TemplateTask, "created_by"),
        (Type::StatusUpdate, "author"),
        (Type::StatusUpdate, "created_by"),
        (Type::Portfolio, "created_by"),
        (Type::Portfolio, "owner"),
        (Type::ProjectStatus, "author"),
        (Type::ProjectStatus, "created_by"),
        (Type::TimeTrackingEntry, "created_by"),
        (Type::OooEntry, "created_by"),
        (Type::Allocation, "created_by"),
        (Type::Rate, "created_by"),
        (Type::AccessRequest, "requester"),
        (Type::Reaction, "user"),
    ];

    /// Fields of the membership and the task list, which the person gets with the answer.
    const OF_THE_SEAT: &[(Type, &str)] = &[
        (Type::WorkspaceMembership, "user"),
        (Type::UserTaskList, "owner"),
    ];

    fn names_users(def: &FieldDef) -> bool {
        match def.value_type {
            ValueType::One(types) | ValueType::Many(types) => types.contains(&Type::User),
            _ => false,
        }
    }

    fn links_by(def: &FieldDef, rel: Relation) -> bool {
        matches!(def.source, FieldSource::Edges(of, Direction::Out) if of == rel)
    }

    fn is_moved(ty: Type, def: &FieldDef) -> bool {
        let mut memberships = HELD.iter();
        let with_membership = memberships.any(|(rel, field)| {
            let same_key = match (def.source, field.def.source) {
                (FieldSource::Inline(one), FieldSource::Inline(other)) => one == other,
                _ => false,
            };
            links_by(def, *rel)
                || same_key
                    && crate::model::resources::resource(ty)
                        .name
                        .ends_with("_membership")
        });
        with_membership
            || FOLLOWED.iter().any(|rel| links_by(def, *rel))
            || RESPONSIBLE
                .iter()
                .any(|(of, field)| *of == ty && field.def.name == def.name)
            || naming_fields().any(|field| field.ty == ty && field.def.name == def.name)
            || OF_THE_SEAT.contains(&(ty, def.name))
    }

    /// S901. A new field must either be moved or be listed here, with those that only name the user of a request.
    #[test]
    fn every_field_that_names_a_user_is_moved_to_the_person_or_needs_not() {
        let mut left: Vec<(Type, &str)> = Vec::new();
        for of in ALL {
            let named = of
                .fields
                .iter()
                .filter(|def| names_users(def) && !is_moved(of.ty, def));
            left.extend(named.map(|def| (of.ty, def.name)));
        }
        assert_eq!(left, NOT_MOVED);
    }
}
