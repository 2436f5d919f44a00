//! The commands of `workgraph admin`, which travel as JSON to a running server.
#![expect(
    missing_docs,
    reason = "the doc comments are the help of the command line, and a flag whose name says it all has none"
)]
use clap::{Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

/// Command of `workgraph admin`. Travels as JSON to a running server.
#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum AdminCommand {
    /// Workspaces.
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Users.
    #[command(subcommand)]
    User(UserCommand),
    /// Custom types of tasks, which no operation of the API makes.
    #[command(subcommand)]
    CustomType(CustomTypeCommand),
    /// Teams.
    #[command(subcommand)]
    Team(TeamCommand),
    /// Personal access tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Webhooks and the log of their deliveries.
    #[command(subcommand, name = "webhook", visible_alias = "webhooks")]
    Webhooks(WebhooksCommand),
    /// Service accounts.
    #[command(subcommand)]
    ServiceAccount(ServiceCommand),
    /// The limits, in force from the next request on.
    #[command(subcommand)]
    Limits(LimitsCommand),
    /// Jobs that have not ended; without a command, list them.
    #[command(name = "job", visible_alias = "jobs")]
    Jobs {
        #[command(subcommand)]
        what: Option<JobsCommand>,
    },
    /// Apps that act for users by OAuth.
    #[command(subcommand)]
    App(AppCommand),
    /// Triggers of rules, which POST /rule_triggers/GID/run runs on a task.
    #[command(subcommand)]
    RuleTrigger(RuleTriggerCommand),
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum RuleTriggerCommand {
    /// Make a trigger for the tasks of a project.
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
    /// Give a trigger another name.
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
    /// Make a workspace.
    Create {
        #[arg(long)]
        name: String,
        #[arg(long, value_enum, default_value = "paid")]
        plan: PlanName,
        /// Organizations have teams.
        #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
        organization: bool,
    },
    /// List all workspaces.
    List,
    /// Give a workspace another name.
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
    /// Set the e-mail domains of an organization: people invited with such an address become members, all others
    /// guests. Without domains, show the present ones.
    Domains {
        gid: String,
        /// All its domains, in place of the present ones.
        domains: Vec<String>,
        /// Remove all domains: then admins invite members, and all others guests.
        #[arg(long, conflicts_with = "domains")]
        none: bool,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum UserCommand {
    /// Make a user, with a membership if a workspace is given.
    Create {
        #[arg(long)]
        name: String,
        #[arg(long)]
        email: String,
        #[arg(long, value_name = "GID")]
        workspace: Option<String>,
        #[arg(long, value_enum, default_value = "member")]
        role: RoleName,
        /// Read the password from the first line of standard input; without it one is made up.
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
    /// Give a user another name.
    Rename {
        /// E-mail address or gid.
        user: String,
        #[arg(long)]
        name: String,
    },
    /// Give a user a password, with or without one before. Their sessions end.
    Password {
        /// E-mail address or gid.
        user: String,
        /// Read the password from the first line of standard input; without it one is made up.
        #[arg(long)]
        password_stdin: bool,
        /// Revoke their tokens, disconnect their apps and delete their webhooks, too.
        #[arg(long)]
        revoke_tokens: bool,
        #[arg(skip)]
        password: Option<String>,
    },
    /// The browsers in which a user is signed in.
    #[command(subcommand, name = "session", visible_alias = "sessions")]
    Sessions(SessionsCommand),
    /// Switch an account off: its sessions, tokens, apps and webhooks end at once and for good.
    Disable {
        /// E-mail address or gid.
        user: String,
    },
    /// Switch an account on again: its user signs in again and makes new tokens.
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
    /// End one session of a user, or all.
    End {
        /// E-mail address or gid.
        user: String,
        /// The session's id, as listed [default: all].
        id: Option<String>,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum TeamCommand {
    /// Make a team of an organization.
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
    /// Give a team another name.
    Rename {
        gid: String,
        #[arg(long)]
        name: String,
    },
    /// Put a user into a team.
    AddUser {
        #[arg(long, value_name = "GID")]
        team: String,
        /// E-mail address or gid.
        #[arg(long)]
        user: String,
        /// The user administers the team.
        #[arg(long)]
        admin: bool,
    },
    /// List the users of a team.
    ListUsers {
        #[arg(long, value_name = "GID")]
        team: String,
    },
    /// Take a user out of a team.
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
    /// Make a token. It is shown once.
    Create {
        /// E-mail address or gid.
        #[arg(long)]
        user: String,
        #[arg(long, default_value = "")]
        description: String,
        /// Scopes with spaces between them [default: full permissions].
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
        /// The token's id, as listed.
        id: u64,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum WebhooksCommand {
    /// List all webhooks with the state of their deliveries.
    List,
    /// List the last deliveries of a webhook, newest first.
    Log {
        gid: u64,
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Send the events of a logged delivery again.
    Redeliver {
        gid: u64,
        /// The delivery's id, as logged.
        delivery: u64,
    },
    /// Delete a webhook. Nothing more is sent to its target.
    Delete { gid: u64 },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum CustomTypeCommand {
    /// Make a custom type for the tasks of projects.
    Create {
        #[arg(long)]
        name: String,
        /// A project whose tasks may have the type; once for each.
        #[arg(long = "project", value_name = "GID", required = true)]
        projects: Vec<String>,
        /// A status and the state it stands for; once for each, in their order.
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
    /// Give a custom type another name.
    Rename {
        gid: String,
        #[arg(long)]
        name: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum JobsCommand {
    /// List them.
    List,
    /// Cancel a job, even one that is running.
    Cancel {
        /// The job's gid, as listed.
        gid: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum ServiceCommand {
    /// Make a service account of a workspace, with a token. It is shown once.
    Create {
        #[arg(long, value_name = "GID")]
        workspace: String,
        #[arg(long)]
        name: String,
    },
    /// List the service accounts of a workspace. `admin user disable` switches one off by its gid.
    List {
        #[arg(long, value_name = "GID")]
        workspace: String,
    },
    /// Give a service account another name.
    Rename {
        gid: String,
        #[arg(long)]
        name: String,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize, Subcommand)]
pub enum LimitsCommand {
    /// Show what is in force, and what was changed.
    Show,
    /// Change settings, as in `standard_free=200 shadow=cost`; the value `default` takes a change back.
    Set {
        #[arg(required = true, value_name = "NAME=VALUE")]
        pairs: Vec<String>,
    },
    /// Set limits of their own for the tokens of an app, as in `standard=300 search=30`, or show them.
    App {
        /// The app's number.
        id: u64,
        #[arg(value_name = "NAME=VALUE")]
        pairs: Vec<String>,
    },
    /// Set limits of its own for a token, or show them.
    Token {
        /// The token's id, as `admin token list` has it.
        id: u64,
        #[arg(value_name = "NAME=VALUE")]
        pairs: Vec<String>,
    },
    /// Show what the limits have counted for each token of a user.
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
        /// Scopes with spaces between them [default: full permissions].
        #[arg(long)]
        scopes: Option<String>,
        /// The user who may change it: e-mail address or gid.
        #[arg(long, value_name = "USER")]
        owner: String,
        /// A workspace whose users may authorize it; once for each.
        #[arg(long = "workspace", value_name = "GID")]
        workspaces: Vec<String>,
    },
    /// List all apps, or those of one owner.
    List {
        /// E-mail address or gid.
        #[arg(long, value_name = "USER")]
        owner: Option<String>,
    },
    /// Give an app another name.
    Rename {
        /// The app's client ID.
        client_id: String,
        #[arg(long)]
        name: String,
    },
    /// Give an app a new client secret. The old one stops working at once.
    ResetSecret {
        /// The app's client ID.
        client_id: String,
    },
    /// Let the users of a workspace authorize an app.
    Distribute {
        /// The app's client ID.
        client_id: String,
        #[arg(long, value_name = "GID")]
        workspace: String,
        /// Undo it: tokens for this workspace stop working at once.
        #[arg(long)]
        remove: bool,
    },
    /// Switch an app off, everywhere or in one workspace: its tokens stop working at once.
    Disable {
        /// The app's client ID.
        client_id: String,
        #[arg(long, value_name = "GID")]
        workspace: Option<String>,
        /// Switch it on again.
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
