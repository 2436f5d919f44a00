use super::*;
use crate::model::draft::Draft;
use crate::model::registry::{Type, rel};
use crate::storage::{ReadQuery, ViewerKey};

#[test]
fn a_view_made_by_hand_reads_like_one_that_was_loaded() {
    let gid = |n| Gid::new(n).unwrap();
    let (task, section, tag, user) = (gid(1), gid(2), gid(3), gid(4));
    let edge = |src, rel, dst| Edge {
        src,
        rel,
        dst,
        rank: 0,
        seq: 1,
        aux: None,
    };
    let placed = edge(task, rel::SECTION, section);
    let view = ReadView::new(Arc::new(Viewer::without_memberships(user)), 1)
        .with_node(Draft::new(Type::Task, task, None).finish(), Level::Editor)
        .with_links(task, vec![edge(task, rel::TAGS, tag)])
        .with_links(task, vec![placed])
        .with_sources(section, rel::SECTION, &[placed]);
    assert_eq!(view.resolve(&NodeRef::Gid(task)), Some(task));
    assert_eq!(view.level(task), Level::Editor);
    assert_eq!(view.links(task, rel::SECTION), [placed]);
    assert_eq!(view.links(task, rel::TAGS).len(), 1);
    assert_eq!(view.sources(section, rel::SECTION), [placed]);
    assert!(view.link(task, rel::TAGS, section).is_none());
}

/// A decision must not take data that was not loaded for data that does not exist.
#[test]
fn a_decision_is_asked_for_what_its_view_lacks() {
    let gid = |n| Gid::new(n).unwrap();
    let (task, other) = (gid(1), gid(2));
    let name = NodeRef::Alias("email:eve@example.org".into());
    let day = Date::parse("2026-03-02").unwrap();
    let rank = i64::from(day.days());
    let view = || ReadView::new(Arc::new(Viewer::without_memberships(gid(3))), 1);
    type Read = fn(&ReadView, [Gid; 2]);
    let reads: [(Read, UnansweredRead); 8] = [
        (
            |view, [task, _]| assert!(view.node(task).is_none()),
            node(task),
        ),
        (
            |view, [task, _]| assert_eq!(view.level(task), Level::None),
            node(task),
        ),
        (
            |view, [task, _]| assert!(view.links(task, rel::TAGS).is_empty()),
            UnansweredRead::EdgesOut(task, rel::TAGS),
        ),
        (
            |view, [task, _]| assert!(view.sources(task, rel::PARENT).is_empty()),
            UnansweredRead::EdgesIn(task, rel::PARENT),
        ),
        (
            |view, [task, other]| assert!(view.link(task, rel::TAGS, other).is_none()),
            UnansweredRead::Edge(task, rel::TAGS, other),
        ),
        (
            |view, [task, _]| assert_eq!(view.count(task, rel::PARENT), 0),
            UnansweredRead::Count(task, rel::PARENT),
        ),
        (
            |view, [task, _]| assert!(view.reached(task, rel::DEPENDS).is_none()),
            UnansweredRead::Reachable(task, rel::DEPENDS),
        ),
        (
            |view, [task, _]| assert_eq!(view.subtask_depth(task), 0),
            UnansweredRead::SubtaskDepth(task),
        ),
    ];
    for (read, expected) in reads {
        assert_eq!(
            view().decide(|view| read(view, [task, other])),
            Err(vec![expected.clone()])
        );
        let mut query = ReadQuery::of(ViewerKey {
            user: gid(3),
            service: None,
        });
        query.extend(vec![expected]);
        assert!(query.node_refs.contains(&NodeRef::Gid(task)));
        // The view knows that neither node exists.
        let absent = [task, other].map(|gid| (NodeRef::Gid(gid), None));
        let mut view = view();
        view.resolved_refs.extend(absent);
        assert_eq!(view.decide(|view| read(view, [task, other])), Ok(()));
    }
    let resolved = view().decide(|view| view.resolve(&name));
    assert_eq!(resolved, Err(vec![UnansweredRead::Node(name)]));
    let on_day = view().decide(|view| {
        view.sources_on_days(task, rel::TIME_OF_USER, [day; 2])
            .len()
    });
    let expected = UnansweredRead::EdgesBetween(task, rel::TIME_OF_USER, rank, rank);
    assert_eq!(on_day, Err(vec![expected]));
}

fn node(gid: Gid) -> UnansweredRead {
    UnansweredRead::Node(NodeRef::Gid(gid))
}

/// The fields of a head must not be taken for fields without a value.
#[test]
fn a_decision_is_asked_for_the_body_of_a_node_of_which_it_has_the_head() {
    let task = Gid::new(1).unwrap();
    let stored = Draft::new(Type::Task, task, None).finish();
    let head = Node {
        version: 0,
        body: "".into(),
        ..stored.clone()
    };
    let view = |node| {
        let viewer = Viewer::without_memberships(task);
        ReadView::new(Arc::new(viewer), 1).with_node(node, Level::Editor)
    };
    for read in [ReadView::node, ReadView::visible] {
        let found = |node| view(node).decide(|view| read(view, task).is_some());
        assert_eq!(found(stored.clone()), Ok(true));
        assert_eq!(found(head.clone()), Err(vec![node(task)]));
    }
}
