//! Templates: what they keep besides their tasks, and what they ask for in turn.
use super::dates::{Anchor, Shift, Span};
use crate::fault::Fault;
use crate::gid::Gid;
use crate::node::{Node, quoted};
use crate::resources::project_template as template;
use crate::time::Date;
use serde::{Deserialize, Serialize};

/// The gid of the only date that templates ask for: when the project starts.
pub const START: &str = "1";
/// The most roles of a template.
const ROLES_MAX: usize = 200;

/// Who is assigned to tasks of a template: the role's gid is the place in the list, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// The user.
    pub user: Gid,
    /// Their name when the template was made, which is the name of the role.
    pub name: String,
}

/// What a template keeps besides its public record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frozen {
    /// The first and the last day of its tasks.
    pub span: Span,
    /// The roles.
    pub roles: Vec<Role>,
}

impl Frozen {
    /// What a template keeps; nothing, if it was never given anything.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn of(node: &Node) -> Result<Self, Fault> {
        let kept = node
            .raw("frozen")
            .map_or(Ok(Self::default()), serde_json::from_str);
        kept.map_err(|e| Fault::invalid(format!("what the template keeps cannot be read: {e}")))
    }

    /// Adds a role for a user, unless there is one.
    pub(super) fn add(&mut self, user: &Node) {
        let known = self.roles.iter().any(|r| r.user == user.gid);
        if !known && self.roles.len() < ROLES_MAX {
            self.roles.push(Role {
                user: user.gid,
                name: user.title(),
            });
        }
    }

    /// The public list of dates: one, if there are any days.
    #[must_use]
    pub fn requested_dates(&self) -> String {
        if self.span.first.is_none() {
            return "[]".to_owned();
        }
        format!(
            "[{{\"gid\":\"{START}\",\"resource_type\":\"date_variable\",\"name\":\"Start Date\",\"description\":\"The day the project starts.\"}}]"
        )
    }

    /// The public list of roles.
    #[must_use]
    pub fn requested_roles(&self) -> String {
        let items = self.roles.iter().enumerate().map(|(at, role)| {
            format!(
                "{{\"gid\":\"{}\",\"resource_type\":\"template_role\",\"name\":{}}}",
                at + 1,
                quoted(&role.name)
            )
        });
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    }

    /// The user whose tasks a role takes over.
    #[must_use]
    pub fn role(&self, gid: &str) -> Option<Gid> {
        let at: usize = gid.parse().ok()?;
        self.roles.get(at.checked_sub(1)?).map(|r| r.user)
    }

    /// How the days move for a project that starts on a day; today if none was given.
    ///
    /// # Errors
    /// When no day was given and one must be.
    pub fn shift(&self, given: Option<Date>, today: Date, strict: bool) -> Result<Shift, Fault> {
        if self.span.first.is_none() {
            return Ok(Shift::default());
        }
        if given.is_none() && strict {
            return Err(Fault::unprocessable(format!(
                "requested_dates: {START}: Missing input"
            )));
        }
        let start = Anchor::Start(given.unwrap_or(today).days());
        Ok(Shift {
            days: self.span.shift_to(start),
            skip_weekends: false,
        })
    }

    /// Writes the lists into the template.
    pub(super) fn write(&self, draft: &mut crate::draft::Draft) -> Result<(), Fault> {
        let raw = serde_json::to_string(self).map_err(|e| Fault::invalid(e.to_string()))?;
        draft.set(template::FROZEN, raw);
        draft.set(template::REQUESTED_DATES, self.requested_dates());
        draft.set(template::REQUESTED_ROLES, self.requested_roles());
        Ok(())
    }
}
