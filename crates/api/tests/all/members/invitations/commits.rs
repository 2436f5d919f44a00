//! Answers to invitations that take more than one commit, or lead to an existing task list.
use super::*;
use workgraph_core::access::Role;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::task;
use workgraph_core::rules::invitation_rules::decline;
use workgraph_core::rules::membership_rules::{
    TeamStanding, create_team, join_team, join_workspace,
};

/// A person with a task list in the workspace finds in it the tasks that were assigned to the invited user.
#[test]
fn tasks_come_to_the_list_of_who_was_let_in_meanwhile() {
    for kind in KINDS {
        let world = World::new(kind);
        let invited = added(&world, "ada", BEN);
        let tasks = give(&world, &invited);
        let (person, orchid) = (ben(&world), world.gid("orchid"));
        writes(&world, person, |work| {
            join_workspace(work, person, orchid, "Orchid", Role::Guest);
        });
        assert!(answer(&world, person, &invited, true));
        has_all(&world, &invited, &tasks);
        for task in tasks {
            let path = format!("/tasks/{task}?opt_fields=assignee_section.name");
            let section = &world.get("ben", &path).json["data"]["assignee_section"];
            assert_eq!(section["name"], "Recently assigned");
        }
    }
}

/// Assigns more tasks to the invited user, and adds it to more teams, than one commit can take back; returns the tasks
/// and the memberships.
fn give_much(world: &World, it: &Invitation) -> (Vec<Gid>, Vec<Gid>) {
    let workspace = Some(it.workspace);
    writes(world, world.gid("ada"), |work| {
        let tasks = (0..150).map(|_| {
            let mut draft = work.draft(Type::Task, workspace);
            draft.set(task::NAME, "One of many");
            draft.set(task::CREATED_AT, work.now);
            draft.set(task::ASSIGNEE, it.invited);
            work.create(&draft, None)
        });
        let tasks = tasks.collect();
        let memberships = (0..1_001).map(|_| {
            let draft = work.draft(Type::Team, workspace);
            let team = create_team(work, draft, None);
            join_team(work, it.invited, team, it.workspace, TeamStanding::MEMBER)
        });
        (tasks, memberships.collect())
    })
}

/// For any number of given nodes, and even if a crash of the server interrupted the answer.
#[test]
fn declining_takes_back_more_than_fits_one_commit() {
    for kind in KINDS {
        let world = World::new(kind);
        let invited = added(&world, "ada", BEN);
        let it = invitation(&world, &invited);
        let (tasks, memberships) = give_much(&world, &it);
        cut_short(&world, &it, decline);
        assert_eq!(waiting(&world), []);
        world.run(world.api.finish_invitations(it.person)).unwrap();
        let key = ViewerKey {
            user: it.person,
            service: Some(it.workspace),
        };
        let mut want = ReadQuery::of(key).node(it.invited);
        want = want.incoming_edges(it.person, rel::DECLINED, 1);
        want.node_refs.extend(
            tasks
                .iter()
                .chain(&memberships)
                .map(|gid| NodeRef::Gid(*gid)),
        );
        let view = world.run(world.graph.load(&want)).unwrap();
        for gid in tasks {
            assert_eq!(view.node(gid).unwrap().get(task::ASSIGNEE), None);
        }
        assert!(memberships.iter().all(|gid| view.node(*gid).is_none()));
        assert!(view.node(it.invited).is_none());
        assert!(view.sources(it.person, rel::DECLINED).is_empty());
    }
}
