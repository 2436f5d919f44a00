//! Workspaces, and who belongs to them.
use crate::call::{Call, allowed, show};
use crate::driver::page;
use crate::operation::{
    Decision, Listed, Lists, Operation, act, get, page as list, page_of, update,
};
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::address::EmailAddress;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Give, Listing, Ref, View, Want, alias};
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::{user, workspace};
use workgraph_core::rules::roles::{self, Standing};
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::rules::{invitations, membership};
use workgraph_core::work::Work;

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
        invitation_needs,
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
    let place = call.required_path_gid("workspace_gid")?;
    let who = call.required_user("user")?;
    let seat = who.clone().of(By::Aux(rel::WORKSPACES, place));
    Ok(call
        .want()
        .node(place)
        .node(seat)
        .edges(who.clone(), rel::WORKSPACES)
        .into(who.clone(), rel::TEAM_MEMBERS, 10_000)
        .into(who, rel::MEMBERS, 10_000))
}

/// The user that an address or gid names, whether or not the caller knows them.
fn anybody(name: Ref) -> Ref {
    match name {
        Ref::Address(address) => Ref::Alias(alias::email(&address)),
        other => other,
    }
}

/// The person that a user stands for, if it stands for one.
fn person(user: &Ref) -> Ref {
    user.clone().of(By::Edge(rel::INVITED))
}

fn list_of(user: &Ref, place: Gid) -> Ref {
    Ref::TaskList {
        user: Box::new(user.clone()),
        near: Box::new(Ref::Gid(place)),
    }
}

fn invitation_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let place = call.required_path_gid("workspace_gid")?;
    let name = call.required_user("user")?;
    let known = anybody(name.clone());
    let mut want = call.want().node(place).node(name);
    // Whom the name is, for whom that one stands, and who stands here for either.
    let candidates = [known.clone(), person(&known)];
    for who in candidates
        .iter()
        .chain(&candidates.clone().map(|c| c.of(stands(place))))
    {
        want = want
            .edges(who.clone(), rel::WORKSPACES)
            .edge(who.clone(), rel::FORMER, place)
            .node(list_of(who, place));
    }
    Ok(want)
}

/// By what a person leads to the user who stands for them in a workspace.
fn stands(place: Gid) -> By {
    By::Rank(rel::INVITED, place.as_i64())
}

/// Gives a user a seat. An address that nobody has yet becomes a user; whoever has it already, and was
/// never here, is invited: what is answered and seen is the same, or addresses could be tried out.
fn add_user(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let place = call.target(view, "workspace_gid", Level::Editor)?;
    let name = call.required_user("user")?;
    let by_admin = view.level(place.gid) >= Level::Admin;
    let mut work = call.work();
    let found = |r: &Ref| {
        let node = view.resolve(r).and_then(|g| view.node(g));
        node.filter(|n| n.ty == Type::User)
    };
    let known = anybody(name.clone());
    if matches!(name, Ref::Gid(_)) {
        // An address is known to whoever gives it; a gid may be a guess at anyone.
        call.named(view, "user", &name, &[Type::User], Level::Viewer)?;
    }
    let Some(user) = found(&known) else {
        let Ref::Address(address) = &name else {
            return Err(Fault::unknown_ref("user", show(&name)));
        };
        let address = EmailAddress::parse(address).map_err(|e| {
            Fault::field("user", format_args!("Not an email: {}; {e}", show(&name)))
        })?;
        let role = roles::invited(place, address.as_str(), by_admin);
        let gid = membership::create_user(&mut work, address.mailbox(), &address);
        membership::join_workspace(&mut work, gid, place.gid, &place.title(), role);
        return Ok(joined(work, gid));
    };
    let whom = person(&known);
    let (named, user) = match found(&whom) {
        Some(person) => (whom, person),
        None => (known, user),
    };
    let email = user.get(user::EMAIL).unwrap_or_default().into_owned();
    let standing_in = named.clone().of(stands(place.gid));
    for (name, user) in [(&named, Some(user)), (&standing_in, found(&standing_in))] {
        let Some(user) = user else { continue };
        if view.link(user.gid, rel::WORKSPACES, place.gid).is_some() {
            return Ok(Decision::about(work.changes, user.gid));
        }
        if let Some(list) = view.resolve(&list_of(name, place.gid)) {
            let last = view.link(user.gid, rel::FORMER, place.gid);
            let last = last.map(|edge| Standing::from_rank(edge.rank));
            let standing = roles::returning(place, &email, by_admin, last);
            membership::rejoin_workspace(&mut work, user.gid, place.gid, list, standing);
            return Ok(joined(work, user.gid));
        }
    }
    if email.is_empty() {
        // A service account is nobody's to invite.
        return Err(Fault::unknown_ref("user", show(&name)));
    }
    let role = roles::invited(place, &email, by_admin);
    let gid = invitations::invite(&mut work, user, place, role);
    Ok(joined(work, gid))
}

fn joined(work: Work<'_>, user: Gid) -> Decision {
    Decision {
        changes: work.changes,
        subject: Some(user),
        accounts: vec![user],
    }
}

/// Takes a user's seat, with what they belong to in that workspace.
fn remove_user(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let place = call.target(view, "workspace_gid", Level::Viewer)?;
    let name = call.required_user("user")?;
    let who = call.named(view, "user", &name, &[Type::User], Level::Viewer)?;
    let who = who.gid;
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
