//! Attachments: files at tasks and projects, and links to files elsewhere.
use crate::method::Method;
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, Named, OperationInput, UploadedFile, path,
};
use crate::operation::rows::{action, computed_list};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListRequest, Operation, get};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, NAME_MAX, Type, rel};
use workgraph_core::model::resources::{attachment, story, task};
use workgraph_core::rules::stored_files::{self, StoredFile};
use workgraph_core::rules::story_rules;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{
    EdgeEnd, LinkSelector, ListPosition, ListSource, PageQuery, ReadQuery, ReadView,
};

/// Operations on attachments: a part of [`TABLES`](super::TABLES).
pub static ATTACHMENTS: &[Operation] = &[
    computed_list(
        "getAttachmentsForObject",
        "/attachments",
        Type::Attachment,
        &Description::new(attachments),
    )
    .alias_paths(&["/tasks/{task_gid}/attachments"])
    .scope("attachments:read"),
    action(
        "createAttachmentForObject",
        "/attachments",
        &Steps::new(create_attachment_needs, create_attachment),
    )
    .alias_paths(&["/tasks/{task_gid}/attachments"])
    .responds_with(Type::Attachment)
    .takes_file()
    .not_in_batch()
    .scope("attachments:write"),
    // The addresses of the content are valid for two minutes.
    get(
        "getAttachment",
        "/attachments/{attachment_gid}",
        Type::Attachment,
    )
    .time_dependent()
    .scope("attachments:read"),
    action(
        "deleteAttachment",
        "/attachments/{attachment_gid}",
        &Steps::new(delete_attachment_needs, delete_attachment),
    )
    .with_method(Method::Delete)
    .scope("attachments:delete"),
];

/// The object whose attachments are listed.
const LISTED: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "parent",
    attachment::PARENTS,
    "The task, project or project brief whose attachments are listed.",
)
.required()
.or_in_path(&path::TASK.def);
/// The object that gets the attachment.
const PARENT: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "parent",
    attachment::PARENTS,
    "The task, project or project brief that gets the attachment.",
)
.required()
.or_in_path(&path::TASK.def);
/// The kind of attachment.
const SUBTYPE: Input<&str> = Input::word(
    InputPlace::Body,
    "resource_subtype",
    &[attachment::HOSTED, attachment::EXTERNAL],
    "`asana` for a file, which is the default; `external` for a link.",
);
const FILE: Input<UploadedFile> = Input::file(
    "file",
    "The file, as a part of a multipart/form-data body; not for links.",
);
/// The address of a link.
const URL: Input<String> = Input::text(
    "url",
    attachment::URL_MAX,
    "The http or https address of a link.",
);
/// Name of a link.
const NAME: Input<String> = Input::text(
    "name",
    NAME_MAX,
    "The name of a link, or a name for a file in place of its own.",
);
/// The request to connect a link to the app.
const CONNECT: Input<bool> = Input::flag(
    InputPlace::Body,
    "connect_to_app",
    "Connects a link at a task to the OAuth app that makes the request.",
);

/// The parent of a list of attachments.
struct ListAttachments {
    parent: Named<Gid>,
}

impl OperationInput for ListAttachments {
    const INPUTS: &'static [&'static InputDef] = &[&LISTED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            parent: inputs.required(&LISTED)?,
        })
    }
}

fn attachments(
    call: &RequestContext<'_>,
    input: &ListAttachments,
) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let source = ListSource::Edges {
        anchor: query.add_ref(input.parent.node),
        rel: rel::ATTACHED_TO,
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    };
    Ok(ListRequest {
        query,
        page: PageQuery::of(source, true, 0),
        computed: false,
        anchor: input.parent.input.name,
        anchor_types: input.parent.input.types(),
        referenced: Vec::new(),
    })
}

/// Content of a new attachment: a file, or an address.
#[derive(Clone)]
enum Content {
    /// A file that is already stored.
    File(UploadedFile),
    /// The address of a link, and true if it should be connected to the app.
    Link(String, bool),
}

/// Inputs of a new attachment.
struct CreateAttachment {
    parent: Named<Gid>,
    name: String,
    content: Content,
}

impl OperationInput for CreateAttachment {
    const INPUTS: &'static [&'static InputDef] = &[
        &PARENT.def,
        &SUBTYPE.def,
        &FILE.def,
        &URL.def,
        &NAME.def,
        &CONNECT.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let parent = inputs.required(&PARENT)?;
        let subtype = inputs.optional(&SUBTYPE)?;
        let file = inputs.optional(&FILE)?;
        let url = inputs.optional(&URL)?;
        let name = inputs.optional(&NAME)?;
        let name = name.filter(|name| !name.trim().is_empty());
        let connects = inputs.or_default(&CONNECT)?;
        let (name, content) = if subtype == Some(attachment::EXTERNAL) {
            if file.is_some() {
                return Err(DomainError::field(
                    "file",
                    "An external attachment is a link, not a file",
                ));
            }
            let url = url.ok_or_else(|| DomainError::missing("url"))?;
            if !attachment::is_web_address(&url) {
                return Err(DomainError::field(
                    "url",
                    "Not a web address; it begins with http:// or https://",
                ));
            }
            let name = name.ok_or_else(|| DomainError::missing("name"))?;
            (name, Content::Link(url, connects))
        } else {
            let reason = "Only a link has one; set resource_subtype to external";
            if url.is_some() {
                return Err(DomainError::field("url", reason));
            }
            if connects {
                return Err(DomainError::field("connect_to_app", reason));
            }
            let file = file.ok_or_else(|| DomainError::missing("file"))?;
            let name = name.or_else(|| file.name.clone());
            (
                name.unwrap_or_else(|| "file".to_owned()),
                Content::File(file),
            )
        };
        Ok(Self {
            parent,
            name,
            content,
        })
    }
}

fn create_attachment_needs(
    call: &RequestContext<'_>,
    input: &CreateAttachment,
) -> Result<ReadQuery, DomainError> {
    let query = call.read_query().node(input.parent.node);
    Ok(match input.content {
        Content::File(_) => stored_files::read_totals(query, call.user_gid(), input.parent.node),
        Content::Link(..) => query,
    })
}

/// Returns the level needed to attach to an object, and to remove one's own attachments from it.
fn least_level(parent: Option<&Node>) -> Level {
    match parent {
        Some(node) if node.ty == Type::Task => Level::Commenter,
        _ => Level::Editor,
    }
}

fn create_attachment(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateAttachment,
) -> Result<Decision, DomainError> {
    let least = least_level(view.node(input.parent.node));
    let parent = call.named_node(view, &input.parent, least)?;
    let mut work = call.change_builder();
    let gid = match &input.content {
        Content::File(file) => file.gid,
        Content::Link(..) => work.next_gid(),
    };
    let mut draft = Draft::new(Type::Attachment, gid, parent.workspace);
    draft.set(attachment::NAME, input.name.as_str());
    draft.set(attachment::CREATED_AT, work.now);
    draft.set(attachment::CREATED_BY, call.user_gid());
    match &input.content {
        Content::File(file) => {
            draft.set(attachment::SUBTYPE, attachment::HOSTED);
            draft.set(attachment::FILE, file.gid);
            let size = i64::try_from(file.size).unwrap_or(i64::MAX);
            draft.set(attachment::SIZE, size);
            let stored = StoredFile {
                file: file.gid,
                user: call.user_gid(),
                workspace: parent.workspace,
                bytes: file.size,
            };
            let quotas = &call.settings.attachments;
            stored_files::require_room(&mut work, view, &stored, &quotas.quotas())?;
            stored_files::count(&mut work, &stored, None);
        }
        Content::Link(url, connects) => {
            draft.set(attachment::SUBTYPE, attachment::EXTERNAL);
            draft.set(attachment::URL, url.as_str());
            if *connects {
                let app = connecting_app(call, parent)?;
                draft.set(attachment::APP, app.to_string().as_str());
            }
        }
    }
    work.create(&draft, Some(parent.gid));
    let last = ListPosition::Rank(work.now.millis());
    work.link(gid, rel::ATTACHED_TO, parent.gid, last, None);
    if parent.ty == Type::Task {
        let workspace = parent.workspace;
        story_rules::add_system_story(
            &mut work,
            parent.gid,
            workspace,
            "attachment_added",
            |story| {
                story.set(story::ATTACHMENT, gid);
            },
        );
        touch(&mut work, parent);
    }
    Ok(Decision::about(work.changes, gid))
}

/// Returns the app to connect a link with: the app of the request's token.
fn connecting_app(call: &RequestContext<'_>, parent: &Node) -> Result<u64, DomainError> {
    if parent.ty != Type::Task {
        return Err(DomainError::field(
            CONNECT.def.name,
            "Only a link at a task can be connected to an app",
        ));
    }
    call.grant.app.ok_or_else(|| {
        DomainError::field(
            CONNECT.def.name,
            "Only a request with an OAuth token of an app can connect to it",
        )
    })
}

/// Sets a task's `modified_at` to the current time.
fn touch(work: &mut ChangeBuilder<'_>, node: &Node) {
    let mut task = Draft::edit(node);
    task.set(task::MODIFIED_AT, work.now);
    work.save(&task);
}

struct DeleteAttachment {
    attachment: Named<Gid>,
}

impl OperationInput for DeleteAttachment {
    const INPUTS: &'static [&'static InputDef] = &[&path::ATTACHMENT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            attachment: inputs.required(&path::ATTACHMENT)?,
        })
    }
}

fn delete_attachment_needs(
    call: &RequestContext<'_>,
    input: &DeleteAttachment,
) -> Result<ReadQuery, DomainError> {
    let attachment = input.attachment.node_ref();
    let parent = attachment
        .clone()
        .of(LinkSelector::FirstEdge(rel::ATTACHED_TO));
    Ok(call.read_query().node(attachment).node(parent))
}

fn delete_attachment(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DeleteAttachment,
) -> Result<Decision, DomainError> {
    let parent = input.attachment.node_ref();
    let parent = view.resolve(&parent.of(LinkSelector::FirstEdge(rel::ATTACHED_TO)));
    let parent = parent.and_then(|gid| view.node(gid));
    let own = view.node(input.attachment.node);
    let own = own.is_some_and(|node| node.get(attachment::CREATED_BY) == Some(call.user_gid()));
    let least = if own {
        least_level(parent)
    } else {
        Level::Editor
    };
    let node = call.named_node(view, &input.attachment, least)?;
    let mut work = call.change_builder();
    work.trash(node.gid, Type::Attachment);
    if let Some(task) = parent.filter(|node| node.ty == Type::Task) {
        touch(&mut work, task);
    }
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
