//! Rules of the domain that more than one operation needs.
pub mod auto_id_rules;
pub mod budget_rules;
pub mod custom_field_rules;
pub mod custom_type_rules;
pub mod goal_rules;
pub mod invitation_rules;
pub mod membership_roles;
pub mod membership_rules;
pub mod portfolio_rules;
pub mod rich_texts;
pub mod rule_trigger_rules;
pub mod sharing;
pub mod status_rules;
pub mod story_rules;
pub mod time_tracking_rules;
pub mod timesheet_rules;
pub mod vacation_rules;
