//! Memberships of users and teams in projects.
use crate::call::Call;
use crate::driver::page;
use crate::operation::{Decision, Listed, Operation, act, create, get, page_of, update};
use crate::request::Method;
use workgraph_core::access::Level;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Action, By, Filter, Give, Listing, Place, Ref, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::{membership, project};
use workgraph_core::rules;

/// The rows.
pub static MEMBERSHIPS: &[Operation] = &[
    page_of(
        "getMemberships",
        "/memberships",
        Type::ProjectMembership,
        list,
    ),
    create(
        "createMembership",
        "/memberships",
        Type::ProjectMembership,
        share_needs,
        share,
    )
    .body(&["parent", "member"]),
    get(
        "getMembership",
        "/memberships/{membership_gid}",
        Type::ProjectMembership,
    ),
    update(
        "updateMembership",
        "/memberships/{membership_gid}",
        Type::ProjectMembership,
        needs,
        change,
    )
    .body(&["access_level"]),
    act(
        "deleteMembership",
        "/memberships/{membership_gid}",
        needs,
        unshare,
    )
    .by(Method::Delete),
    get(
        "getProjectMembership",
        "/project_memberships/{project_membership_gid}",
        Type::ProjectMembership,
    ),
    page_of(
        "getProjectMembershipsForProject",
        "/projects/{project_gid}/project_memberships",
        Type::ProjectMembership,
        of_project,
    ),
];

fn list(call: &Call<'_>) -> Result<Listed, Fault> {
    let mut want = call.want();
    let member = call.query_user("member")?;
    if let Some(parent) = call.query_gid("parent")? {
        if let Some(name @ Ref::Alias(_)) = member {
            return Ok(of_user(want, name, parent, "member"));
        }
        let anchor = want.add(parent);
        let mut page = page(
            Listing::Edges {
                anchor,
                rel: rel::MEMBERS,
                dir: Dir::Out,
                give: Give::Aux,
            },
            false,
        );
        page.filters
            .extend(member.and_then(by_gid).map(Filter::Far));
        return Ok(Listed {
            want,
            page,
            computed: false,
            anchor: "parent",
            anchor_type: Type::Project,
        });
    }
    let Some(member) = member else {
        return Err(Fault::missing("parent"));
    };
    match call.query("resource_subtype")? {
        None | Some("project_membership") => {}
        Some(other) => {
            let shown = workgraph_core::check::clip(other);
            return Err(Fault::field(
                "resource_subtype",
                format_args!("Not a recognized value: {shown}; it is project_membership"),
            ));
        }
    }
    let anchor = want.add(member);
    let page = page(
        Listing::Edges {
            anchor,
            rel: rel::MEMBERS,
            dir: Dir::In,
            give: Give::Aux,
        },
        false,
    );
    Ok(Listed {
        want,
        page,
        computed: false,
        anchor: "member",
        anchor_type: Type::Team,
    })
}

/// The membership of a user, named by address, in one project.
fn of_user(mut want: Want, name: Ref, project: workgraph_core::Gid, field: &'static str) -> Listed {
    want.add(project);
    let anchor = want.add(name);
    let from = Listing::Edges {
        anchor,
        rel: rel::MEMBERS,
        dir: Dir::In,
        give: Give::Aux,
    };
    let mut page = page(from, false);
    page.filters.push(Filter::Far(project));
    Listed {
        want,
        page,
        computed: false,
        anchor: field,
        anchor_type: Type::User,
    }
}

fn of_project(call: &Call<'_>) -> Result<Listed, Fault> {
    let mut want = call.want();
    let place = call.path("project_gid")?;
    if let (Some(name @ Ref::Alias(_)), Ref::Gid(project)) = (call.query_user("user")?, &place) {
        return Ok(of_user(want, name, *project, "user"));
    }
    let anchor = want.add(place);
    let mut page = page(
        Listing::Edges {
            anchor,
            rel: rel::MEMBERS,
            dir: Dir::Out,
            give: Give::Aux,
        },
        false,
    );
    page.filters
        .extend(call.query_user("user")?.and_then(by_gid).map(Filter::Far));
    Ok(Listed {
        want,
        page,
        computed: false,
        anchor: "project_gid",
        anchor_type: Type::Project,
    })
}

fn by_gid(name: Ref) -> Option<workgraph_core::Gid> {
    match name {
        Ref::Gid(gid) => Some(gid),
        _ => None,
    }
}

/// Whether the caller may give, change or take this level: nobody's reach goes above their own.
fn reaches(view: &View, place: &Node, level: Level) -> Result<(), Fault> {
    if view.level(place.gid) < level {
        return Err(Fault::forbidden(
            "You do not have permission to manage memberships above your own access level.",
        ));
    }
    Ok(())
}

/// The level a membership gives.
fn given(node: &Node) -> Level {
    node.get(membership::ACCESS_LEVEL)
        .and_then(|word| Level::parse(&word))
        .unwrap_or_default()
}

/// Whether the caller may share the project.
fn may_share(view: &View, place: &Node) -> Result<(), Fault> {
    let least = if place.get(project::SHARE_ACCESS).as_deref() == Some("admin") {
        Level::Admin
    } else {
        Level::Editor
    };
    if view.level(place.gid) < least {
        return Err(Fault::forbidden(
            "You do not have permission to share this project.",
        ));
    }
    Ok(())
}

fn level(call: &Call<'_>, place: &Node) -> Result<Level, Fault> {
    let word = match call.field("access_level").or_else(|| call.field("role")) {
        Some(value) => workgraph_core::check::string("access_level", value)?.to_owned(),
        None => place
            .get(project::DEFAULT_ACCESS)
            .unwrap_or_default()
            .into_owned(),
    };
    Level::parse(&word).ok_or_else(|| {
        let shown = workgraph_core::check::clip(&word);
        Fault::field(
            "access_level",
            format_args!(
                "Not a recognized value: {shown}; it is one of {}",
                membership::LEVELS.join(", ")
            ),
        )
    })
}

fn share_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let (parent, member) = (call.required_gid("parent")?, call.required_user("member")?);
    Ok(call
        .want()
        .edges(member.clone(), rel::WORKSPACES)
        .edge(parent, rel::MEMBERS, member))
}

fn share(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let parent = Ref::Gid(call.required_gid("parent")?);
    let place = call.named(view, "parent", &parent, &[Type::Project], Level::Viewer)?;
    may_share(view, place)?;
    let name = call.required_user("member")?;
    let who = call.named(
        view,
        "member",
        &name,
        &[Type::User, Type::Team],
        Level::Viewer,
    )?;
    let level = level(call, place)?;
    reaches(view, place, level)?;
    let home = place.home.unwrap_or(place.gid);
    let belongs = if who.ty == Type::Team {
        who.home == Some(home)
    } else {
        view.link(who.gid, rel::WORKSPACES, home).is_some()
    };
    if !belongs {
        return Err(Fault::field(
            "member",
            format_args!(
                "Not a user or team in Workspace: {}",
                crate::call::show(&name)
            ),
        ));
    }
    let mut work = call.work();
    work.needs_live(place.gid);
    if let Some(held) = view
        .link(place.gid, rel::MEMBERS, who.gid)
        .and_then(|e| e.aux)
    {
        return Ok(Decision::about(work.changes, held));
    }
    let gid = rules::membership::join_project(&mut work, who.gid, place.gid, home, level);
    Ok(Decision::about(work.changes, gid))
}

fn path_name(call: &Call<'_>) -> &'static str {
    call.parameters.first().map_or("membership_gid", |(n, _)| n)
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let node = call.path(path_name(call))?;
    Ok(call
        .want()
        .node(node.clone())
        .node(node.of(By::Key("parent"))))
}

/// The membership, its project and its member.
fn parties<'v>(
    call: &Call<'_>,
    view: &'v View,
) -> Result<(&'v Node, &'v Node, workgraph_core::Gid), Fault> {
    let node = call.target(view, path_name(call), Level::Viewer)?;
    let place = node.get(membership::PARENT).and_then(|g| view.node(g));
    match (place, node.get(membership::MEMBER)) {
        (Some(place), Some(member)) => Ok((node, place, member)),
        _ => Err(Fault::unknown("membership", node.gid)),
    }
}

fn change(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let (node, place, member) = parties(call, view)?;
    may_share(view, place)?;
    let level = level(call, place)?;
    reaches(view, place, level.max(given(node)))?;
    let mut draft = Draft::edit(node);
    draft.set(membership::ACCESS_LEVEL, level.word());
    let mut work = call.work();
    if work.save(&draft) {
        work.link(
            place.gid,
            rel::MEMBERS,
            member,
            Place::Rank(level as i64),
            Some(node.gid),
        );
    }
    Ok(Decision::about(work.changes, node.gid))
}

fn unshare(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let (node, place, member) = parties(call, view)?;
    if member != call.me() {
        may_share(view, place)?;
        reaches(view, place, given(node))?;
    }
    let mut work = call.work();
    work.trash(node.gid, Type::ProjectMembership);
    work.unlink(place.gid, rel::MEMBERS, member);
    work.unlink(place.gid, rel::PROJECT_FOLLOWERS, member);
    work.fact(
        place.gid,
        Type::Project,
        Action::Changed {
            field: "members",
            added: None,
            removed: Some(member),
        },
    );
    Ok(Decision::of(work.changes))
}
