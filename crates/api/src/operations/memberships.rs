//! Memberships of users and teams in projects and custom fields.
use super::custom_fields::PREMIUM;
use crate::call::Call;
use crate::driver::page;
use crate::operation::{Decision, Listed, Operation, act, create, get, page_of, update};
use crate::request::Method;
use workgraph_core::access::Level;
use workgraph_core::check;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Filter, Give, Listing, Place, Ref, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::{membership, project, resource};
use workgraph_core::rules::sharing::Sharing;

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
    let member = call.query_user("member")?;
    if let Some(parent) = call.query_gid("parent")? {
        let place = (parent.into(), "parent", Sharing::TYPES);
        return Ok(of_place(call, place, member, "member"));
    }
    let Some(member) = member else {
        return Err(Fault::missing("parent"));
    };
    match call.query("resource_subtype")? {
        None | Some("project_membership") => {}
        Some(other) => {
            let shown = check::clip(other);
            return Err(Fault::field(
                "resource_subtype",
                format_args!("Not a recognized value: {shown}; it is project_membership"),
            ));
        }
    }
    let teams = (member, "member", &[Type::Team][..]);
    let mut listed = at(call.want(), Dir::In, teams);
    let of_projects = Filter::Is(Type::ProjectMembership);
    listed.page.filters.push(of_projects);
    Ok(listed)
}

fn of_project(call: &Call<'_>) -> Result<Listed, Fault> {
    let place = call.path("project_gid")?;
    let place = (place, "project_gid", &[Type::Project][..]);
    Ok(of_place(call, place, call.query_user("user")?, "user"))
}

/// What a list is at: the node, the parameter that names it, and the types it may have.
type Anchor = (Ref, &'static str, &'static [Type]);

/// The memberships in a project or custom field, or that of one member alone.
fn of_place(call: &Call<'_>, place: Anchor, member: Option<Ref>, name: &'static str) -> Listed {
    let mut want = call.want();
    match (member, &place.0) {
        // Who is named by an address is found first, and the place among what is shared with them.
        (Some(member @ Ref::Address(_)), Ref::Gid(gid)) => {
            let gid = *gid;
            want.add(gid);
            let mut listed = at(want, Dir::In, (member, name, &[Type::User]));
            listed.page.filters.push(Filter::Far(gid));
            listed
        }
        (member, _) => {
            let mut listed = at(want, Dir::Out, place);
            if let Some(Ref::Gid(gid)) = member {
                listed.page.filters.push(Filter::Far(gid));
            }
            listed
        }
    }
}

/// The memberships at a project or custom field, or at a member.
fn at(mut want: Want, dir: Dir, (node, anchor, anchor_types): Anchor) -> Listed {
    let from = Listing::Edges {
        anchor: want.add(node),
        rel: rel::MEMBERS,
        dir,
        give: Give::Aux,
    };
    Listed {
        want,
        page: page(from, false),
        computed: false,
        anchor,
        anchor_types,
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

/// How a project or custom field is shared.
fn sharing(place: &Node) -> Result<&'static Sharing, Fault> {
    Sharing::of(place.ty).ok_or_else(|| Fault::unknown_ref("parent", place.gid))
}

/// The level a membership gives.
fn given(node: &Node, sharing: &Sharing) -> Level {
    node.get(membership::ACCESS_LEVEL)
        .and_then(|word| sharing.level(&word))
        .unwrap_or_default()
}

/// Whether the caller may share the project or custom field.
fn may_share(call: &Call<'_>, view: &View, place: &Node) -> Result<(), Fault> {
    let least = match place.ty {
        Type::CustomField => Level::Admin,
        _ if place.get(project::SHARE_ACCESS).as_deref() == Some("admin") => Level::Admin,
        _ => Level::Editor,
    };
    if place.ty == Type::CustomField {
        only_paid(call, view, place)?;
    }
    if view.level(place.gid) < least {
        let noun = resource(place.ty).noun;
        return Err(Fault::forbidden(format!(
            "You do not have permission to share this {noun}."
        )));
    }
    Ok(())
}

/// Custom fields are for full members of paid workspaces, as their own operations are.
fn only_paid(call: &Call<'_>, view: &View, place: &Node) -> Result<(), Fault> {
    let home = place.home.unwrap_or(place.gid);
    if call.paid(view, home) && view.viewer.is_member(home) {
        return Ok(());
    }
    Err(Fault::premium(PREMIUM))
}

fn level(call: &Call<'_>, place: &Node, sharing: &Sharing) -> Result<Level, Fault> {
    let word = match call.field("access_level").or_else(|| call.field("role")) {
        Some(value) => check::string("access_level", value)?.to_owned(),
        None => place.get(sharing.default).unwrap_or_default().into_owned(),
    };
    sharing.level(&word).ok_or_else(|| {
        let words: Vec<&str> = sharing.levels.iter().map(|(word, _)| *word).collect();
        let (shown, words) = (check::clip(&word), words.join(", "));
        let why = format_args!("Not a recognized value: {shown}; it is one of {words}");
        Fault::field("access_level", why)
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
    let place = call.named(view, "parent", &parent, Sharing::TYPES, Level::Viewer)?;
    let sharing = sharing(place)?;
    may_share(call, view, place)?;
    let name = call.required_user("member")?;
    let who = call.named(
        view,
        "member",
        &name,
        &[Type::User, Type::Team],
        Level::Viewer,
    )?;
    let level = level(call, place, sharing)?;
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
    let gid = sharing.join(&mut work, who.gid, place.gid, home, level);
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

/// The membership, what is shared, and the member.
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
    let sharing = sharing(place)?;
    may_share(call, view, place)?;
    let level = level(call, place, sharing)?;
    reaches(view, place, level.max(given(node, sharing)))?;
    let mut draft = Draft::edit(node);
    draft.set(membership::ACCESS_LEVEL, sharing.word(level));
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
    let sharing = sharing(place)?;
    // Whoever could leave a custom field could shake off a level that is lower than everybody's.
    if member != call.me() || place.ty == Type::CustomField {
        may_share(call, view, place)?;
        reaches(view, place, given(node, sharing))?;
    }
    let mut work = call.work();
    sharing.leave(&mut work, member, place.gid, node.gid);
    Ok(Decision::of(work.changes))
}
