//! The operation table: what a row says.
mod rows;

pub use rows::{
    act, audit_log, batch, create, delete, events, get, hooks, page, page_of, read, search,
    typeahead, update,
};

use crate::call::Call;
use crate::request::Method;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Changes, Give, Page, Ref, View, Want};
use workgraph_core::registry::{Dir, Rel, Type};
use workgraph_core::{Gid, Level};

/// One operation of the API.
#[derive(Debug)]
pub struct Operation {
    /// Its name in the public catalogue, such as `getTask`.
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// The path with `{parameters}`, below the base.
    pub path: &'static str,
    /// Other paths of the same operation, as old clients call it.
    pub also: &'static [&'static str],
    /// The scope it needs; without one it needs a token with full permissions.
    pub scope: Option<&'static str>,
    /// Query parameters it cannot do without.
    pub query: &'static [&'static str],
    /// Query parameters it understands besides.
    pub filters: &'static [&'static str],
    /// Body fields it cannot do without.
    pub body: &'static [&'static str],
    /// What it answers with.
    pub answer: Answer,
    /// Gated to paid workspaces, with this message.
    pub premium: Option<&'static str>,
    /// Not allowed as an action of a batch.
    pub alone: bool,
    /// Its record depends on the time, too, so that no reply is true for long.
    pub timed: bool,
    /// Counted against the search quota instead of the standard one.
    pub search: bool,
    /// Asked about `me`, it takes the token from the query where there is no header.
    pub query_token: bool,
    /// Gated to full members of the workspace, with the same message.
    pub no_guests: bool,
    /// What it does.
    pub run: Run,
}

/// What an operation answers with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// 200 and the record.
    Record(Type),
    /// 201, Location and the record.
    Created(Type),
    /// 200 and an array of compact records.
    List(Type),
    /// 200 and an array of full records.
    Records(Type),
    /// 200 and an array of names: records of the type that the request names.
    Names,
    /// 200 and `{}`.
    Empty,
    /// 200 and counts of tasks.
    Counts,
    /// 200 and the outcomes of actions.
    Outcomes,
    /// 200 and events, with a token to go on from.
    Events,
    /// 200 and rows of the audit log.
    Audited,
}

/// What an operation does.
#[derive(Clone, Copy)]
pub enum Run {
    /// Answers with the node of the last path parameter.
    Get,
    /// Lists something at the first path parameter.
    Page(Lists),
    /// Lists what a function says.
    PageOf(fn(&Call<'_>) -> Result<Listed, Fault>),
    /// Lists what a search that a function describes finds.
    Search(fn(&Call<'_>) -> Result<Sought, Fault>),
    /// Answers with a node a function chooses.
    Read(Needs, fn(&Call<'_>, &View) -> Result<Gid, Fault>),
    /// Trashes the node of the last path parameter, if the viewer has this level.
    Delete(Level),
    /// Decides what changes.
    Act(Needs, Decide),
    /// Carries out the actions of its body, each as a request of its own.
    Batch,
    /// Tells what happened since the last call.
    Events(Span),
    /// Lists the audit log of a workspace.
    Audit,
    /// Does something with webhooks, which have a store of their own.
    Hooks(HookAct),
}

/// What is done with webhooks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookAct {
    /// Lists those of the caller.
    List,
    /// Makes one.
    Create,
    /// Shows one.
    Get,
    /// Replaces the filters of one.
    Update,
    /// Deletes one.
    Delete,
}

/// What a feed of events is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    /// One task or project, and what is in it.
    Resource,
    /// A whole workspace, for its service accounts.
    Workspace,
}

/// Says what an operation must read.
pub type Needs = fn(&Call<'_>) -> Result<Want, Fault>;
/// Decides, from what was read, what changes.
pub type Decide = fn(&Call<'_>, &View) -> Result<Decision, Fault>;

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::Page(_) | Self::PageOf(_) => "page",
            Self::Search(_) => "search",
            Self::Read(..) => "read",
            Self::Delete(_) => "delete",
            Self::Act(..) => "act",
            Self::Batch => "batch",
            Self::Events(_) => "events",
            Self::Audit => "audit log",
            Self::Hooks(_) => "webhooks",
        })
    }
}

/// A list at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lists {
    /// Edges of a relation.
    Edges {
        /// The relation.
        rel: Rel,
        /// From the node or to it.
        dir: Dir,
        /// What of each edge.
        give: Give,
        /// Whether seeing the node means seeing all of the list.
        open: bool,
    },
    /// Edges of a relation by title.
    Alphabetical(Rel, Dir),
    /// All nodes of a type in the workspace.
    Home(Type),
    /// The tasks of the project, section or task list.
    Tasks,
}

/// A list that a function describes.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What must be read; its page has no limit yet.
    pub want: Want,
    /// The list; the anchor is an index into the refs of `want`.
    pub page: Page,
    /// The list is computed: a walk over it ends after the walk cap.
    pub computed: bool,
    /// The parameter that names the anchor, for errors.
    pub anchor: &'static str,
    /// The types the anchor may have.
    pub anchor_types: &'static [Type],
}

/// A search that a function describes.
#[derive(Clone, Debug)]
pub struct Sought {
    /// What must be read, the search included.
    pub want: Want,
    /// What the request names: each by the parameter that does, and the types it may have.
    pub named: Vec<(String, Ref, &'static [Type])>,
    /// The type of what is found.
    pub ty: Type,
}

/// What an operation decided.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// What changes.
    pub changes: Changes,
    /// The node to answer with.
    pub subject: Option<Gid>,
    /// Users whose seats change: their accounts are worked out anew.
    pub accounts: Vec<Gid>,
}

impl Decision {
    /// Changes without a record to answer with.
    #[must_use]
    pub fn of(changes: Changes) -> Self {
        Self {
            changes,
            ..Self::default()
        }
    }
    /// Changes, and the record to answer with.
    #[must_use]
    pub fn about(changes: Changes, subject: Gid) -> Self {
        Self {
            changes,
            subject: Some(subject),
            accounts: Vec::new(),
        }
    }
}

impl Operation {
    /// The scope it needs.
    #[must_use]
    pub const fn scope(mut self, scope: &'static str) -> Self {
        self.scope = Some(scope);
        self
    }
    /// Query parameters it cannot do without.
    #[must_use]
    pub const fn query(mut self, names: &'static [&'static str]) -> Self {
        self.query = names;
        self
    }
    /// Has these paths, too.
    #[must_use]
    pub const fn also(mut self, paths: &'static [&'static str]) -> Self {
        self.also = paths;
        self
    }
    /// Query parameters that filter its list.
    #[must_use]
    pub const fn filters(mut self, names: &'static [&'static str]) -> Self {
        self.filters = names;
        self
    }
    /// Body fields it cannot do without.
    #[must_use]
    pub const fn body(mut self, names: &'static [&'static str]) -> Self {
        self.body = names;
        self
    }
    /// Answers with a record instead of `{}`.
    #[must_use]
    pub const fn answers(mut self, ty: Type) -> Self {
        self.answer = Answer::Record(ty);
        self
    }
    /// Answers with counts.
    #[must_use]
    pub const fn counts(mut self) -> Self {
        self.answer = Answer::Counts;
        self
    }
    /// Uses another method than its shape has.
    #[must_use]
    pub const fn by(mut self, method: Method) -> Self {
        self.method = method;
        self
    }
    /// Lists full records.
    #[must_use]
    pub const fn full(mut self) -> Self {
        if let Answer::List(ty) = self.answer {
            self.answer = Answer::Records(ty);
        }
        self
    }
    /// Only for paid workspaces.
    #[must_use]
    pub const fn premium(mut self, message: &'static str) -> Self {
        self.premium = Some(message);
        self
    }
    /// Not allowed as an action of a batch.
    #[must_use]
    pub const fn alone(mut self) -> Self {
        self.alone = true;
        self
    }
    /// Its record depends on the time, too.
    #[must_use]
    pub const fn timed(mut self) -> Self {
        self.timed = true;
        self
    }
    /// Counted against the search quota instead of the standard one.
    #[must_use]
    pub const fn search(mut self) -> Self {
        self.search = true;
        self
    }
    /// Takes the token from the query where there is no header, if asked about `me`.
    #[must_use]
    pub const fn query_token(mut self) -> Self {
        self.query_token = true;
        self
    }
    /// Not for guests, who are told what free workspaces are told.
    #[must_use]
    pub const fn no_guests(mut self) -> Self {
        self.no_guests = true;
        self
    }
    /// Whether it changes anything.
    #[must_use]
    pub const fn writes(&self) -> bool {
        matches!(
            self.run,
            Run::Delete(_)
                | Run::Act(..)
                | Run::Hooks(HookAct::Create | HookAct::Update | HookAct::Delete)
        )
    }
    /// The type of record it answers with.
    #[must_use]
    pub const fn record(&self) -> Option<Type> {
        match self.answer {
            Answer::Record(ty) | Answer::Created(ty) | Answer::List(ty) | Answer::Records(ty) => {
                Some(ty)
            }
            Answer::Events => Some(Type::Event),
            Answer::Names | Answer::Empty | Answer::Counts | Answer::Outcomes | Answer::Audited => {
                None
            }
        }
    }
}

/// The type of node a path parameter names.
#[must_use]
pub fn parameter_type(name: &str) -> Option<Type> {
    Some(match name {
        "workspace_gid" => Type::Workspace,
        "user_gid" => Type::User,
        "team_gid" => Type::Team,
        "workspace_membership_gid" => Type::WorkspaceMembership,
        "team_membership_gid" => Type::TeamMembership,
        "project_gid" => Type::Project,
        "membership_gid" | "project_membership_gid" => Type::ProjectMembership,
        "section_gid" => Type::Section,
        "task_gid" => Type::Task,
        "tag_gid" => Type::Tag,
        "user_task_list_gid" => Type::UserTaskList,
        "story_gid" => Type::Story,
        "webhook_gid" => Type::Webhook,
        "custom_field_gid" => Type::CustomField,
        "enum_option_gid" => Type::EnumOption,
        "job_gid" => Type::Job,
        "organization_export_gid" => Type::OrganizationExport,
        "project_template_gid" => Type::ProjectTemplate,
        "task_template_gid" => Type::TaskTemplate,
        _ => return None,
    })
}
