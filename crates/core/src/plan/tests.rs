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

/// S07. The items of a portfolio may be projects.
#[test]
fn fields_of_items_of_another_type_need_the_scope_of_that_type() {
    let scopes = |text: &str| -> Vec<&'static str> {
        let names = FieldPaths::parse(text).unwrap();
        let asked = resolve_fields_of_items(Type::Portfolio, &names);
        asked.scopes.into_iter().map(|s| s.0).collect()
    };
    let none = Vec::<&str>::new();
    assert_eq!(scopes("name,resource_type"), none);
    assert_eq!(scopes("notes"), ["projects:read"]);
    assert_eq!(scopes("is_template"), none, "projects have no such field");
    let expanded = |form| {
        let this = ExpandPaths::parse("this").unwrap();
        let asked = resolve_expansion(Type::Portfolio, form, &this).unwrap();
        asked.scopes.iter().any(|s| s.0 == "projects:read")
    };
    assert!(expanded(DefaultForm::Items));
    assert!(!expanded(DefaultForm::Compact));
}

#[test]
fn the_compact_form_of_a_task_is_its_head() {
    assert!(compact(Type::Task).is_head);
    assert!(!compact(Type::Task).reads_body);
    assert!(!compact(Type::Story).is_head);
    assert!(full(Type::Task).reads_body);
}

/// Returns the names of the links of a plan that are full records, with those nested in them.
fn expanded(ty: Type, form: DefaultForm, text: &str) -> String {
    fn nested(plan: &Plan) -> String {
        let full = plan
            .steps
            .iter()
            .any(|s| s.def.inclusion == Inclusion::Full && !s.explicit);
        let links = plan.steps.iter().filter_map(|s| match &s.link_plan {
            LinkPlan::Plans(plans) if s.explicit => {
                Some(format!("{}{}", s.def.name, nested(plans.first()?)))
            }
            LinkPlan::Items(parts) if s.explicit => {
                let parts = parts.iter().filter(|p| p.explicit).map(|p| p.def.name);
                Some(format!(
                    "{}[{}]",
                    s.def.name,
                    parts.collect::<Vec<_>>().join(" ")
                ))
            }
            _ => None,
        });
        let links: Vec<String> = links.collect();
        let mark = if full { "*" } else { "" };
        if links.is_empty() {
            mark.to_owned()
        } else {
            format!("{mark}{{{}}}", links.join(" "))
        }
    }
    let paths = ExpandPaths::parse(text).unwrap();
    nested(&resolve_expansion(ty, form, &paths).unwrap().plan)
}

#[test]
fn opt_expand_makes_full_records_of_what_is_named() {
    let of_list = |text| expanded(Type::Task, DefaultForm::Compact, text);
    for this in [
        "this",
        ".",
        "this+",
        "(this)",
        "nope,this",
        ".this",
        "this,,",
        "(.|nope)",
    ] {
        assert_eq!(of_list(this), "*", "{this}");
    }
    for nothing in ["", "nope", "*", "name.*", "a b", "nope.this"] {
        assert_eq!(of_list(nothing), "", "{nothing}");
    }
    assert_eq!(of_list("assignee"), "{assignee*}");
    assert_eq!(of_list("this.assignee,assignee."), "{assignee*}");
    assert_eq!(
        of_list("(assignee|parent).workspace"),
        "{assignee parent{workspace*}}"
    );
    assert_eq!(of_list("parent.(this|assignee)"), "{parent*{assignee*}}");
    assert_eq!(of_list("(this,subtasks)"), "*{subtasks*}");
    assert_eq!(of_list("memberships.section"), "{memberships[section]}");
    let form = DefaultForm::Full;
    assert_eq!(expanded(Type::Task, form, "assignee"), "*{assignee*}");
    assert_eq!(
        expanded(
            Type::CustomFieldSetting,
            form,
            "custom_field,custom_field.enum_options"
        ),
        "{custom_field*{enum_options}}"
    );
}

#[test]
fn a_plus_repeats_downwards_to_the_greatest_depth() {
    let deep = expanded(Type::Task, DefaultForm::Compact, "(this|subtasks+)");
    assert_eq!(deep.matches("subtasks*").count(), DEPTH_MAX);
    let pairs = expanded(Type::Task, DefaultForm::Compact, "(subtasks.parent)+");
    assert_eq!(pairs.matches("subtasks{parent*").count(), DEPTH_MAX / 2);
    let wide = ExpandPaths::parse("(subtasks|dependencies|parent)+").unwrap();
    let refused = resolve_expansion(Type::Task, DefaultForm::Compact, &wide).unwrap_err();
    assert!(
        refused.message.starts_with("opt_expand: Too much"),
        "{}",
        refused.message
    );
}

#[test]
fn malformed_deep_and_many_paths_to_expand_are_refused() {
    let many = vec!["a"; 101].join(",");
    let nested = "(".repeat(10_000);
    for bad in [
        "(a",
        "a)",
        "a(b)",
        "(a)b",
        "a.b.c.d.e.f.g.h.i",
        &many,
        &nested,
    ] {
        let refused = ExpandPaths::parse(bad).unwrap_err().message;
        assert!(refused.starts_with("opt_expand: "), "{refused}");
    }
}

#[test]
fn expanded_links_need_the_scope_of_their_type() {
    let scopes = |form, text| -> Vec<&'static str> {
        let paths = ExpandPaths::parse(text).unwrap();
        let mask = resolve_expansion(Type::Task, form, &paths).unwrap();
        mask.scopes.into_iter().map(|s| s.0).collect()
    };
    assert_eq!(
        scopes(DefaultForm::Compact, "this,nope"),
        Vec::<&str>::new()
    );
    assert_eq!(scopes(DefaultForm::Lookup, "this"), ["tasks:read"]);
    assert_eq!(
        scopes(DefaultForm::Full, "assignee,memberships.project"),
        ["projects:read", "users:read"]
    );
}
