//! The commands of `workgraph admin`, which travel as JSON to a running server.
#![expect(
    missing_docs,
    reason = "the doc comments are the help of the command line, and a flag whose name says it all has none"
)]
use clap::{Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

/// Command of `workgraph admin`. It is sent as JSON to a running server.
#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum AdminCommand {
    /// Manage workspaces.
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Manage users.
    #[command(subcommand)]
    User(UserCommand),
    /// Manage custom types of tasks, which no operation of the API creates.
    #[command(subcommand)]
    CustomType(CustomTypeCommand),
    /// Manage teams.
    #[command(subcommand)]
    Team(TeamCommand),
    /// Manage personal access tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Manage webhooks and the log of their deliveries.
    #[command(subcommand, name = "webhook", visible_alias = "webhooks")]
    Webhooks(WebhooksCommand),
    /// Manage service accounts.
    #[command(subcommand)]
    ServiceAccount(ServiceCommand),
    /// Show or change the limits. Changes apply from the next request on.
    #[command(subcommand)]
    Limits(LimitsCommand),
    /// List or cancel jobs that have not ended; without a command, list them.
    #[command(name = "job", visible_alias = "jobs")]
    Jobs {
        #[command(subcommand)]
        what: Option<JobsCommand>,
    },
    /// Manage apps that act for users by OAuth.
    #[command(subcommand)]
    App(AppCommand),
    /// Manage triggers of rules, which POST /rule_triggers/GID/run runs on a task.
    #[command(subcommand)]
    RuleTrigger(RuleTriggerCommand),
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum RuleTriggerCommand {
    /// Create a trigger for the tasks of a project.
    Create {
        #[arg(long)]
        name: String,
        #[arg(long, value_name = "GID")]
        project: String,
    },
    /// List the triggers of a project.
    List {
        #[arg(long, value_name = "GID")]
        project: String,
    },
    /// Rename a trigger.
    Rename {
        gid: String,
        #[arg(long)]
        name: String,
    },
    /// Delete a trigger.
    Delete { gid: String },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum WorkspaceCommand {
    /// Create a workspace.
    Create {
        #[arg(long)]
        name: String,
        #[arg(long, value_enum, default_value = "paid")]
        plan: PlanName,
        /// Make the workspace an organization, which has teams.
        #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
        organization: bool,
    },
    /// List all workspaces.
    List,
    /// Rename a workspace.
    Rename {
        gid: String,
        #[arg(long)]
        name: String,
    },
    /// Change the plan of a workspace.
    Plan {
        gid: String,
        #[arg(value_enum)]
        plan: PlanName,
    },
    /// Set the e-mail domains of an organization: people invited with an address in them become members, all others
    /// guests. Without domains, show the current ones.
    Domains {
        gid: String,
        /// All domains of the organization, replacing the current ones.
        domains: Vec<String>,
        /// Remove all domains: admins then invite members, and all others invite guests.
        #[arg(long, conflicts_with = "domains")]
        none: bool,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum UserCommand {
    /// Create a user, with a membership if a workspace is given.
    Create {
        #[arg(long)]
        name: String,
        #[arg(long)]
        email: String,
        #[arg(long, value_name = "GID")]
        workspace: Option<String>,
        #[arg(long, value_enum, default_value = "member")]
        role: RoleName,
        /// Read the password from the first line of standard input; without this flag, generate one.
        #[arg(long)]
        password_stdin: bool,
        #[arg(skip)]
        password: Option<String>,
    },
    /// List the users of a workspace.
    List {
        #[arg(long, value_name = "GID")]
        workspace: String,
    },
    /// Rename a user.
    Rename {
        /// E-mail address or gid.
        user: String,
        #[arg(long)]
        name: String,
    },
    /// Set or replace the password of a user. Their sessions end.
    Password {
        /// E-mail address or gid.
        user: String,
        /// Read the password from the first line of standard input; without this flag, generate one.
        #[arg(long)]
        password_stdin: bool,
        /// Also revoke their tokens, disconnect their apps and delete their webhooks.
        #[arg(long)]
        revoke_tokens: bool,
        #[arg(skip)]
        password: Option<String>,
    },
    /// List or end the sessions of a user: the browsers in which they are signed in.
    #[command(subcommand, name = "session", visible_alias = "sessions")]
    Sessions(SessionsCommand),
    /// Switch an account off: its sessions, tokens, apps and webhooks end at once and permanently.
    Disable {
        /// E-mail address or gid.
        user: String,
    },
    /// Switch an account on again: its user signs in again and creates new tokens.
    Enable {
        /// E-mail address or gid.
        user: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions of a user.
    List {
        /// E-mail address or gid.
        user: String,
    },
    /// End one session of a user, or all of them.
    End {
        /// E-mail address or gid.
        user: String,
        /// Id of the session, as listed [default: all].
        id: Option<String>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum TeamCommand {
    /// Create a team in an organization.
    Create {
        #[arg(long)]
        name: String,
        #[arg(long, value_name = "GID")]
        workspace: String,
    },
    /// List the teams of an organization.
    List {
        #[arg(long, value_name = "GID")]
        workspace: String,
    },
    /// Rename a team.
    Rename {
        gid: String,
        #[arg(long)]
        name: String,
    },
    /// Add a user to a team.
    AddUser {
        #[arg(long, value_name = "GID")]
        team: String,
        /// E-mail address or gid.
        #[arg(long)]
        user: String,
        /// Make the user an admin of the team.
        #[arg(long)]
        admin: bool,
    },
    /// List the users of a team.
    ListUsers {
        #[arg(long, value_name = "GID")]
        team: String,
    },
    /// Remove a user from a team.
    RemoveUser {
        #[arg(long, value_name = "GID")]
        team: String,
        /// E-mail address or gid.
        #[arg(long)]
        user: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum TokenCommand {
    /// Create a token. It is shown once.
    Create {
        /// E-mail address or gid.
        #[arg(long)]
        user: String,
        #[arg(long, default_value = "")]
        description: String,
        /// Scopes, separated by spaces [default: full permissions].
        #[arg(long)]
        scopes: Option<String>,
        #[arg(long, value_name = "N")]
        expires_days: Option<u32>,
    },
    /// List the tokens of a user.
    List {
        /// E-mail address or gid.
        #[arg(long)]
        user: String,
    },
    /// Revoke a token.
    Revoke {
        /// Id of the token, as listed.
        id: u64,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum WebhooksCommand {
    /// List all webhooks with the state of their deliveries.
    List,
    /// List the latest deliveries of a webhook, newest first.
    Log {
        gid: u64,
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Send the events of a logged delivery again.
    Redeliver {
        gid: u64,
        /// Id of the delivery, as logged.
        delivery: u64,
    },
    /// Delete a webhook. Its target receives nothing more.
    Delete { gid: u64 },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum CustomTypeCommand {
    /// Create a custom type for the tasks of projects.
    Create {
        #[arg(long)]
        name: String,
        /// Project whose tasks may have the type; repeat for each project.
        #[arg(long = "project", value_name = "GID", required = true)]
        projects: Vec<String>,
        /// Status and its completion state; repeat for each status, in order.
        #[arg(
            long = "status",
            value_name = "NAME:incomplete|complete",
            required = true
        )]
        statuses: Vec<String>,
    },
    /// List the custom types that the tasks of a project may have.
    List {
        #[arg(long, value_name = "GID")]
        project: String,
    },
    /// Rename a custom type.
    Rename {
        gid: String,
        #[arg(long)]
        name: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum JobsCommand {
    /// List the jobs that have not ended.
    List,
    /// Cancel a job, even one that is running.
    Cancel {
        /// Gid of the job, as listed.
        gid: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum ServiceCommand {
    /// Create a service account of a workspace, with a token that is shown once.
    Create {
        #[arg(long, value_name = "GID")]
        workspace: String,
        #[arg(long)]
        name: String,
    },
    /// List the service accounts of a workspace. `admin user disable` switches a service account off by its gid.
    List {
        #[arg(long, value_name = "GID")]
        workspace: String,
    },
    /// Rename a service account.
    Rename {
        gid: String,
        #[arg(long)]
        name: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum LimitsCommand {
    /// Show the effective limits, and the changed settings.
    Show,
    /// Change settings, as in `standard_free=200 shadow=cost`; the value `default` reverts a change.
    Set {
        #[arg(required = true, value_name = "NAME=VALUE")]
        pairs: Vec<String>,
    },
    /// Set separate limits for the tokens of an app, as in `standard=300 search=30`, or show them.
    App {
        /// Number of the app.
        id: u64,
        #[arg(value_name = "NAME=VALUE")]
        pairs: Vec<String>,
    },
    /// Set separate limits for a token, or show them.
    Token {
        /// Id of the token, as `admin token list` shows it.
        id: u64,
        #[arg(value_name = "NAME=VALUE")]
        pairs: Vec<String>,
    },
    /// Show the counts of the limits for each token of a user.
    State {
        /// E-mail address or gid.
        #[arg(long)]
        user: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum AppCommand {
    /// Register an app. Its client secret is shown once.
    Create {
        #[arg(long)]
        name: String,
        /// Redirect URLs: an https URL, or urn:ietf:wg:oauth:2.0:oob for a native app.
        #[arg(long = "redirect-uri", value_name = "URL", required = true)]
        redirect_uris: Vec<String>,
        /// Scopes, separated by spaces [default: full permissions].
        #[arg(long)]
        scopes: Option<String>,
        /// User who may change the app: e-mail address or gid.
        #[arg(long, value_name = "USER")]
        owner: String,
        /// Workspace whose users may authorize the app; repeat for each workspace.
        #[arg(long = "workspace", value_name = "GID")]
        workspaces: Vec<String>,
    },
    /// List all apps, or those of one owner.
    List {
        /// E-mail address or gid.
        #[arg(long, value_name = "USER")]
        owner: Option<String>,
    },
    /// Rename an app.
    Rename {
        /// Client ID of the app.
        client_id: String,
        #[arg(long)]
        name: String,
    },
    /// Create a new client secret for an app. The old one stops working at once.
    ResetSecret {
        /// Client ID of the app.
        client_id: String,
    },
    /// Let the users of a workspace authorize an app.
    Distribute {
        /// Client ID of the app.
        client_id: String,
        #[arg(long, value_name = "GID")]
        workspace: String,
        /// Undo the distribution: tokens for this workspace stop working at once.
        #[arg(long)]
        remove: bool,
    },
    /// Switch an app off, everywhere or in one workspace: its tokens stop working at once.
    Disable {
        /// Client ID of the app.
        client_id: String,
        #[arg(long, value_name = "GID")]
        workspace: Option<String>,
        /// Switch the app on again.
        #[arg(long)]
        undo: bool,
    },
}

/// Plan of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub enum PlanName {
    Free,
    Paid,
}

/// Role of a user in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
pub enum RoleName {
    Admin,
    Member,
    Guest,
}
