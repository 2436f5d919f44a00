//! Custom field settings: which custom fields the tasks of a project have.
use super::custom_fields::define;
use super::placing::Anchor;
use crate::call::{Call, allowed};
use crate::operation::{Decision, Lists, Operation, act, page as list};
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{flag, reference};
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Give, Guard, Place, Put, Ref, View, Want};
use workgraph_core::jobs::numbering::Numbering;
use workgraph_core::jobs::{self, Plot};
use workgraph_core::node::Node;
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::custom_field::FIELDS_MAX;
use workgraph_core::resources::{custom_field_setting, project};
use workgraph_core::rules::{fields, ids};
use workgraph_core::work::Work;

/// The rows.
pub static CUSTOM_FIELD_SETTINGS: &[Operation] = &[
    list(
        "getCustomFieldSettingsForProject",
        "/projects/{project_gid}/custom_field_settings",
        Type::CustomFieldSetting,
        OF_CONTAINER,
    )
    .scope("projects:read")
    .premium(PREMIUM),
    list(
        "getCustomFieldSettingsForTeam",
        "/teams/{team_gid}/custom_field_settings",
        Type::CustomFieldSetting,
        OF_CONTAINER,
    )
    .scope("teams:read")
    .premium(PREMIUM),
    act(
        "addCustomFieldSettingForProject",
        "/projects/{project_gid}/addCustomFieldSetting",
        add_needs,
        add,
    )
    .scope("projects:write")
    .body(&["custom_field"])
    .answers(Type::CustomFieldSetting)
    .premium(PREMIUM),
    act(
        "removeCustomFieldSettingForProject",
        "/projects/{project_gid}/removeCustomFieldSetting",
        remove_needs,
        remove,
    )
    .scope("projects:write")
    .body(&["custom_field"])
    .premium(PREMIUM),
];

const PREMIUM: &str = "Custom Field Settings are not available for free users.";
// Not open: the settings of a task list are its owner's alone.
const OF_CONTAINER: Lists = Lists::Edges {
    rel: rel::FIELD_ON,
    dir: Dir::In,
    give: Give::Aux,
    open: false,
};

/// The field of the body: one that exists, or the definition of one for this project alone.
enum Field<'c> {
    Existing(Gid),
    Defined(&'c Map<String, Value>),
}

fn field<'c>(call: &'c Call<'_>) -> Result<Field<'c>, Fault> {
    match call.required("custom_field")? {
        Value::Object(definition) if !definition.contains_key("gid") => {
            Ok(Field::Defined(definition))
        }
        value => {
            let text = reference("custom_field", value)?;
            crate::call::gid("custom_field", &text).map(Field::Existing)
        }
    }
}

fn add_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let place = crate::call::gid("project", call.parameter("project_gid"))?;
    let want = jobs::starting(call.want(), call.starter());
    let mut want = want.into(place, rel::FIELD_ON, FIELDS_MAX);
    if let Field::Existing(field) = field(call)? {
        want.add(field);
        want.add(Ref::Gid(field).of(By::Aux(rel::FIELD_ON, place)));
    }
    if let Some(neighbour) = Anchor::read(call, "insert_before", "insert_after")?.neighbour() {
        want.add(neighbour);
    }
    Ok(want)
}

/// A project, or the caller's task list, whose settings they may change.
fn customized<'v>(call: &Call<'_>, view: &'v View) -> Result<&'v Node, Fault> {
    let node = call.target(view, "project_gid", Level::Editor)?;
    let admins = node.get(project::CUSTOMIZE_ACCESS).as_deref() == Some("admin");
    if admins && node.ty == Type::Project {
        allowed(view, node, Level::Admin)?;
    }
    Ok(node)
}

/// The place beside the field of a setting of the same project.
fn place(call: &Call<'_>, view: &View, project: Gid) -> Result<Option<Place>, Fault> {
    let anchor = Anchor::read(call, "insert_before", "insert_after")?;
    let name = Anchor::given(call, "insert_before", "insert_after");
    let of_setting = |setting: Gid| {
        let edges = view.sources(project, rel::FIELD_ON);
        let edge = edges.iter().find(|e| e.aux == Some(setting));
        edge.map(|e| e.src)
            .ok_or_else(|| Fault::unknown_ref(name, setting))
    };
    Ok(match anchor {
        Anchor::None => None,
        Anchor::Before(setting) => Some(Place::Before(of_setting(setting)?)),
        Anchor::After(setting) => Some(Place::After(of_setting(setting)?)),
        other => Some(other.place(Place::Last)),
    })
}

fn add(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = customized(call, view)?;
    let place = place(call, view, node.gid)?;
    let important = call.field("is_important");
    let important = important.map(|v| flag("is_important", v)).transpose()?;
    let home = node.home.unwrap_or(node.gid);
    let held = view.sources(node.gid, rel::FIELD_ON);
    let mut work = call.work();
    let gid = match field(call)? {
        Field::Existing(gid) => {
            let types = &[Type::CustomField];
            let found = call.named(view, "custom_field", &Ref::Gid(gid), types, Level::Viewer)?;
            if found.home != node.home {
                return Err(Fault::field(
                    "custom_field",
                    "Not a custom field of the project's workspace",
                ));
            }
            gid
        }
        Field::Defined(definition) => define(call, &mut work, definition, home, false)
            .map_err(|f| Fault::field("custom_field", f.message))?,
    };
    // Added again, it only moves, and becomes important or not.
    if let Some(edge) = held.iter().find(|e| e.src == gid) {
        let Some(setting) = edge.aux else {
            return Err(Fault::unknown_ref("custom_field", gid));
        };
        if let Some(place) =
            place.filter(|p| !matches!(p, Place::Before(g) | Place::After(g) if *g == gid))
        {
            work.link(gid, rel::FIELD_ON, node.gid, place, edge.aux);
        }
        if let (Some(important), Some(now)) = (important, view.node(setting)) {
            let mut draft = Draft::edit(now);
            draft.set(custom_field_setting::IS_IMPORTANT, important);
            work.save(&draft);
        }
        return Ok(Decision::about(work.changes, setting));
    }
    if held.len() >= FIELDS_MAX {
        return Err(Fault::field(
            "custom_field",
            format_args!("Too many: a project has at most {FIELDS_MAX} custom fields"),
        ));
    }
    let setting = fields::add_setting(
        &mut work,
        gid,
        (node.gid, node.ty),
        home,
        important.unwrap_or(false),
        place.unwrap_or(Place::Last),
    );
    number(call, view, &mut work, node, gid)?;
    Ok(Decision::about(work.changes, setting))
}

/// If the field gives automatic ids: from now on to all tasks of the project, and by a job to those it has.
fn number(
    call: &Call<'_>,
    view: &View,
    work: &mut Work<'_>,
    node: &Node,
    field: Gid,
) -> Result<(), Fault> {
    let made = work.changes.puts.iter().map(|put| &put.node);
    let held = view.node(field).into_iter();
    let definition = held.chain(made).find(|n| n.gid == field);
    if definition.and_then(ids::prefix).is_none() {
        return Ok(());
    }
    if node.ty != Type::Project {
        return Err(Fault::field(
            "custom_field",
            "Only projects can have a field with automatic ids",
        ));
    }
    note(work, node, field, true);
    let plot = Plot::Number(Numbering::new(node.gid, field));
    let home = node.home.unwrap_or(node.gid);
    jobs::start(
        work,
        view,
        call.starter(),
        home,
        "number_tasks",
        plot,
        |_| {},
    )?;
    Ok(())
}

/// Notes in a project that a field numbers its tasks, or that it does no more. That is nobody's news.
fn note(work: &mut Work<'_>, project: &Node, field: Gid, there: bool) {
    let mut draft = Draft::edit(project);
    draft.set(project::NUMBERED_BY, ids::changed(project, field, there));
    let unchanged = Guard::Version(project.gid, project.version);
    work.changes.guards.push(unchanged);
    work.changes.puts.push(Put {
        node: draft.finish(),
    });
}

fn remove_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let place = call.path("project_gid")?;
    let field = call.required_gid("custom_field")?;
    Ok(call.want().edge(field, rel::FIELD_ON, place))
}

fn remove(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = customized(call, view)?;
    let gid = call.required_gid("custom_field")?;
    let Some(edge) = view.link(gid, rel::FIELD_ON, node.gid) else {
        return Err(Fault::not_on(gid));
    };
    let mut work = call.work();
    work.unlink(gid, rel::FIELD_ON, node.gid);
    if let Some(setting) = edge.aux {
        work.trash(setting, Type::CustomFieldSetting);
        work.lost(node.gid, node.ty, "custom_field_settings", setting);
    }
    if ids::numbering(node).any(|field| field == gid) {
        note(&mut work, node, gid, false);
    }
    Ok(Decision::of(work.changes))
}
