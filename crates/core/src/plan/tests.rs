//! Tests of plans and of the paths from which they are made.
use super::*;

fn shown(ty: Type, text: &str) -> String {
    fn steps_of_root(steps: &[PlanStep]) -> String {
        let shown: Vec<String> = steps
            .iter()
            .map(|s| match &s.link_plan {
                LinkPlan::Plans(plans) => format!(
                    "{}{{{}}}",
                    s.def.name,
                    plans.first().map(steps_of).unwrap_or_default()
                ),
                LinkPlan::Items(parts) => format!("{}[{}]", s.def.name, steps_of_root(parts)),
                _ => s.def.name.to_owned(),
            })
            .collect();
        shown.join(" ")
    }
    fn steps_of(plan: &Plan) -> String {
        steps_of_root(&plan.steps)
    }
    steps_of_root(
        &resolve_fields(ty, &FieldPaths::parse(text).unwrap())
            .plan
            .steps,
    )
}

/// S43.
#[test]
fn opt_fields_give_the_named_fields_and_gid_in_record_order() {
    assert_eq!(shown(Type::Task, "completed,name"), "gid name completed");
    assert_eq!(
        shown(Type::Task, "this.name, assignee.email"),
        "gid name assignee{gid email}"
    );
    assert_eq!(
        shown(Type::Task, "memberships.section.name"),
        "gid memberships[section{gid name}]"
    );
    assert_eq!(
        shown(Type::Task, "this.(followers|assignee).email"),
        "gid assignee{gid email} followers{gid email}"
    );
    assert_eq!(shown(Type::Task, "(name|notes)"), "gid name notes");
}

#[test]
fn unknown_names_are_ignored() {
    assert_eq!(
        shown(Type::Task, "nope,name,assignee.nope,name.x,a.b.c.d"),
        "gid name assignee{gid}"
    );
}

/// S126.
#[test]
fn empty_items_and_what_is_no_name_are_passed_over() {
    assert_eq!(
        shown(Type::Task, ",gid,resource_type,,name,"),
        "gid resource_type name"
    );
    for nothing in [
        "",
        ",",
        " , ",
        "*",
        "()",
        "a b c",
        ".name",
        "name.",
        "assignee..name",
    ] {
        assert_eq!(shown(Type::Task, nothing), "gid", "{nothing}");
    }
    assert_eq!(shown(Type::Task, "*,name"), "gid name");
    assert_eq!(shown(Type::Task, "(name|,notes)"), "gid name notes");
    assert_eq!(
        shown(Type::Task, "assignee.,assignee.name,"),
        "gid assignee{gid name}"
    );
}

#[test]
fn malformed_deep_and_many_are_refused() {
    for bad in ["(a", "a)", "(a|)b", "a(b|c)", "a.b.c.d.e.f.g.h.i"] {
        assert!(
            FieldPaths::parse(bad)
                .unwrap_err()
                .message
                .starts_with("opt_fields: "),
            "{bad:?}"
        );
    }
    let many = (0..PATHS_MAX + 1)
        .map(|i| format!("f{i}"))
        .collect::<Vec<_>>()
        .join(",");
    assert!(
        FieldPaths::parse(&many)
            .unwrap_err()
            .message
            .contains("Too many")
    );
    assert!(FieldPaths::parse("(a|b|c|d).".repeat(5).trim_end_matches('.')).is_err());
}

/// S07.
#[test]
fn fields_of_linked_nodes_need_the_scope_of_their_type() {
    let scopes = |text: &str| -> Vec<&'static str> {
        resolve_fields(Type::Task, &FieldPaths::parse(text).unwrap())
            .scopes
            .into_iter()
            .map(|s| s.0)
            .collect()
    };
    assert_eq!(scopes("name,assignee,assignee.name"), Vec::<&str>::new());
    assert_eq!(scopes("assignee.email"), ["users:read"]);
    assert_eq!(
        scopes("actual_time_minutes"),
        ["time_tracking_entries:read"]
    );
    assert_eq!(
        scopes("memberships.project.owner.email"),
        ["projects:read", "users:read"]
    );
    assert_eq!(scopes("assignee.nope"), Vec::<&str>::new());
}

#[test]
fn the_compact_form_of_a_task_is_its_head() {
    assert!(compact(Type::Task).is_head);
    assert!(!compact(Type::Task).reads_body);
    assert!(!compact(Type::Story).is_head);
    assert!(full(Type::Task).reads_body);
}
