//! Out-of-office entries of users.
use super::list_filters::day_filter;
use super::record_family::{
    RecordChange, RecordFamily, RecordRefs, Rows, check_days, workspace_parent,
};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::Operation;
use crate::operation::inputs::{Input, Named, RecordUpdate, path};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{self, ooo_entry};
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::rules::vacation_rules;
use workgraph_core::storage::{LinkSelector, NodeRef, ReadQuery, RowFilter};

/// Operations on out-of-office entries: a part of [`TABLES`](super::TABLES).
pub static OOO_ENTRIES: &[Operation] = &[
    Lists::<OooEntries>::list("getOooEntries", "/ooo_entries")
        .filtered_by(&[&START_DATE, &END_DATE])
        .scope("ooo_entries:read"),
    Rows::<OooEntries>::create("createOooEntry", "/ooo_entries").scope("ooo_entries:write"),
    Rows::<OooEntries>::get("getOooEntry", RECORD).scope("ooo_entries:read"),
    Rows::<OooEntries>::update("updateOooEntry", RECORD).scope("ooo_entries:write"),
    Rows::<OooEntries>::delete("deleteOooEntry", RECORD).scope("ooo_entries:delete"),
];

const RECORD: &str = "/ooo_entries/{ooo_entry_gid}";

/// The family of out-of-office entries; it is also their list.
struct OooEntries;

impl RecordFamily for OooEntries {
    const TYPE: Type = Type::OooEntry;
    const PATH: &'static Input<Named<Gid>> = &path::OOO_ENTRY;
    const PARENT: &'static Input<Named<Gid>> =
        &workspace_parent("The workspace in which the user is out of office.");
    const PARENT_LEVEL: Level = Level::Viewer;
    const NEW: &'static Input<CheckedInputs> = &Input::new_record(
        Self::TYPE,
        &["user", "start_date", "end_date"],
        "The fields of the new entry.",
    );
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the entry to change.");

    fn needs(
        call: &RequestContext<'_>,
        at: &RecordRefs,
        fields: Option<&CheckedInputs>,
        query: ReadQuery,
    ) -> ReadQuery {
        let user = match fields.and_then(|fields| fields.get("user")) {
            Some(InputValue::Ref(user)) => call.parse_user_ref("user", user).ok(),
            _ => None,
        };
        match (user, &at.parent) {
            (Some(user), NodeRef::Gid(workspace)) => {
                query.node(user.of(LinkSelector::Aux(rel::WORKSPACES, *workspace)))
            }
            _ => query,
        }
    }

    fn complete(change: &mut RecordChange<'_>, _fields: &CheckedInputs) -> Result<(), DomainError> {
        check_days(&change.draft)?;
        if change.draft.is_new() {
            let me = change.call.user_gid();
            let (user, workspace) = (change.draft.get(ooo_entry::USER), change.parent()?.gid);
            if user != Some(me) && change.view.level(workspace) < Level::Admin {
                return Err(DomainError::forbidden(
                    "You do not have permission to change the out-of-office entries of this user.",
                ));
            }
            let seat =
                user.and_then(|user| change.view.link(user, rel::WORKSPACES, workspace)?.aux);
            change.draft.set(ooo_entry::MEMBERSHIP, seat);
            change.draft.set(ooo_entry::CREATED_BY, me);
        }
        let days = (
            change.draft.get(resources::START_DATE),
            change.draft.get(resources::END_DATE),
        );
        keep_vacation_dates(change, days)
    }

    fn remove(change: &mut RecordChange<'_>) -> Result<(), DomainError> {
        keep_vacation_dates(change, (None, None))
    }
}

/// Updates the vacation dates of the user's membership.
fn keep_vacation_dates(
    change: &mut RecordChange<'_>,
    days: (Option<Date>, Option<Date>),
) -> Result<(), DomainError> {
    let seat = change.draft.get(ooo_entry::MEMBERSHIP);
    let seat = seat.and_then(|seat| change.view.node(seat));
    let Some(seat) = seat else {
        // The user has left the workspace.
        return Ok(());
    };
    vacation_rules::keep_vacation_dates(&mut change.work, seat, change.draft.gid, days)
}

impl RecordList for OooEntries {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[
        ListAnchor::of(
            ooo_entry::USER,
            "user",
            &[Type::User],
            "The user whose entries are listed.",
        )
        .required(),
        ListAnchor::workspace("The workspace of the entries.").required(),
    ];
}

const START_DATE: Input<RowFilter> = day_filter!(
    "start_date",
    DayFrom,
    resources::END_DATE,
    "Only entries that end on this day or later."
);
const END_DATE: Input<RowFilter> = day_filter!(
    "end_date",
    DayUntil,
    resources::START_DATE,
    "Only entries that begin on this day or earlier."
);

#[cfg(test)]
mod tests;
