//! Scopes of fields: a token needs the scope of the record that it names fields of.
use crate::world::{Kind, World};

#[test]
fn fields_beyond_the_name_need_the_scope_of_what_was_found() {
    let world = World::new(Kind::Memory);
    let orchid = world.gid("orchid");
    let at = format!("/workspaces/{orchid}/typeahead?resource_type");
    let token = "ada[workspaces.typeahead:read]";
    let named = world.get(token, &format!("{at}=user&opt_fields=name"));
    assert_eq!(named.status, 200, "{}", named.text);
    for (ty, field, scope) in [
        ("user", "email", "users:read"),
        ("task", "notes", "tasks:read"),
        ("project", "owner.name", "projects:read"),
        ("project", "notes", "projects:read"),
    ] {
        let target = format!("{at}={ty}&opt_fields=name,{field}");
        let answer = world.get(token, &target);
        assert_eq!(answer.status, 403, "{ty}: {}", answer.text);
        assert!(answer.message().contains(scope), "{}", answer.text);
        let token = format!("ada[workspaces.typeahead:read,{scope}]");
        let answer = world.get(&token, &target);
        assert_eq!(answer.status, 200, "{ty}: {}", answer.text);
    }
}

/// S07. The items of a portfolio are projects, too.
#[test]
fn fields_of_the_projects_in_a_portfolio_need_the_scope_of_projects() {
    let world = World::new(Kind::Memory);
    let portfolio = format!("/portfolios/{}", world.gid("works"));
    let items = format!("{portfolio}/items?");
    let token = "ada[portfolios:read]";
    for of_items in ["", "opt_fields=name,resource_type"] {
        let answer = world.get(token, &format!("{items}{of_items}"));
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    for of_items in [
        "opt_fields=notes",
        "opt_fields=name,owner",
        "opt_expand=this",
    ] {
        let target = format!("{items}{of_items}");
        let answer = world.get(token, &target);
        assert_eq!(answer.status, 403, "{}", answer.text);
        assert!(
            answer.message().contains("projects:read"),
            "{}",
            answer.text
        );
    }
    let both = "ada[portfolios:read,projects:read,users:read]";
    let answer = world.get(both, &format!("{items}opt_fields=notes,owner"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    let own = world.get(token, &format!("{portfolio}?opt_fields=owner,notes,color"));
    assert_eq!(own.status, 200, "a portfolio is no project: {}", own.text);
}
