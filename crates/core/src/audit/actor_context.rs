//! Actors of audited acts, and the channel, method and address through which they act.
use crate::model::gid::Gid;
use std::net::IpAddr;

/// Actor of an audited act: a user, the service, its operator, or an unknown client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditActor {
    /// A user or service account.
    User(Gid),
    /// The service itself.
    Service,
    /// A client that was not authenticated.
    Anonymous,
    /// The person who runs the server, at its command line.
    Operator,
}

/// Type of an actor. The numbers are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ActorType {
    /// A user or service account.
    User = 1,
    /// The service itself; this is its name in the contract.
    Asana = 2,
    /// Support staff of the contract's vendor; no actor of this server has this type.
    AsanaSupport = 3,
    /// A client that was not authenticated.
    Anonymous = 4,
    /// The person who runs the server.
    ExternalAdministrator = 5,
}

impl ActorType {
    /// All types of actors.
    pub const ALL: &'static [Self] = &[
        Self::User,
        Self::Asana,
        Self::AsanaSupport,
        Self::Anonymous,
        Self::ExternalAdministrator,
    ];

    /// Names of all types, in the order of [`ActorType::ALL`].
    pub const NAMES: &'static [&'static str] = &[
        Self::User.name(),
        Self::Asana.name(),
        Self::AsanaSupport.name(),
        Self::Anonymous.name(),
        Self::ExternalAdministrator.name(),
    ];

    /// Returns the name of the type in the contract.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Asana => "asana",
            Self::AsanaSupport => "asana_support",
            Self::Anonymous => "anonymous",
            Self::ExternalAdministrator => "external_administrator",
        }
    }

    /// Returns the type with this name, or `None` if no type has it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| ty.name() == word)
    }

    /// Returns the type with this stored number, or `None` if no type has it.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| *ty as u8 == code)
    }
}

impl AuditActor {
    /// Returns the type of the actor, as rows store it.
    #[must_use]
    pub const fn ty(self) -> ActorType {
        match self {
            Self::User(_) => ActorType::User,
            Self::Service => ActorType::Asana,
            Self::Anonymous => ActorType::Anonymous,
            Self::Operator => ActorType::ExternalAdministrator,
        }
    }

    /// Returns the gid of the user or service account, or `None` for other actors.
    #[must_use]
    pub const fn gid(self) -> Option<Gid> {
        match self {
            Self::User(gid) => Some(gid),
            _ => None,
        }
    }
}

/// Channel through which an act reached the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditChannel {
    /// A request of the API.
    Api,
    /// The pages for browsers.
    Web,
    /// The server itself: its jobs and its command line.
    Server,
}

impl AuditChannel {
    /// Returns the name of the channel in audit rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Web => "web",
            Self::Server => "asana",
        }
    }
}

/// Authentication method of an API request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthMethod {
    /// A token of an app.
    OAuth,
    /// A personal access token.
    PersonalAccessToken,
    /// A token of a service account.
    ServiceAccount,
}

impl AuthMethod {
    /// Returns the name of the method in audit rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OAuth => "oauth",
            Self::PersonalAccessToken => "personal_access_token",
            Self::ServiceAccount => "service_account",
        }
    }
}

/// Actor of an act, with its channel, authentication method, address and client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActorContext {
    /// Actor of the act.
    pub actor: AuditActor,
    /// Channel of the act.
    pub channel: AuditChannel,
    /// Authentication method, for requests of the API.
    pub method: Option<AuthMethod>,
    /// Address of the client.
    pub address: Option<IpAddr>,
    /// Name that the client gave (`User-Agent`).
    pub user_agent: Option<Box<str>>,
    /// App whose token was used.
    pub app: Option<u64>,
}

impl ActorContext {
    /// Returns the context of an act of the server itself, on behalf of an actor.
    #[must_use]
    pub const fn internal(actor: AuditActor) -> Self {
        Self {
            actor,
            channel: AuditChannel::Server,
            method: None,
            address: None,
            user_agent: None,
            app: None,
        }
    }
}
