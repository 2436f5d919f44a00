//! Data of project templates besides their tasks: roles and days, and the values that a client must give for them.
use super::date_shift::{DateAnchor, DateShift, DateSpan};
use crate::domain_error::DomainError;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::resources::project_template;
use crate::model::template_roles::{self, TemplateRole};
use crate::model::time::Date;
use serde::{Deserialize, Serialize};

/// Gid of the only date that templates ask for: the start of the project.
pub const START: &str = "1";
/// Maximum number of roles of a template.
const ROLES_MAX: usize = 200;

/// Data that a template keeps beside its public record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateData {
    /// First and last day of the template's tasks.
    pub span: DateSpan,
    /// Roles, in the order of their gids.
    pub roles: Vec<TemplateRole>,
}

impl TemplateData {
    /// Reads the data of a template; none if it has no data.
    ///
    /// # Errors
    /// Fails if the stored data cannot be read.
    pub fn of(node: &Node) -> Result<Self, DomainError> {
        let kept = node
            .raw("frozen")
            .map_or(Ok(Self::default()), serde_json::from_str);
        kept.map_err(|e| {
            DomainError::invalid(format!("what the template keeps cannot be read: {e}"))
        })
    }

    /// Adds a role for a user, unless the user has one or the list is full.
    pub(super) fn add(&mut self, user: &Node) {
        let known = self.roles.iter().any(|r| r.user == user.gid);
        if !known && self.roles.len() < ROLES_MAX {
            self.roles.push(TemplateRole {
                user: user.gid,
                name: user.title(),
            });
        }
    }

    /// Returns the public list of dates: one date if the tasks have any days.
    #[must_use]
    pub fn requested_dates(&self) -> String {
        if self.span.first.is_none() {
            return "[]".to_owned();
        }
        format!(
            "[{{\"gid\":\"{START}\",\"resource_type\":\"date_variable\",\"name\":\"Start Date\",\"description\":\"The day the project starts.\"}}]"
        )
    }

    /// Returns the public list of roles, for readers who see all users.
    #[must_use]
    pub fn requested_roles(&self) -> String {
        template_roles::public_list(&self.roles, &|_| true)
    }

    /// Returns the user whose tasks the role with this gid takes over.
    #[must_use]
    pub fn role(&self, gid: &str) -> Option<Gid> {
        let at: usize = gid.parse().ok()?;
        self.roles.get(at.checked_sub(1)?).map(|r| r.user)
    }

    /// Returns the shift of dates for a project that starts on the given day, or today if none is
    /// given.
    ///
    /// # Errors
    /// Fails if no day was given and `strict` requires one.
    pub fn shift(
        &self,
        given: Option<Date>,
        today: Date,
        strict: bool,
    ) -> Result<DateShift, DomainError> {
        if self.span.first.is_none() {
            return Ok(DateShift::default());
        }
        if given.is_none() && strict {
            return Err(DomainError::unprocessable(format!(
                "requested_dates: {START}: Missing input"
            )));
        }
        let start = DateAnchor::Start(given.unwrap_or(today).days());
        Ok(DateShift {
            days: self.span.shift_to(start),
            skip_weekends: false,
        })
    }

    /// Writes the data and its public lists into the template.
    pub(super) fn write(&self, draft: &mut crate::model::draft::Draft) -> Result<(), DomainError> {
        let raw = serde_json::to_string(self).map_err(|e| DomainError::invalid(e.to_string()))?;
        draft.set(project_template::TEMPLATE_DATA, raw);
        draft.set(project_template::REQUESTED_DATES, self.requested_dates());
        draft.set(project_template::REQUESTED_ROLES, self.requested_roles());
        Ok(())
    }
}
