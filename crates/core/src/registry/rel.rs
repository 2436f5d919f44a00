//! The relations of the graph: `source → target`, and what the third party ([`crate::graph::Edge::aux`]) is.
use super::Rel;

/// Task → section of a project it is in; aux is the project. Placed.
pub const SECTION: Rel = Rel(1);
/// Task → user who follows it.
pub const FOLLOWERS: Rel = Rel(2);
/// Task → tag.
pub const TAGS: Rel = Rel(3);
/// Subtask → parent task. Placed.
pub const PARENT: Rel = Rel(4);
/// Task → section of its assignee's task list; aux is the list. Placed.
pub const MY_TASKS: Rel = Rel(5);
/// Task → user who likes it; aux is the gid of the like.
pub const LIKES: Rel = Rel(6);
/// Task → task it waits for.
pub const DEPENDS: Rel = Rel(7);
/// Story → the task it is on.
pub const STORY_OF: Rel = Rel(8);
/// Story → user who likes it; aux is the gid of the like.
pub const STORY_LIKES: Rel = Rel(9);
/// Section → project or user task list. Placed.
pub const SECTION_OF: Rel = Rel(10);
/// Project → team it is shared with.
pub const TEAM: Rel = Rel(11);
/// Project → user who follows it.
pub const PROJECT_FOLLOWERS: Rel = Rel(12);
/// User → workspace; aux is the workspace membership.
pub const WORKSPACES: Rel = Rel(13);
/// Team → user; aux is the team membership; rank 1 marks a team admin.
pub const TEAM_MEMBERS: Rel = Rel(14);
/// Project or custom field → user or team; aux is the membership; rank is the access level.
pub const MEMBERS: Rel = Rel(15);
/// Tag → user who follows it.
pub const TAG_FOLLOWERS: Rel = Rel(16);
/// User → a node they marked as a favourite. Shown, but no public operation writes it.
pub const FAVORITES: Rel = Rel(17);
/// Enum option → its custom field. Placed.
pub const OPTION_OF: Rel = Rel(20);
/// Custom field → project whose tasks have it; aux is the setting. Placed.
pub const FIELD_ON: Rel = Rel(21);
/// Task → custom field that numbers it; rank is the number.
pub const NUMBERED: Rel = Rel(33);
/// Task that is to be numbered → the job that does it; rank is the task's gid.
pub const TO_NUMBER: Rel = Rel(34);
/// Job at its end, or section of a deleted template → the queue of jobs; rank is when it is looked at
/// next.
pub const ENDED: Rel = Rel(35);
/// Export of resources that is not at its end → the workspace; there is one at a time.
pub const EXPORTS: Rel = Rel(36);
/// User → workspace they do not belong to any more; aux is the ended membership, rank the role it had
/// ([`crate::rules::roles::Standing`]).
pub const FORMER: Rel = Rel(56);
/// User who stands in a workspace for somebody invited there → that person; aux and rank are the workspace.
pub const INVITED: Rel = Rel(57);
/// User who stood for somebody → that person, who accepted; aux is the workspace. Until all that was
/// given to the former is the latter's.
pub const ACCEPTED: Rel = Rel(58);
/// User who stood for somebody → that person, who declined; aux is the workspace. Until nothing is given
/// to the former any more.
pub const DECLINED: Rel = Rel(59);
/// Job that is not at its end → user who asked for it; rank is its deadline.
pub const ACTIVE: Rel = Rel(50);
/// Job that is not at its end → the queue of jobs; rank is when it may be taken up.
pub const QUEUE: Rel = Rel(51);
/// Original → job that copies it; aux is the copy; rank counts the copies.
pub const COPIED: Rel = Rel(52);
/// Project template → team it is shared with.
pub const TEMPLATE_TEAM: Rel = Rel(53);
/// Recipe → tag that its copies get.
pub const RECIPE_TAGS: Rel = Rel(54);
/// Task template → project it is used in.
pub const TEMPLATE_OF: Rel = Rel(55);
