//! Reader of the whole content of a workspace as records of the API, including private ones.
use crate::admin::admin_service::AdminService;
use anyhow::{Context, Result};
use serde_json::Value;
use workgraph_core::access::Level;
use workgraph_core::byte_budgets::JOB_STEP_BYTES;
use workgraph_core::model::registry::{Direction, Relation};
use workgraph_core::plan::{FieldPaths, resolve_fields};
use workgraph_core::projection::projector::Projector;
use workgraph_core::storage::{EdgeEnd, ListSource, PageQuery, ViewerKey};
use workgraph_core::{Gid, Node, Type, tasks_of_container};

/// Number of records that are read at once.
const PAGE: usize = 200;
/// Key of the creator in a stored node.
const CREATOR: &str = "created_by";
/// Keys of the rich texts in a stored node.
const RICH_TEXTS: [&str; 3] = ["html_notes", "html_text", "html_description"];

/// Record of an object, as the API sends it.
pub(crate) struct Record {
    pub(crate) gid: Gid,
    /// Requested fields, in the form of the API.
    pub(crate) fields: Value,
    /// Rich text in the stored form, which does not contain the names of linked objects.
    pub(crate) html: Option<String>,
    /// User who created it, if known.
    pub(crate) creator: Option<Gid>,
    /// True if an app stores external data with it.
    pub(crate) has_external: bool,
}

impl Record {
    /// Returns the text at a JSON pointer.
    pub(crate) fn text(&self, pointer: &str) -> Option<&str> {
        self.fields.pointer(pointer).and_then(Value::as_str)
    }

    /// Returns the gid at a JSON pointer.
    pub(crate) fn gid_at(&self, pointer: &str) -> Option<Gid> {
        self.text(pointer).and_then(Gid::parse)
    }

    /// Returns true if the value at a JSON pointer is `true`.
    pub(crate) fn flag(&self, pointer: &str) -> bool {
        self.fields.pointer(pointer) == Some(&Value::Bool(true))
    }

    /// Returns the items of the list at a JSON pointer.
    pub(crate) fn items(&self, pointer: &str) -> &[Value] {
        let items = self.fields.pointer(pointer).and_then(Value::as_array);
        items.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the gids in the list at a JSON pointer; `within` points to the gid in each item.
    pub(crate) fn gids(&self, pointer: &str, within: &str) -> Vec<Gid> {
        let gid = |item: &Value| Gid::parse(item.pointer(within)?.as_str()?);
        self.items(pointer).iter().filter_map(gid).collect()
    }
}

/// Reader of one workspace, for all of its objects.
#[derive(Clone, Copy)]
pub(crate) struct WorldReader<'a> {
    pub(crate) service: &'a AdminService,
    pub(crate) workspace: Gid,
}

impl WorldReader<'_> {
    /// Returns all records of a type, in the order of their creation. `fields` has the form of `opt_fields`.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn records(&self, ty: Type, fields: &str) -> Result<Vec<Record>> {
        let plan = resolve_fields(ty, &FieldPaths::parse(fields)?).plan;
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let view = self.service.read(|want| {
                want.viewer.service = Some(self.workspace);
                let anchor = want.add_ref(self.workspace);
                want.page = Some(PageQuery {
                    after,
                    ..PageQuery::of(ListSource::InWorkspace { anchor, ty }, true, PAGE)
                });
                want.page_plan = Some(plan.clone());
            });
            let view = view.await?;
            let base_url = &self.service.api.settings().base_url;
            let mut projector = Projector::appending(Vec::new(), &view, base_url, JOB_STEP_BYTES);
            projector.list(&view.rows.gids, &plan);
            let (bytes, _) = projector.finish()?;
            for fields in serde_json::from_slice::<Vec<Value>>(&bytes)? {
                let gid = fields.get("gid").and_then(Value::as_str);
                let gid = gid.and_then(Gid::parse).context("a record has no gid")?;
                let node = view.node(gid);
                all.push(Record {
                    gid,
                    html: node.and_then(html),
                    creator: node.and_then(|node| node.link(CREATOR)),
                    has_external: node.is_some_and(|node| node.raw("external").is_some()),
                    fields,
                });
            }
            after = view.rows.next.clone();
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Returns the number of nodes of a type.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn count(&self, ty: Type) -> Result<usize> {
        let rows = self.rows(self.workspace, |anchor| ListSource::InWorkspace {
            anchor,
            ty,
        });
        Ok(rows.await?.len())
    }

    /// Returns the nodes with edges of a relation to a node, in the order of the list.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn sources(&self, node: Gid, rel: Relation) -> Result<Vec<Gid>> {
        let source = |anchor| ListSource::Edges {
            anchor,
            rel,
            dir: Direction::In,
            give: EdgeEnd::OtherEnd,
        };
        self.rows(node, source).await
    }

    /// Returns the tasks of a project, in their order.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn tasks_of(&self, project: Gid) -> Result<Vec<Gid>> {
        self.rows(project, |anchor| tasks_of_container(anchor, false))
            .await
    }

    async fn rows(&self, node: Gid, source: impl Fn(usize) -> ListSource) -> Result<Vec<Gid>> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let view = self.service.read(|want| {
                want.viewer.service = Some(self.workspace);
                let anchor = want.add_ref(node);
                want.page = Some(PageQuery {
                    after,
                    ..PageQuery::of(source(anchor), true, PAGE)
                });
            });
            let view = view.await?;
            all.extend_from_slice(&view.rows.gids);
            after = view.rows.next.clone();
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Returns the level that a user has on a node.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn level(&self, user: Gid, node: Gid) -> Result<Level> {
        let view = self.service.read(|want| {
            want.viewer = ViewerKey {
                user,
                service: None,
            };
            want.add_ref(node);
        });
        Ok(view.await?.level(node))
    }
}

/// Returns the rich text of a node.
fn html(node: &Node) -> Option<String> {
    let raw = RICH_TEXTS.iter().find_map(|key| node.raw(key))?;
    serde_json::from_str(raw).ok()
}
