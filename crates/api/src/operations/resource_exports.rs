//! Exports of resources: what is asked for, and starting them.
use super::exports::made;
use crate::call::{Call, gid};
use crate::operation::Decision;
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::audit::kind::RESOURCE_EXPORT_STARTED;
use workgraph_core::check::{self, clip, shown};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Guard, Place, Ref, View, Want};
use workgraph_core::jobs::bulk::{Bulk, Filters, PEOPLE, Part, TIMES, What};
use workgraph_core::jobs::export::Mark;
use workgraph_core::jobs::{self, Plot};
use workgraph_core::plan::Names;
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::job;
use workgraph_core::time::Time;

/// The field of the body that says what is exported.
const PARTS: &str = "export_request_parameters";
/// The most parts of one export.
const PARTS_MAX: usize = 20;
/// The most users that one filter names.
const USERS_MAX: usize = 100;
/// The most users that all filters together name: the job keeps them in its record, which is written
/// at every checkpoint.
const ALL_USERS_MAX: usize = 200;

pub(super) fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let workspace = call.required_gid("workspace")?;
    let mut want = jobs::starting(call.want(), call.starter()).into(workspace, rel::EXPORTS, 1);
    for part in parts(call)? {
        for user in part.filters.people.iter().flat_map(|(_, users)| users) {
            want.add(*user);
        }
    }
    Ok(want)
}

pub(super) fn export(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let name = Ref::Gid(call.required_gid("workspace")?);
    let types = &[Type::Workspace];
    let workspace = call.named(view, "workspace", &name, types, Level::Viewer)?;
    call.premium(view, workspace)?;
    let parts = parts(call)?;
    for (at, part) in parts.iter().enumerate() {
        for (name, users) in &part.filters.people {
            for (i, user) in users.iter().enumerate() {
                let field = format!("{PARTS}: [{at}]: filters: {name}: [{i}]");
                let (user, types) = (Ref::Gid(*user), &[Type::User]);
                call.named(view, &field, &user, types, Level::Viewer)?;
            }
        }
    }
    let workspace = workspace.gid;
    if !view.sources(workspace, rel::EXPORTS).is_empty() {
        return Err(Fault::forbidden(
            "An export of resources of this workspace is in progress; there can be one at a time.",
        ));
    }
    let mut work = call.work();
    work.told(RESOURCE_EXPORT_STARTED, workspace, workspace);
    let new = made(call, &mut work, Type::ResourceExport, workspace);
    let plot = Bulk {
        workspace,
        to: new,
        base_url: call.settings.base_url.clone(),
        mark: Mark::default(),
        parts,
        after: None,
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.starter(),
        workspace,
        "export_request",
        Plot::Bulk(plot),
        |draft| draft.set(job::NEW_RESOURCE_EXPORT, new),
    )?;
    let alone = Guard::Empty(workspace, rel::EXPORTS);
    work.changes.guards.push(alone);
    work.link(gid, rel::EXPORTS, workspace, Place::Rank(0), None);
    Ok(Decision::about(work.changes, gid))
}

/// What the body asks for.
fn parts(call: &Call<'_>) -> Result<Vec<Part>, Fault> {
    let list = list(PARTS, call.required(PARTS)?)?;
    if list.is_empty() || list.len() > PARTS_MAX {
        let why = format_args!("Must have 1 to {PARTS_MAX} items, not: {}", list.len());
        return Err(Fault::field(PARTS, why));
    }
    let parts = list.iter().enumerate();
    let parts: Vec<Part> = parts
        .map(|(at, value)| part(&format!("{PARTS}: [{at}]"), value))
        .collect::<Result<_, _>>()?;
    let filters = parts.iter().flat_map(|part| &part.filters.people);
    let users: usize = filters.map(|(_, users)| users.len()).sum();
    if users > ALL_USERS_MAX {
        let why =
            format_args!("Must name at most {ALL_USERS_MAX} users in all filters, not: {users}");
        return Err(Fault::field(PARTS, why));
    }
    Ok(parts)
}

fn part(at: &str, value: &Value) -> Result<Part, Fault> {
    let map = object(at, value)?;
    let field = format!("{at}: resource_type");
    let word = map.get("resource_type").filter(|v| !v.is_null());
    let word = check::string(&field, word.ok_or_else(|| Fault::missing(&field))?)?;
    let known = What::NAMES.iter().find(|(name, _)| *name == word);
    let Some((_, what)) = known else {
        let names: Vec<&str> = What::NAMES.iter().map(|(name, _)| *name).collect();
        let (word, names) = (clip(word), names.join(", "));
        let why = format_args!("Not a recognized value: {word}; it is one of {names}");
        return Err(Fault::field(&field, why));
    };
    let field = format!("{at}: filters");
    let filters = match map.get("filters").filter(|v| !v.is_null()) {
        Some(value) => filters(&field, object(&field, value)?)?,
        None => Filters::default(),
    };
    if *what == What::Team && filters != Filters::default() {
        return Err(Fault::field(&field, "Teams cannot be filtered"));
    }
    let fields = map.get("fields").filter(|v| !v.is_null());
    let fields = fields.map(|value| fields_of(&format!("{at}: fields"), value));
    Ok(Part {
        what: *what,
        filters,
        fields: fields.transpose()?.flatten(),
    })
}

/// The named fields, as in `opt_fields`; none if the list is empty.
fn fields_of(at: &str, value: &Value) -> Result<Option<String>, Fault> {
    let mut names = Vec::new();
    match value {
        Value::String(text) => names.push(text.as_str()),
        _ => {
            for (i, name) in list(at, value)?.iter().enumerate() {
                names.push(check::string(&format!("{at}: [{i}]"), name)?);
            }
        }
    }
    let names = names.join(",");
    if check::split(&names).is_empty() {
        return Ok(None);
    }
    Names::parse(&names).map_err(|fault| {
        let why = fault.message.trim_start_matches("opt_fields: ");
        Fault::field(at, why)
    })?;
    Ok(Some(names))
}

fn filters(at: &str, map: &Map<String, Value>) -> Result<Filters, Fault> {
    let mut filters = Filters::default();
    let mut bounds = Vec::new();
    for (name, value) in map.iter().filter(|(_, v)| !v.is_null()) {
        let field = format!("{at}: {name}");
        if PEOPLE.iter().any(|(known, _)| known == name) {
            filters.people.push((name.clone(), users(&field, value)?));
            continue;
        }
        let (time, end) = name.rsplit_once('.').unwrap_or((name, ""));
        if !TIMES.iter().any(|(known, _)| *known == time) || !matches!(end, "after" | "before") {
            return Err(unknown(at, name));
        }
        let instant = Time::parse(check::string(&field, value)?);
        let instant = instant.map_err(|e| Fault::field(&field, e))?.millis();
        bounds.push((time, end == "after", instant));
    }
    for (time, _) in TIMES {
        let of = bounds.iter().filter(|(name, ..)| name == time);
        let (mut first, mut last) = (i64::MIN, i64::MAX);
        for (_, after, instant) in of.clone() {
            // Both leave out the instant itself.
            if *after {
                first = instant.saturating_add(1);
            } else {
                last = instant.saturating_sub(1);
            }
        }
        if of.count() > 0 {
            filters.times.push(((*time).to_owned(), first, last));
        }
    }
    Ok(filters)
}

fn unknown(at: &str, name: &str) -> Fault {
    let people = PEOPLE.iter().map(|(known, _)| (*known).to_owned());
    let times = TIMES
        .iter()
        .flat_map(|(known, _)| [format!("{known}.after"), format!("{known}.before")]);
    let all: Vec<String> = people.chain(times).collect();
    let (name, all) = (clip(name), all.join(", "));
    Fault::field(
        at,
        format_args!("Not a recognized filter: {name}; it is one of {all}"),
    )
}

fn users(at: &str, value: &Value) -> Result<Vec<Gid>, Fault> {
    let list = check::references(at, value)?;
    if list.is_empty() || list.len() > USERS_MAX {
        let why = format_args!("Must have 1 to {USERS_MAX} users, not: {}", list.len());
        return Err(Fault::field(at, why));
    }
    let users = list.iter().enumerate();
    users
        .map(|(i, user)| gid(&format!("{at}: [{i}]"), user))
        .collect()
}

fn list<'v>(at: &str, value: &'v Value) -> Result<&'v Vec<Value>, Fault> {
    let wrong = || Fault::field(at, format_args!("Value is not an array: {}", shown(value)));
    value.as_array().ok_or_else(wrong)
}

fn object<'v>(at: &str, value: &'v Value) -> Result<&'v Map<String, Value>, Fault> {
    let wrong = || {
        let why = format_args!("Value is not a JSON object: {}", shown(value));
        Fault::field(at, why)
    };
    value.as_object().ok_or_else(wrong)
}
