//! Rules for creating custom types of tasks.
use crate::domain_error::DomainError;
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::model::resources::custom_type;
use crate::storage::ListPosition;
use crate::storage::change_builder::ChangeBuilder;

/// Maximum number of statuses of a custom type.
const STATUSES_MAX: usize = 50;

/// A status of a new custom type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewStatus {
    /// Display name of the status.
    pub name: String,
    /// True if the status means completion.
    pub is_complete: bool,
}

impl NewStatus {
    /// Reads a status from its name and its state, separated by a colon: `Open:incomplete`.
    ///
    /// # Errors
    /// Fails if the state is missing or unknown.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let parts = text.rsplit_once(':');
        let is_complete = match parts.map(|(_, state)| state) {
            Some("complete") => true,
            Some("incomplete") => false,
            _ => {
                let reason = format_args!("{text}: after the name comes :incomplete or :complete");
                return Err(DomainError::field("status", reason));
            }
        };
        let name = parts.map(|(name, _)| name.trim()).unwrap_or_default();
        if name.is_empty() {
            return Err(DomainError::field("status", "It has no name"));
        }
        Ok(Self {
            name: name.to_owned(),
            is_complete,
        })
    }
}

/// Creates a custom type for the tasks of some projects of a workspace.
///
/// # Errors
/// Fails if no status means complete, none means incomplete, or there are too many.
pub fn create_custom_type(
    work: &mut ChangeBuilder<'_>,
    workspace: Gid,
    projects: &[Gid],
    name: &str,
    statuses: &[NewStatus],
) -> Result<Gid, DomainError> {
    let has = |complete: bool| statuses.iter().any(|status| status.is_complete == complete);
    if !has(true) || !has(false) || statuses.len() > STATUSES_MAX {
        let reason = format_args!(
            "A custom type has 2 to {STATUSES_MAX} statuses, one incomplete and one complete at least"
        );
        return Err(DomainError::field("status", reason));
    }
    let mut of = work.draft(Type::CustomType, Some(workspace));
    let mut options = Vec::with_capacity(statuses.len());
    for status in statuses {
        let mut draft = work.draft(Type::CustomTypeStatusOption, Some(workspace));
        draft.set(custom_type::OPTION_NAME, status.name.as_str());
        let state = if status.is_complete {
            "complete"
        } else {
            "incomplete"
        };
        draft.set(custom_type::COMPLETION_STATE, state);
        draft.set(custom_type::OPTION_OF, of.gid);
        work.create(&draft, Some(of.gid));
        options.push(format!("\"{}\"", draft.gid));
    }
    of.set(custom_type::NAME, name);
    of.set(
        custom_type::STATUS_OPTIONS,
        format!("[{}]", options.join(",")),
    );
    let states: Vec<bool> = statuses.iter().map(|status| status.is_complete).collect();
    of.set(custom_type::STATES, serde_json::json!(states).to_string());
    work.create(&of, Some(workspace));
    for project in projects {
        work.require_live(*project);
        work.link(
            of.gid,
            rel::CUSTOM_TYPE_ON,
            *project,
            ListPosition::Rank(0),
            None,
        );
    }
    Ok(of.gid)
}
