//! Relations of the graph: `source → target`, with the meaning of the auxiliary gid ([`crate::storage::Edge::aux`]).
//! "Placed" relations are ordered lists: the rank is a list position.
use crate::model::node_types::Type;

/// Kind of an edge. Numbers are stored; relations that are read together have neighbouring numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Relation(pub u8);

impl Relation {
    /// Returns true if lists into a node by this relation are short, seldom change, and are read with most records: a store
    /// should cache them whole. A node has lists of only one such relation.
    #[must_use]
    pub const fn is_short(self) -> bool {
        matches!(self, FIELD_ON | OPTION_OF)
    }
}

/// Direction of edges: from a node to others, or from others to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Edges that start here, in the order of their target's gid.
    Out,
    /// Edges that end here, in the order of rank, then of their source's gid.
    In,
}

impl Direction {
    /// Returns the opposite direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}

/// Task → section of a project it is in; aux is the project. Placed.
pub const SECTION: Relation = Relation(1);
/// Task → user who follows it.
pub const FOLLOWERS: Relation = Relation(2);
/// Task → tag.
pub const TAGS: Relation = Relation(3);
/// Subtask → parent task. Placed.
pub const PARENT: Relation = Relation(4);
/// Task → section of its assignee's task list; aux is the list. Placed.
pub const MY_TASKS: Relation = Relation(5);
/// Task → user who likes it; aux is the gid of the like.
pub const LIKES: Relation = Relation(6);
/// Task → task it waits for.
pub const DEPENDS: Relation = Relation(7);
/// Story → the task or goal it is on.
pub const STORY_OF: Relation = Relation(8);
/// Story, status update or goal → user who likes it; aux is the gid of the like.
pub const STORY_LIKES: Relation = Relation(9);
/// Section → project or user task list. Placed.
pub const SECTION_OF: Relation = Relation(10);
/// Project → team that it is shared with.
pub const TEAM: Relation = Relation(11);
/// Project or goal → user who follows it.
pub const PROJECT_FOLLOWERS: Relation = Relation(12);
/// User → workspace; aux is the workspace membership.
pub const WORKSPACES: Relation = Relation(13);
/// Team → user; aux is the team membership; rank 1 marks a team admin.
pub const TEAM_MEMBERS: Relation = Relation(14);
/// Project, portfolio, goal or custom field → user or team; aux is the membership; rank is the access level.
pub const MEMBERS: Relation = Relation(15);
/// Tag → user who follows it.
pub const TAG_FOLLOWERS: Relation = Relation(16);
/// User → a node they marked as a favourite. Shown, but no public operation writes it.
pub const FAVORITES: Relation = Relation(17);
/// Enum option → its custom field. Placed.
pub const OPTION_OF: Relation = Relation(20);
/// Custom field → project or portfolio whose tasks or items have it, or goal that has it; aux is the setting. Placed.
pub const FIELD_ON: Relation = Relation(21);
/// Task → custom field that numbers it; rank is the number.
pub const NUMBERED: Relation = Relation(33);
/// Task to number → the job that numbers it; rank is the task's gid.
pub const TO_NUMBER: Relation = Relation(34);
/// Ended job, or section of a deleted template or project → the queue of jobs; rank is the time of the next check; aux of a
/// section of a project is the user who deleted the project.
pub const ENDED: Relation = Relation(35);
/// Unfinished export of resources → the workspace; one at a time.
pub const EXPORTS: Relation = Relation(36);
/// User → workspace they do not belong to any more; aux is the ended membership, rank the role it had
/// ([`crate::rules::membership_roles::MembershipRole`]).
pub const FORMER: Relation = Relation(56);
/// Invited user, a placeholder in one workspace → the person behind the invitation; aux and rank are the workspace.
pub const INVITED: Relation = Relation(57);
/// Invited user → the person, who accepted; aux is the workspace. The edge stays until all objects of the invited user
/// belong to the person.
pub const ACCEPTED: Relation = Relation(58);
/// Invited user → the person, who declined; aux is the workspace. The edge stays until the invited user has nothing left.
pub const DECLINED: Relation = Relation(59);
/// Unfinished job → user who started it; rank is its deadline.
pub const ACTIVE: Relation = Relation(50);
/// Unfinished job → the queue of jobs; rank is the earliest time at which it may be claimed.
pub const QUEUE: Relation = Relation(51);
/// Original → job that copies it; aux is the copy; rank counts the copies.
pub const COPIED: Relation = Relation(52);
/// Project template → team it is shared with.
pub const TEMPLATE_TEAM: Relation = Relation(53);
/// Recipe → tag that its copies get.
pub const RECIPE_TAGS: Relation = Relation(54);
/// Task template → project it is used in.
pub const TEMPLATE_OF: Relation = Relation(55);
/// Attachment → the task or project it is on.
pub const ATTACHED_TO: Relation = Relation(60);
/// Copy of an attachment → the node of its file ([`crate::storage::alias::shared_file`]).
pub const FILE_COPIES: Relation = Relation(120);
/// Node of a file ([`crate::storage::alias::shared_file`]) → the user who uploaded it, and its workspace; aux is the file, and
/// the rank its negated size in bytes, so that lists begin with the largest.
pub const STORED_FOR: Relation = Relation(121);
/// User or workspace → itself; the rank is the total size in bytes of the files stored for it.
pub const STORED_BYTES: Relation = Relation(122);
/// Status update → object it is about, the newest first. Placed.
pub const STATUS_OF: Relation = Relation(65);
/// Time tracking entry → task on which the time was spent.
pub const TIME_ON_TASK: Relation = Relation(80);
/// Time tracking entry → project to which the time is attributed.
pub const TIME_ON_PROJECT: Relation = Relation(81);
/// Time tracking entry → user who spent the time.
pub const TIME_OF_USER: Relation = Relation(82);
/// Time tracking entry → category.
pub const TIME_CATEGORIES: Relation = Relation(83);
/// Project or portfolio → portfolio that has it as an item; aux is the setting of a project. Placed.
pub const ITEM_OF: Relation = Relation(66);

/// Returns the relation of the edges from a node of a type to the nodes that give it custom fields: projects to tasks,
/// portfolios to their items. Goals have none: they have their own settings.
#[must_use]
pub const fn to_field_containers(ty: Type) -> Option<Relation> {
    match ty {
        Type::Project | Type::Portfolio => Some(ITEM_OF),
        Type::Goal => None,
        _ => Some(SECTION),
    }
}
/// Out-of-office entry → user.
pub const OUT_OF_OFFICE: Relation = Relation(84);
/// Allocation → project.
pub const ALLOCATION_OF: Relation = Relation(85);
/// Allocation → user who is allocated.
pub const ALLOCATED_USER: Relation = Relation(86);
/// Rate → project.
pub const RATE_OF: Relation = Relation(87);
/// Rate → user whose time it prices.
pub const RATED_USER: Relation = Relation(88);
/// Goal → team to which it belongs.
pub const GOAL_OF_TEAM: Relation = Relation(90);
/// Goal, project, portfolio or task → goal that it supports; aux is the relationship. Placed.
pub const SUPPORTS: Relation = Relation(91);
/// Budget → project.
pub const BUDGET_OF: Relation = Relation(100);
/// Project → its totals, one at most.
pub const PROJECT_TOTALS: Relation = Relation(101);
/// Week of tracked time → task list of its user; rank is its Monday, in days since 1970.
pub const WEEK_IN_LIST: Relation = Relation(102);
/// Week of tracked time → user.
pub const WEEK_OF_USER: Relation = Relation(103);
/// Custom type → project whose tasks may have it.
pub const CUSTOM_TYPE_ON: Relation = Relation(104);
/// Task → status of its custom type.
pub const CUSTOM_STATUS: Relation = Relation(105);
/// Project or portfolio → user who asks for access; aux is the request. Decided requests have no edge.
pub const ACCESS_REQUESTS: Relation = Relation(110);
/// Rule trigger → project.
pub const RULE_TRIGGER_OF: Relation = Relation(111);

/// Returns the relation of the edges from a node of a type to the users who like it.
#[must_use]
pub const fn likes_of(ty: Type) -> Relation {
    match ty {
        Type::Task => LIKES,
        _ => STORY_LIKES,
    }
}
