//! Who acts, and by which way it came.
use crate::gid::Gid;
use std::net::IpAddr;

/// Who does something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Actor {
    /// A user or service account.
    User(Gid),
    /// The service itself.
    Service,
    /// Somebody who did not say who they are.
    Nobody,
    /// Whoever runs the server, at its command line.
    Operator,
}

/// The kinds of actor. The numbers are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ActorType {
    /// A user or service account.
    User = 1,
    /// The service itself.
    Asana = 2,
    /// Its makers' support; nobody here.
    AsanaSupport = 3,
    /// Somebody who did not say who they are.
    Anonymous = 4,
    /// Whoever runs the server.
    ExternalAdministrator = 5,
}

impl ActorType {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::User,
        Self::Asana,
        Self::AsanaSupport,
        Self::Anonymous,
        Self::ExternalAdministrator,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Asana => "asana",
            Self::AsanaSupport => "asana_support",
            Self::Anonymous => "anonymous",
            Self::ExternalAdministrator => "external_administrator",
        }
    }

    /// The type of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| ty.word() == word)
    }

    /// The type with this stored number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| *ty as u8 == code)
    }
}

impl Actor {
    /// What kind of actor this is.
    #[must_use]
    pub const fn ty(self) -> ActorType {
        match self {
            Self::User(_) => ActorType::User,
            Self::Service => ActorType::Asana,
            Self::Nobody => ActorType::Anonymous,
            Self::Operator => ActorType::ExternalAdministrator,
        }
    }

    /// Who it is, if that is anybody.
    #[must_use]
    pub const fn gid(self) -> Option<Gid> {
        match self {
            Self::User(gid) => Some(gid),
            _ => None,
        }
    }
}

/// By which way something came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// The API.
    Api,
    /// The pages.
    Web,
    /// The server itself: its jobs, its command line.
    Server,
}

impl Channel {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Web => "web",
            Self::Server => "asana",
        }
    }
}

/// How a request of the API said who it is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// A token of an app.
    OAuth,
    /// A personal access token.
    PersonalAccessToken,
    /// A token of a service account.
    ServiceAccount,
}

impl Method {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::OAuth => "oauth",
            Self::PersonalAccessToken => "personal_access_token",
            Self::ServiceAccount => "service_account",
        }
    }
}

/// Who acts, and by which way it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acting {
    /// Who.
    pub actor: Actor,
    /// By which way.
    pub channel: Channel,
    /// How they said who they are, for the API.
    pub method: Option<Method>,
    /// The address it came from.
    pub address: Option<IpAddr>,
    /// What the client called itself.
    pub agent: Option<Box<str>>,
    /// The app it came through.
    pub app: Option<u64>,
}

impl Acting {
    /// Something that the server does itself, on behalf of an actor.
    #[must_use]
    pub const fn inside(actor: Actor) -> Self {
        Self {
            actor,
            channel: Channel::Server,
            method: None,
            address: None,
            agent: None,
            app: None,
        }
    }
}
