//! Projection: converts a view to JSON bytes according to a plan.
mod field_values;
mod links;
#[cfg(test)]
mod tests;
mod tombstones;

pub use crate::model::computed_field::DownloadUrls;
pub use crate::model::node_head::head;

use crate::domain_error::DomainError;
use crate::interrupt::{InterruptReason, StepCounter};
use crate::model::body_reader::BodyReader;
use crate::model::computed_field::ComputedFieldContext;
use crate::model::custom_field_values::gids;
use crate::model::edge::Edge;
use crate::model::external_data;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Direction, FieldSource, Inclusion, MentionRule, ValueType};
use crate::model::resources::resource;
use crate::plan::{LinkPlan, Plan, PlanStep};
use crate::projection::mentions;
use crate::projection::projection_context::ProjectionContext;
use crate::storage::ReadView;
use field_values::RenderedDefinition;
use rustc_hash::FxHashMap;

/// Writer of records: it appends them as JSON to a buffer.
#[derive(Debug)]
pub struct Projector<'a> {
    scene: ProjectionContext<'a>,
    out: Vec<u8>,
    /// Maximum number of bytes that the buffer may have; 0 once the work was stopped.
    limit: usize,
    /// Spans of linked records that were already written, to be copied.
    written: FxHashMap<(usize, Gid), OutputSpan>,
    /// Custom fields of tasks by plan and field: the display format of their values, and the span of the buffer with
    /// the definition's part of the record. `None` for fields that the viewer may not see.
    columns: FxHashMap<(usize, Gid), Option<RenderedDefinition>>,
    tally: ProjectionCounts,
    pace: StepCounter,
    /// Reason why the work was stopped, if it was; nothing more is written then.
    stopped: Option<ProjectionStop>,
    #[cfg(test)]
    way: Option<tests::Way>,
}

/// Counts of the written records and links, for the cost of the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProjectionCounts {
    /// Number of records.
    pub objects: u32,
    /// Number of links from one object to another that were followed for the records, each counted as often as it was written.
    pub links: u32,
    /// Number of steps of loading both the shown data and data that was not shown in the end: [`ReadView::steps`].
    pub steps: u64,
}

/// Number of fields, and of copied bytes, that are written in the time of one step.
const FIELDS: usize = 8;
const BYTES: usize = 256;

/// Reason why nothing more is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProjectionStop {
    /// The interrupt of the view has stopped the work.
    Interrupted(InterruptReason),
    /// The next bytes would exceed the byte budget.
    Exceeded,
}

/// A part of the buffer that is copied if the same record appears again.
#[derive(Clone, Copy, Debug)]
struct OutputSpan {
    start: usize,
    end: usize,
    /// Number of links in it.
    links: u32,
}

impl<'a> Projector<'a> {
    /// Returns a projector that appends to a buffer, such as the start of an envelope, and writes at most `budget`
    /// bytes.
    #[must_use]
    pub fn appending(out: Vec<u8>, view: &'a ReadView, base_url: &'a str, budget: usize) -> Self {
        Self {
            scene: ProjectionContext {
                view,
                fields: ComputedFieldContext {
                    viewer: view.viewer.user,
                    app: view.app,
                    base_url,
                    files: None,
                },
            },
            limit: out.len().saturating_add(budget),
            out,
            written: FxHashMap::default(),
            columns: FxHashMap::default(),
            tally: ProjectionCounts::default(),
            pace: StepCounter::of(&view.interrupt),
            stopped: None,
            #[cfg(test)]
            way: None,
        }
    }

    /// Sets the source of addresses of files.
    #[must_use]
    pub fn with_downloads(mut self, files: &'a dyn DownloadUrls) -> Self {
        self.scene.fields.files = Some(files);
        self
    }

    /// Writes one record; `null` if the viewer may not see it.
    pub fn record(&mut self, gid: Gid, plan: &Plan) {
        self.tally.objects += 1;
        match self.visible(gid) {
            Some(node) => self.object(node, plan),
            None => self.raw("null"),
        }
    }

    /// Writes an array of records.
    pub fn list(&mut self, gids: &[Gid], plan: &Plan) {
        self.byte(b'[');
        let mut first = true;
        for gid in gids {
            if self.stopped.is_some() {
                return;
            }
            if let Some(node) = self.visible(*gid) {
                self.tally.objects += 1;
                self.comma(&mut first);
                self.object(node, plan);
            }
        }
        self.byte(b']');
    }

    /// Writes records, each on a separate line.
    pub fn lines(&mut self, gids: &[Gid], plan: &Plan) {
        for gid in gids {
            if self.stopped.is_some() {
                return;
            }
            if let Some(node) = self.visible(*gid) {
                self.tally.objects += 1;
                self.object(node, plan);
                self.raw("\n");
            }
        }
    }

    /// Writes records, each after the text `between`.
    pub fn joined(&mut self, gids: &[Gid], plan: &Plan, between: &str) {
        for gid in gids {
            if self.stopped.is_some() {
                return;
            }
            if let Some(node) = self.visible(*gid) {
                self.tally.objects += 1;
                self.raw(between);
                self.object(node, plan);
            }
        }
    }

    /// Returns the buffer, with the counts of the records and links written into it.
    ///
    /// # Errors
    /// Returns an error if the records exceed the byte budget, or the interrupt of the view stopped the work.
    pub fn finish(mut self) -> Result<(Vec<u8>, ProjectionCounts), DomainError> {
        self.fits(0);
        match self.stopped {
            Some(ProjectionStop::Interrupted(interrupted)) => Err(interrupted.into()),
            Some(ProjectionStop::Exceeded) => Err(DomainError::too_large(
                "opt_fields: More would have to be written than the budget holds; name fewer fields or shorter paths",
            )),
            None => {
                self.tally.steps = self.scene.view.steps;
                Ok((self.out, self.tally))
            }
        }
    }

    /// Counts steps; returns false if the work has stopped.
    #[inline]
    fn steps(&mut self, steps: usize) -> bool {
        if let Err(interrupted) = self.pace.steps(steps) {
            self.stop(ProjectionStop::Interrupted(interrupted));
        }
        self.stopped.is_none()
    }

    /// Returns true if the budget has room for this many more bytes; after the first refusal always false.
    #[inline]
    fn fits(&mut self, more: usize) -> bool {
        // This check runs every few bytes, so a stop is also kept in the limit. The sum of two lengths in memory never
        // overflows.
        if self.out.len() + more <= self.limit {
            return true;
        }
        self.stop(ProjectionStop::Exceeded);
        false
    }

    /// Stops the work, unless it has already been stopped.
    #[cold]
    fn stop(&mut self, reason: ProjectionStop) {
        self.stopped.get_or_insert(reason);
        self.limit = 0;
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        if self.fits(bytes.len()) {
            self.out.extend_from_slice(bytes);
        }
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if self.fits(1) {
            self.out.push(byte);
        }
    }

    #[inline]
    fn raw(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Copies a span that was already written, and counts its links again.
    #[inline]
    fn copy(&mut self, part: OutputSpan) {
        #[cfg(test)]
        if self.copied_carelessly(part) {
            return;
        }
        let length = part.end - part.start;
        if self.steps(1 + length / BYTES) && self.fits(length) {
            self.out.extend_from_within(part.start..part.end);
            self.tally.links = self.tally.links.saturating_add(part.links);
        }
    }

    #[inline]
    fn comma(&mut self, first: &mut bool) {
        if !std::mem::take(first) {
            self.byte(b',');
        }
    }

    fn visible(&self, gid: Gid) -> Option<&'a Node> {
        self.scene.view.visible(gid)
    }

    fn object(&mut self, node: &Node, plan: &Plan) {
        if self.stopped.is_some() {
            return;
        }
        let plan = plan.of(node.ty);
        if !self.steps(1 + plan.steps.len() / FIELDS) {
            return;
        }
        if plan.is_head {
            self.raw(&node.head);
            return;
        }
        if node.version == Node::TOMBSTONE {
            return self.tombstone(node, plan);
        }
        self.byte(b'{');
        let mut first = true;
        let mut body = match plan.reads_body {
            true => BodyReader::new(&node.body),
            false => BodyReader::of_text(&node.head),
        };
        for step in &plan.steps {
            self.field(node, &mut body, step, &mut first);
        }
        self.byte(b'}');
    }

    /// Returns true if the node's link under a stored key is empty, or leads to a node that the viewer may not see.
    fn is_behind(&self, node: &Node, link: &str) -> bool {
        let target = node.raw(link).and_then(|v| Gid::parse(v.trim_matches('"')));
        target.is_none_or(|gid| self.visible(gid).is_none())
    }

    #[inline]
    fn name(&mut self, step: &PlanStep, first: &mut bool) {
        if std::mem::take(first) {
            self.bytes(step.quoted_name.first());
        } else {
            self.bytes(step.quoted_name.following());
        }
    }

    fn field(&mut self, node: &Node, body: &mut BodyReader<'_>, step: &PlanStep, first: &mut bool) {
        let def = step.def;
        if def.applies_to.is_some_and(|only| !only(node)) {
            return;
        }
        if let (FieldSource::Stored(key), LinkPlan::Group(parts)) = (def.source, &step.link_plan) {
            return self.group(node, body.find(key), step, parts, first);
        }
        if def
            .visible_through
            .is_some_and(|link| self.is_behind(node, link))
        {
            if def.inclusion != Inclusion::FullIfSet || body.find(def.name).is_some() {
                self.name(step, first);
                self.raw(def.default);
            }
            return;
        }
        match def.source {
            // A definition alone has no value.
            FieldSource::Value(_) => return,
            FieldSource::Gids(key) => {
                let value = body.find(key);
                if value.is_some() || def.inclusion != Inclusion::FullIfSet {
                    self.name(step, first);
                    self.links(value.into_iter().flat_map(gids), step);
                }
                return;
            }
            FieldSource::Values(key) => {
                self.name(step, first);
                self.values(node, body.find(key), step);
                return;
            }
            FieldSource::PerApp(key) => {
                let app = self.scene.view.app;
                let value = app.and_then(|app| external_data::of(body.find(key)?, app));
                if value.is_some() || step.explicit {
                    self.name(step, first);
                    self.raw(value.unwrap_or(def.default));
                }
                return;
            }
            FieldSource::Stored(key) | FieldSource::Inline(key) => {
                let value = body.find(key);
                if value.is_none() && def.inclusion == Inclusion::FullIfSet {
                    return;
                }
                self.name(step, first);
                let text = (def.mentions, def.value_type);
                if def.mentions != MentionRule::Nothing
                    && let Some(written) = mentions::write(text, node, &self.scene, &mut self.out)
                {
                    self.tally.links = self.tally.links.saturating_add(written.named);
                    self.steps(written.steps);
                    self.fits(0);
                    return;
                }
                match (value, def.source) {
                    (Some(value), FieldSource::Inline(_)) => {
                        self.link(Gid::parse(value.trim_matches('"')), step)
                    }
                    (Some(value), _) => self.raw(value),
                    (None, _) => self.raw(def.default),
                }
                return;
            }
            _ => self.name(step, first),
        }
        match def.source {
            FieldSource::Gid => self.gid(node.gid),
            FieldSource::TypeName => {
                self.byte(b'"');
                self.raw(resource(node.ty).name);
                self.byte(b'"');
            }
            FieldSource::Workspace => self.link(node.workspace, step),
            FieldSource::Always(json) => self.raw(json),
            FieldSource::Computed(write) => {
                write(node, &self.scene.fields, &mut self.out);
                self.fits(0);
            }
            FieldSource::Permalink(rel) => self.permalink(node, rel),
            FieldSource::WithProgress(write) => {
                let progress = self.scene.view.progress.get(&node.gid);
                write(node, progress.copied(), &mut self.out);
                self.fits(0);
            }
            FieldSource::Count(rel, Direction::Out) => {
                self.number(self.scene.view.links(node.gid, rel).len() as u64)
            }
            FieldSource::Count(rel, Direction::In) => {
                self.number(self.scene.view.count(node.gid, rel))
            }
            FieldSource::HasViewer(rel) => {
                let viewer = self.scene.view.viewer.user;
                let on = self.scene.view.link(node.gid, rel, viewer).is_some();
                self.raw(if on { "true" } else { "false" });
            }
            FieldSource::Summary(rel) => {
                self.byte(b'[');
                if let LinkPlan::Items(parts) = &step.link_plan
                    && !self.scene.view.links(node.gid, rel).is_empty()
                {
                    self.byte(b'{');
                    let mut none = true;
                    for part in parts {
                        self.field(node, body, part, &mut none);
                    }
                    self.byte(b'}');
                }
                self.byte(b']');
            }
            FieldSource::Edges(rel, dir) => {
                let view = self.scene.view;
                let edges = if dir == Direction::Out {
                    view.links(node.gid, rel)
                } else {
                    view.sources(node.gid, rel)
                };
                match &step.link_plan {
                    LinkPlan::Items(parts) => self.items(edges, parts),
                    _ if matches!(def.value_type, ValueType::One(_)) => {
                        self.link(edges.first().map(|e| far(e, dir)), step)
                    }
                    _ => self.links(edges.iter().map(|e| far(e, dir)), step),
                }
            }
            FieldSource::Aux(rel, dir) => {
                let view = self.scene.view;
                let edges = match dir {
                    Direction::Out => view.links(node.gid, rel),
                    Direction::In => view.sources(node.gid, rel),
                };
                self.links(edges.iter().filter_map(|e| e.aux), step);
            }
            FieldSource::Stored(_)
            | FieldSource::Inline(_)
            | FieldSource::Gids(_)
            | FieldSource::PerApp(_)
            | FieldSource::Values(_)
            | FieldSource::Value(_)
            | FieldSource::ItemTarget
            | FieldSource::ItemAux
            | FieldSource::ItemAuxGid => {
                self.raw("null");
            }
        }
    }

    /// Writes an inline object that is also stored as an object: its parts are read from it as from a body.
    fn group(
        &mut self,
        node: &Node,
        value: Option<&str>,
        step: &PlanStep,
        parts: &[PlanStep],
        first: &mut bool,
    ) {
        let Some(value) = value else {
            if step.def.inclusion != Inclusion::FullIfSet {
                self.name(step, first);
                self.raw(step.def.default);
            }
            return;
        };
        self.name(step, first);
        self.byte(b'{');
        let (mut inner, mut none) = (BodyReader::of_text(value), true);
        for part in parts {
            self.field(node, &mut inner, part, &mut none);
        }
        self.byte(b'}');
    }

    fn gid(&mut self, gid: Gid) {
        self.byte(b'"');
        self.number(gid.get());
        self.byte(b'"');
    }

    fn number(&mut self, number: u64) {
        self.raw(itoa::Buffer::new().format(number));
    }
}

fn far(edge: &Edge, dir: Direction) -> Gid {
    if dir == Direction::Out {
        edge.dst
    } else {
        edge.src
    }
}
