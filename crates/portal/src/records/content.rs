//! Content of the record pages by type: the fields and lists to read, and the form of their values.
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::model::permalink::{page_html, page_path};
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::{ALL, resource};

use crate::pages::{RecordLine, RecordList, RecordValue};

/// Maximum number of entries of a list on a page.
const SHOWN: usize = 50;

/// A fact: its label, and the field that contains it.
type Fact = (&'static str, &'static str);

/// Page of the records of a type.
#[derive(Debug)]
pub(super) struct RecordDefinition {
    ty: Type,
    /// Name of the type, for readers.
    pub(super) kind: &'static str,
    /// Query that reads the record.
    pub(super) fields: &'static str,
    facts: &'static [Fact],
    /// Field with the rich text.
    pub(super) text: &'static str,
    pub(super) lists: &'static [ListDefinition],
}

/// List on the page of a record.
#[derive(Debug)]
pub(super) struct ListDefinition {
    heading: &'static str,
    /// Path below the record's path; a path that starts with a slash takes the record as a query parameter.
    path: &'static str,
    fields: &'static str,
    empty: &'static str,
}

const SUBTASKS: ListDefinition = ListDefinition {
    heading: "Subtasks",
    path: "subtasks",
    fields: "name,resource_type,completed,assignee,due_on",
    empty: "No subtasks.",
};
const STORIES: ListDefinition = ListDefinition {
    heading: "Comments and history",
    path: "stories",
    fields: "resource_subtype,created_at,created_by,text,html_text",
    empty: "Nothing yet.",
};
const ATTACHMENTS: ListDefinition = ListDefinition {
    heading: "Attachments",
    path: "/attachments?parent=",
    fields: "name,permanent_url,view_url",
    empty: "No attachments.",
};
const TASKS: ListDefinition = ListDefinition {
    heading: "Tasks",
    path: "tasks",
    fields: "name,resource_type,completed,assignee,due_on",
    empty: "No tasks.",
};
const SECTIONS: ListDefinition = ListDefinition {
    heading: "Sections",
    path: "sections",
    fields: "name",
    empty: "No sections.",
};
const ITEMS: ListDefinition = ListDefinition {
    heading: "Items",
    path: "items",
    fields: "name,resource_type",
    empty: "Nothing in this portfolio.",
};
const MEMBERS: ListDefinition = ListDefinition {
    heading: "Members",
    path: "users",
    fields: "name,resource_type",
    empty: "No members.",
};
const PROJECTS: ListDefinition = ListDefinition {
    heading: "Projects",
    path: "projects",
    fields: "name,resource_type",
    empty: "No projects.",
};

static DEFINITIONS: &[RecordDefinition] = &[
    RecordDefinition {
        ty: Type::Task,
        kind: "Task",
        fields: "opt_fields=name,completed,completed_at,assignee,due_on,due_at,start_on,projects,parent,tags,followers,\
                 custom_fields.name,custom_fields.display_value,created_at,created_by.name,created_by.resource_type,\
                 modified_at,html_notes,workspace",
        facts: &[
            ("Completed", "completed"),
            ("Completed on", "completed_at"),
            ("Assignee", "assignee"),
            ("Start", "start_on"),
            ("Due", "due_on"),
            ("Due at", "due_at"),
            ("Projects", "projects"),
            ("Parent", "parent"),
            ("Tags", "tags"),
            ("", "custom_fields"),
            ("Followers", "followers"),
            ("Created", "created_at"),
            ("Created by", "created_by"),
            ("Changed", "modified_at"),
            ("Workspace", "workspace"),
        ],
        text: "html_notes",
        lists: &[SUBTASKS, ATTACHMENTS, STORIES],
    },
    RecordDefinition {
        ty: Type::Project,
        kind: "Project",
        fields: "opt_fields=name,archived,completed,owner,team,start_on,due_on,current_status_update,members,created_at,\
                 modified_at,html_notes,workspace",
        facts: &[
            ("Archived", "archived"),
            ("Completed", "completed"),
            ("Owner", "owner"),
            ("Team", "team"),
            ("Start", "start_on"),
            ("Due", "due_on"),
            ("Status", "current_status_update"),
            ("Members", "members"),
            ("Created", "created_at"),
            ("Changed", "modified_at"),
            ("Workspace", "workspace"),
        ],
        text: "html_notes",
        lists: &[SECTIONS, TASKS],
    },
    RecordDefinition {
        ty: Type::Portfolio,
        kind: "Portfolio",
        fields: "opt_fields=name,owner,start_on,due_on,current_status_update,created_at,created_by.name,\
                 created_by.resource_type,workspace",
        facts: &[
            ("Owner", "owner"),
            ("Start", "start_on"),
            ("Due", "due_on"),
            ("Status", "current_status_update"),
            ("Created", "created_at"),
            ("Created by", "created_by"),
            ("Workspace", "workspace"),
        ],
        text: "",
        lists: &[ITEMS],
    },
    RecordDefinition {
        ty: Type::Tag,
        kind: "Tag",
        fields: "opt_fields=name,color,notes,created_at,workspace",
        facts: &[
            ("Colour", "color"),
            ("Notes", "notes"),
            ("Created", "created_at"),
            ("Workspace", "workspace"),
        ],
        text: "",
        lists: &[TASKS],
    },
    RecordDefinition {
        ty: Type::Team,
        kind: "Team",
        fields: "opt_fields=name,organization,visibility,html_description",
        facts: &[("Visibility", "visibility"), ("Workspace", "organization")],
        text: "html_description",
        lists: &[PROJECTS, MEMBERS],
    },
    RecordDefinition {
        ty: Type::ProjectBrief,
        kind: "Project brief",
        fields: "opt_fields=title,project,html_text",
        facts: &[("Project", "project")],
        text: "html_text",
        lists: &[],
    },
    RecordDefinition {
        ty: Type::Goal,
        kind: "Goal",
        fields: "opt_fields=name,owner,team,status,start_on,due_on,time_period,html_notes,workspace",
        facts: &[
            ("Owner", "owner"),
            ("Team", "team"),
            ("Status", "status"),
            ("Start", "start_on"),
            ("Due", "due_on"),
            ("Time period", "time_period"),
            ("Workspace", "workspace"),
        ],
        text: "html_notes",
        lists: &[STORIES],
    },
    RecordDefinition {
        ty: Type::StatusUpdate,
        kind: "Status update",
        fields: "opt_fields=title,status_type,parent,author,created_at,html_text",
        facts: &[
            ("Status", "status_type"),
            ("Of", "parent"),
            ("Author", "author"),
            ("Created", "created_at"),
        ],
        text: "html_text",
        lists: &[],
    },
    RecordDefinition {
        ty: Type::User,
        kind: "Person",
        fields: "opt_fields=name,email,workspaces",
        facts: &[("Email", "email"), ("Workspaces", "workspaces")],
        text: "",
        lists: &[],
    },
];

/// Definition for types without one; no address leads to them.
static PLAIN: RecordDefinition = RecordDefinition {
    ty: Type::Task,
    kind: "Record",
    fields: "",
    facts: &[],
    text: "",
    lists: &[],
};

/// Returns the definition of the pages of a type.
pub(super) fn definition(ty: Type) -> &'static RecordDefinition {
    let found = DEFINITIONS.iter().find(|definition| definition.ty == ty);
    found.unwrap_or(&PLAIN)
}

impl RecordDefinition {
    /// Returns the path of a record below the base of the API.
    pub(super) fn path(&self, gid: Gid) -> String {
        format!("/{}/{gid}", resource(self.ty).path)
    }

    pub(super) fn facts(&self, record: &Value) -> Vec<(String, RecordValue)> {
        let mut facts = Vec::new();
        for (label, field) in self.facts {
            let value = &record[*field];
            match (*field, value.as_array()) {
                ("custom_fields", Some(fields)) => {
                    facts.extend(fields.iter().filter_map(custom_field));
                }
                _ => facts.extend(shown(field, value).map(|value| ((*label).to_owned(), value))),
            }
        }
        facts
    }
}

/// Returns a custom field with its value, if it has one.
fn custom_field(field: &Value) -> Option<(String, RecordValue)> {
    let value = text(&field["display_value"])?;
    Some((text(&field["name"])?, RecordValue::Text(value)))
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned)
}

/// Converts the value of a field to its form on the page; `None` for a value that is not shown.
fn shown(field: &str, value: &Value) -> Option<RecordValue> {
    match value {
        Value::Bool(true) => Some(RecordValue::Text("Yes".to_owned())),
        Value::Bool(false) if field == "completed" => Some(RecordValue::Text("No".to_owned())),
        Value::String(_) if field.ends_with("_at") => text(value).map(RecordValue::Instant),
        Value::String(_) if matches!(field, "color" | "status_type" | "status" | "visibility") => {
            text(value).map(|word| RecordValue::Text(word.replace(['_', '-'], " ")))
        }
        Value::String(_) => text(value).map(RecordValue::Text),
        Value::Object(_) => Some(RecordValue::Links(vec![line(value)])),
        Value::Array(items) if !items.is_empty() => {
            Some(RecordValue::Links(items.iter().map(line).collect()))
        }
        _ => None,
    }
}

/// Returns the name of a record, or a placeholder if it has none.
pub(super) fn title(record: &Value) -> String {
    let named = ["name", "title"].iter().find_map(|key| text(&record[*key]));
    named.unwrap_or_else(|| "(no name)".to_owned())
}

/// Returns the rich text of a record as HTML, if it has one.
pub(super) fn rich_text(record: &Value, field: &str) -> Option<String> {
    let html = page_html(record[field].as_str()?).ok()?;
    (!html.trim().is_empty()).then_some(html)
}

/// Returns the path of the page of a record that is referenced by another one.
fn page_of(record: &Value) -> Option<String> {
    let name = record["resource_type"].as_str()?;
    let ty = ALL.iter().find(|of| of.name == name)?.node_type();
    let gid = Gid::parse(record["gid"].as_str()?)?;
    page_path(ty, gid, None)
}

/// Returns a record as an entry of a list.
pub(crate) fn line(record: &Value) -> RecordLine {
    let day = text(&record["due_on"]).map(|day| format!("due {day}"));
    let assignee = record.pointer("/assignee/name").and_then(text);
    let details: Vec<String> = assignee.into_iter().chain(day).collect();
    RecordLine {
        name: title(record),
        page: page_of(record),
        is_done: record["completed"].as_bool() == Some(true),
        details: details.join(", "),
        at: None,
        text: None,
    }
}

/// Returns a story as an entry of a list.
fn story(record: &Value) -> RecordLine {
    let words = text(&record["text"]).unwrap_or_default();
    let is_comment = record["resource_subtype"] == "comment_added";
    RecordLine {
        name: record
            .pointer("/created_by/name")
            .and_then(text)
            .unwrap_or_else(|| "Somebody".to_owned()),
        page: None,
        is_done: false,
        details: if is_comment { String::new() } else { words },
        at: text(&record["created_at"]),
        text: is_comment.then(|| rich_text(record, "html_text")).flatten(),
    }
}

/// Returns an attachment as an entry of a list.
fn attachment(record: &Value) -> RecordLine {
    let address = ["permanent_url", "view_url"]
        .iter()
        .find_map(|key| text(&record[*key]));
    let is_web = |address: &String| {
        ["https://", "http://"]
            .iter()
            .any(|scheme| address.starts_with(scheme))
    };
    RecordLine {
        page: address.filter(is_web),
        ..line(record)
    }
}

impl ListDefinition {
    /// Returns the path and query that read the list for a record.
    pub(super) fn request(&self, of: &RecordDefinition, gid: Gid) -> (String, String) {
        let rest = format!("limit={SHOWN}&opt_fields={}", self.fields);
        match self.path.strip_prefix('/') {
            Some(own) => {
                let (path, parameter) = own.split_once('?').unwrap_or((own, "parent="));
                (format!("/{path}"), format!("{parameter}{gid}&{rest}"))
            }
            None => (format!("{}/{}", of.path(gid), self.path), rest),
        }
    }

    /// Returns the list in the body of a reply.
    pub(super) fn content(&self, body: &Value) -> RecordList {
        let entry = match self.heading {
            "Comments and history" => story,
            "Attachments" => attachment,
            _ => line,
        };
        let records = body["data"].as_array();
        RecordList {
            heading: self.heading,
            empty: match records {
                Some(_) => self.empty,
                None => "This list can't be shown right now. Please try again in a moment.",
            },
            lines: records.into_iter().flatten().map(entry).collect(),
            has_more: !body["next_page"].is_null(),
        }
    }
}
