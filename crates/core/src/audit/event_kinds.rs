//! Kinds of audit events, as one table.
//!
//! Most names are those of the public catalogue. They include names of events that this server never writes, so that a filter on
//! one of them finds nothing instead of being an error.

/// Kind of an audit event: its stored number, its name and its category.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuditEventKind {
    /// Stored number of the kind; it must never be reused for another.
    pub code: u8,
    /// Name of the kind in the contract, as in `event_type`.
    pub name: &'static str,
    /// Category of the kind.
    pub category: AuditCategory,
}

/// Category of audit event kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditCategory {
    /// Signing in and out.
    Logins,
    /// Changes of users and of their memberships.
    UserUpdates,
    /// Changes of the settings of a workspace.
    AdminSettings,
    /// Changes of administrators.
    Roles,
    /// Data that leaves the service.
    ContentExport,
    /// Changes of who can see an object.
    AccessControl,
    /// Apps, tokens and service accounts.
    Apps,
    /// Creation of objects.
    Creation,
    /// Deletion of objects.
    Deletion,
}

impl AuditCategory {
    /// Returns the name of the category in the contract, as in `event_category`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Logins => "logins",
            Self::UserUpdates => "user_updates",
            Self::AdminSettings => "admin_settings",
            Self::Roles => "roles",
            Self::ContentExport => "content_export",
            Self::AccessControl => "access_control",
            Self::Apps => "apps",
            Self::Creation => "creation",
            Self::Deletion => "deletion",
        }
    }
}

const fn of(category: AuditCategory, code: u8, name: &'static str) -> AuditEventKind {
    AuditEventKind {
        code,
        name,
        category,
    }
}

impl AuditEventKind {
    /// Returns the kind with this name, or `None` if no kind has it.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|kind| kind.name == name)
    }

    /// Returns the kind with this stored number, or `None` if no kind has it.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        ALL.iter().copied().find(|kind| kind.code == code)
    }
}

macro_rules! kinds {
    ($($category:ident { $($name:ident = $code:literal $text:literal;)* })*) => {
        $($(
            #[doc = concat!("`", $text, "`.")]
            pub const $name: AuditEventKind = of(AuditCategory::$category, $code, $text);
        )*)*

        /// All kinds of audit events.
        pub static ALL: &[AuditEventKind] = &[$($($name),*),*];

        /// Names of all kinds, in the order of [`ALL`].
        pub const NAMES: &[&str] = &[$($($text),*),*];
    };
}

kinds! {
    Logins {
        LOGIN_SUCCEEDED = 1 "user_login_succeeded";
        LOGIN_FAILED = 2 "user_login_failed";
        LOGGED_OUT = 3 "user_logged_out";
    }
    UserUpdates {
        INVITED = 10 "user_invited";
        DEPROVISIONED = 11 "user_deprovisioned";
        REPROVISIONED = 12 "user_reprovisioned";
        FORGOT_PASSWORD = 13 "user_forgot_password_started";
        PASSWORD_RESET = 14 "user_password_reset";
        PASSWORD_CHANGED = 15 "user_password_changed";
        TWO_FACTOR_ENABLED = 16 "user_two_factor_auth_enabled";
        TWO_FACTOR_DISABLED = 17 "user_two_factor_auth_disabled";
    }
    AdminSettings {
        WORKSPACE_NAME_CHANGED = 20 "workspace_name_changed";
        WORKSPACE_PLAN_CHANGED = 21 "workspace_plan_changed";
        APP_APPROVAL_CHANGED = 22 "workspace_app_admin_approval_setting_changed";
        APP_APPROVALS_OF_TYPE_CHANGED = 23 "workspace_require_app_approvals_of_type_changed";
        PASSWORD_REQUIREMENTS_CHANGED = 24 "workspace_password_requirements_changed";
        FORCE_PASSWORD_RESET = 25 "workspace_force_password_reset";
        GUEST_INVITES_CHANGED = 26 "workspace_guest_invite_permissions_changed";
        EMAIL_DOMAIN_ADDED = 27 "workspace_associated_email_domain_added";
        EMAIL_DOMAIN_REMOVED = 28 "workspace_associated_email_domain_removed";
        TOKENS_ENABLED = 29 "workspace_personal_access_token_enabled";
        TOKENS_DISABLED = 30 "workspace_personal_access_token_disabled";
        SESSION_DURATION_CHANGED = 31 "workspace_default_session_duration_changed";
    }
    Roles {
        ADMIN_ROLE_CHANGED = 50 "user_workspace_admin_role_changed";
        DIVISION_ROLE_CHANGED = 51 "user_division_admin_role_changed";
    }
    ContentExport {
        WORKSPACE_EXPORT_STARTED = 60 "workspace_export_started";
        OBJECT_EXPORT_STARTED = 61 "object_export_started";
        RESOURCE_EXPORT_STARTED = 62 "resource_export_started";
        SEARCH_EXPORT_STARTED = 63 "search_report_export_started";
        TEAMS_EXPORT_STARTED = 64 "workspace_teams_export_started";
        MEMBERS_EXPORT_STARTED = 65 "workspace_members_export_started";
        PROJECT_CSV_EXPORT_STARTED = 66 "project_csv_export_started";
        ATTACHMENT_EXPORT_STARTED = 67 "workspace_attachment_export_started";
        ATTACHMENT_DOWNLOADED = 68 "attachment_downloaded";
        DIVISION_TEAMS_EXPORT_STARTED = 69 "division_teams_export_started";
    }
    AccessControl {
        TEAM_PRIVACY_CHANGED = 80 "team_privacy_settings_changed";
        TEAM_MEMBER_ADDED = 81 "team_member_added";
        TEAM_MEMBER_REMOVED = 82 "team_member_removed";
        PROJECT_PRIVACY_CHANGED = 83 "project_privacy_settings_changed";
        PROJECT_MEMBER_ADDED = 84 "project_member_added";
        PROJECT_MEMBER_REMOVED = 85 "project_member_removed";
        PORTFOLIO_MEMBER_ADDED = 86 "portfolio_member_added";
        PORTFOLIO_MEMBER_REMOVED = 87 "portfolio_member_removed";
        SHARE_LINK_ENABLED = 88 "project_share_link_enabled";
        SHARE_LINK_DISABLED = 89 "project_share_link_disabled";
        VIEW_LINK_ENABLED = 90 "project_view_link_enabled";
        VIEW_LINK_DISABLED = 91 "project_view_link_disabled";
    }
    Apps {
        APP_AUTHORIZED = 100 "user_app_authorized";
        APP_REVOKED = 101 "user_app_revoked";
        TOKEN_AUTHORIZED = 102 "user_personal_access_token_authorized";
        TOKEN_REVOKED = 103 "user_personal_access_token_revoked";
        SERVICE_CREATED = 104 "service_account_created";
        SERVICE_DELETED = 105 "service_account_deleted";
        SERVICE_RENAMED = 106 "service_account_name_changed";
    }
    Creation {
        TEAM_CREATED = 120 "team_created";
        ATTACHMENT_UPLOADED = 121 "attachment_uploaded";
    }
    Deletion {
        TASK_DELETED = 130 "task_deleted";
        PROJECT_DELETED = 131 "project_deleted";
        PORTFOLIO_DELETED = 132 "portfolio_deleted";
        GOAL_DELETED = 133 "goal_deleted";
        CUSTOM_FIELD_DELETED = 134 "custom_field_deleted";
        MESSAGE_DELETED = 135 "message_deleted";
        TEAM_DELETED = 136 "team_deleted";
        ATTACHMENT_DELETED = 137 "attachment_deleted";
        COMMENT_DELETED = 138 "comment_deleted";
        STATUS_UPDATE_DELETED = 139 "status_update_deleted";
        TASK_TEMPLATE_DELETED = 140 "task_template_deleted";
        PROJECT_TEMPLATE_DELETED = 141 "project_template_deleted";
        STORY_DELETED = 142 "story_deleted";
        TASK_UNDELETED = 150 "task_undeleted";
        PROJECT_UNDELETED = 151 "project_undeleted";
        PORTFOLIO_UNDELETED = 152 "portfolio_undeleted";
        GOAL_UNDELETED = 153 "goal_undeleted";
        CUSTOM_FIELD_UNDELETED = 154 "custom_field_undeleted";
        MESSAGE_UNDELETED = 155 "message_undeleted";
        TEAM_UNDELETED = 156 "team_undeleted";
        ATTACHMENT_UNDELETED = 157 "attachment_undeleted";
        COMMENT_UNDELETED = 158 "comment_undeleted";
        STATUS_UPDATE_UNDELETED = 159 "status_update_undeleted";
        TASK_TEMPLATE_UNDELETED = 160 "task_template_undeleted";
        PROJECT_TEMPLATE_UNDELETED = 161 "project_template_undeleted";
        STORY_UNDELETED = 162 "story_undeleted";
        TASK_PERMANENTLY_DELETED = 170 "task_permanently_deleted";
        MESSAGE_PERMANENTLY_DELETED = 171 "message_permanently_deleted";
        STATUS_UPDATE_PERMANENTLY_DELETED = 172 "status_update_permanently_deleted";
    }
}
