//! Workspaces, and who belongs to them.
use crate::call::{Call, allowed, show};
use crate::driver::page;
use crate::operation::{
    Decision, Listed, Lists, Operation, act, get, page as list, page_of, update,
};
use workgraph_core::access::{Level, Role};
use workgraph_core::address::EmailAddress;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Give, Listing, Ref, View, Want, alias};
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::{user, workspace};
use workgraph_core::rules::membership;
use workgraph_core::rules::roles::{self, Standing};
use workgraph_core::rules::sharing::Sharing;

/// The rows.
pub static WORKSPACES: &[Operation] = &[
    page_of("getWorkspaces", "/workspaces", Type::Workspace, mine).scope("workspaces:read"),
    get(
        "getWorkspace",
        "/workspaces/{workspace_gid}",
        Type::Workspace,
    )
    .scope("workspaces:read"),
    update(
        "updateWorkspace",
        "/workspaces/{workspace_gid}",
        Type::Workspace,
        needs,
        rename,
    ),
    act(
        "addUserForWorkspace",
        "/workspaces/{workspace_gid}/addUser",
        user_needs,
        add_user,
    )
    .body(&["user"])
    .answers(Type::User),
    act(
        "removeUserForWorkspace",
        "/workspaces/{workspace_gid}/removeUser",
        user_needs,
        remove_user,
    )
    .body(&["user"]),
    get(
        "getWorkspaceMembership",
        "/workspace_memberships/{workspace_membership_gid}",
        Type::WorkspaceMembership,
    ),
    list(
        "getWorkspaceMembershipsForUser",
        "/users/{user_gid}/workspace_memberships",
        Type::WorkspaceMembership,
        SEATS_OF_USER,
    ),
    page_of(
        "getWorkspaceMembershipsForWorkspace",
        "/workspaces/{workspace_gid}/workspace_memberships",
        Type::WorkspaceMembership,
        seats,
    ),
];

const SEATS_OF_USER: Lists = Lists::Edges {
    rel: rel::WORKSPACES,
    dir: Dir::Out,
    give: Give::Aux,
    open: false,
};

/// The workspaces of the caller.
fn mine(call: &Call<'_>) -> Result<Listed, Fault> {
    let mut want = call.want();
    if let Some(workspace) = call.viewer.service {
        // A service account has no seat; its workspace is the one it is for.
        let anchor = want.add(workspace);
        return Ok(Listed {
            want,
            page: page(Listing::Only { anchor }, false),
            computed: false,
            anchor: "workspace",
            anchor_types: &[Type::Workspace],
        });
    }
    let anchor = want.add(Ref::Gid(call.me()));
    let from = Listing::Edges {
        anchor,
        rel: rel::WORKSPACES,
        dir: Dir::Out,
        give: Give::Far,
    };
    Ok(Listed {
        want,
        page: page(from, false),
        computed: false,
        anchor: "user",
        anchor_types: &[Type::User],
    })
}

/// The memberships of a workspace, or that of one user in it.
fn seats(call: &Call<'_>) -> Result<Listed, Fault> {
    let mut want = call.want();
    let place = want.add(call.path("workspace_gid")?);
    if let Some(user) = call.query_user("user")? {
        let anchor = want.add(user);
        let from = Listing::Edges {
            anchor,
            rel: rel::WORKSPACES,
            dir: Dir::Out,
            give: Give::Aux,
        };
        let mut page = page(from, false);
        if let Ref::Gid(gid) = call.path("workspace_gid")? {
            page.filters.push(workgraph_core::graph::Filter::Home(gid));
        }
        return Ok(Listed {
            want,
            page,
            computed: false,
            anchor: "user",
            anchor_types: &[Type::User],
        });
    }
    let from = Listing::Edges {
        anchor: place,
        rel: rel::WORKSPACES,
        dir: Dir::In,
        give: Give::Aux,
    };
    Ok(Listed {
        want,
        page: page(from, false),
        computed: false,
        anchor: "workspace_gid",
        anchor_types: &[Type::Workspace],
    })
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    Ok(call.want().node(call.path("workspace_gid")?))
}

fn rename(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "workspace_gid", Level::Admin)?;
    let mut draft = Draft::edit(node);
    call.inputs(Type::Workspace, false)?
        .fill(&workspace::WORKSPACE, &mut draft);
    if draft
        .get(workspace::NAME)
        .is_none_or(|n| n.trim().is_empty())
    {
        return Err(Fault::field("name", "Cannot be empty"));
    }
    let mut work = call.work();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn user_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let place = call.path("workspace_gid")?;
    let who = call.required_user("user")?;
    let list = Ref::TaskList {
        user: Box::new(who.clone()),
        near: Box::new(place.clone()),
    };
    let mut want = call.want();
    if let Ref::Gid(place) = place {
        want.add(who.clone().of(By::Aux(rel::WORKSPACES, place)));
    }
    Ok(want
        .edges(who.clone(), rel::WORKSPACES)
        .edge(who.clone(), rel::FORMER, place)
        .into(who.clone(), rel::TEAM_MEMBERS, 10_000)
        .into(who, rel::MEMBERS, 10_000)
        .node(list))
}

/// Gives a user a seat; an address nobody has yet becomes an invited user.
fn add_user(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let place = call.target(view, "workspace_gid", Level::Editor)?;
    let who = call.required_user("user")?;
    let mut work = call.work();
    let (gid, email) = match (view.resolve(&who).and_then(|g| view.node(g)), &who) {
        (Some(node), _) if node.ty == Type::User => {
            if view.link(node.gid, rel::WORKSPACES, place.gid).is_some() {
                return Ok(Decision::about(work.changes, node.gid));
            }
            if matches!(who, Ref::Gid(_)) {
                // An address is known to whoever gives it; a gid may be a guess at anyone.
                call.named(view, "user", &who, &[Type::User], Level::Viewer)?;
            }
            (
                node.gid,
                node.get(user::EMAIL).unwrap_or_default().into_owned(),
            )
        }
        (None, Ref::Alias(name)) => {
            let address = invited_address(name)?;
            let gid = membership::create_user(&mut work, address.mailbox(), &address);
            (gid, address.as_str().to_owned())
        }
        _ => return Err(Fault::unknown_ref("user", show(&who))),
    };
    let by_admin = view.level(place.gid) >= Level::Admin;
    let list = Ref::TaskList {
        user: Box::new(who),
        near: Box::new(Ref::Gid(place.gid)),
    };
    match view.resolve(&list) {
        Some(list) => {
            let last = view.link(gid, rel::FORMER, place.gid);
            let last = last.map(|edge| Standing::from_rank(edge.rank));
            let standing = roles::returning(place, &email, by_admin, last);
            membership::rejoin_workspace(&mut work, gid, place.gid, list, standing)
        }
        None => {
            let role = roles::invited(place, &email, by_admin);
            membership::join_workspace(&mut work, gid, place.gid, &place.title(), role)
        }
    };
    Ok(Decision {
        changes: work.changes,
        subject: Some(gid),
        accounts: vec![gid],
    })
}

/// The address in the name of a user nobody has made yet.
fn invited_address(name: &str) -> Result<EmailAddress, Fault> {
    let text = alias::address(name).unwrap_or(name);
    EmailAddress::parse(text).map_err(|e| {
        let shown = workgraph_core::check::clip(text);
        Fault::field("user", format_args!("Not an email: {shown}; {e}"))
    })
}

/// Takes a user's seat, with what they belong to in that workspace.
fn remove_user(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let place = call.target(view, "workspace_gid", Level::Viewer)?;
    let name = call.required_user("user")?;
    let who = view
        .resolve(&name)
        .and_then(|g| view.node(g))
        .filter(|n| n.ty == Type::User);
    let who = who
        .ok_or_else(|| Fault::unknown_ref("user", show(&name)))?
        .gid;
    if who != call.me() {
        allowed(view, place, Level::Admin)?;
    }
    if who == call.me() && view.viewer.is_admin(place.gid) {
        // Otherwise a workspace could be left with nobody to administer it.
        return Err(Fault::forbidden(
            "Admins cannot remove themselves; another admin can.",
        ));
    }
    let Some(seat) = view.link(who, rel::WORKSPACES, place.gid) else {
        return Err(Fault::field(
            "user",
            format_args!("Not a user in Workspace: {}", show(&name)),
        ));
    };
    let mut work = call.work();
    let standing = seat.aux.and_then(|gid| view.node(gid)).map(Standing::given);
    let standing = standing.unwrap_or(Standing::of(Role::Guest));
    membership::leave_workspace(&mut work, who, place.gid, seat.aux, standing);
    for rel in [rel::TEAM_MEMBERS, rel::MEMBERS] {
        for edge in view.sources(who, rel) {
            let node = view.node(edge.src);
            let Some(node) = node.filter(|n| n.home == Some(place.gid)) else {
                continue;
            };
            work.unlink(node.gid, rel, who);
            if let Some(membership) = edge.aux {
                let sharing = Sharing::of(node.ty);
                let ty = sharing.map_or(Type::TeamMembership, |s| s.membership);
                work.trash(membership, ty);
            }
        }
    }
    Ok(Decision {
        changes: work.changes,
        subject: None,
        accounts: vec![who],
    })
}
