//! Projection: a plan over a view becomes JSON bytes.
mod body;
mod head;
mod links;
#[cfg(test)]
mod tests;
mod values;

pub use head::head;

use crate::external;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Edge, View};
use crate::interrupt::{Interrupted, Pace};
use crate::mentions;
use crate::node::Node;
use crate::plan::{Plan, Step, Then};
use crate::registry::{Def, Dir, Mentions, Rep, Shape, Source};
use crate::resources::resource;
use crate::time::Time;
use crate::values::gids;
use body::Body;
use rustc_hash::FxHashMap;
use values::Column;

/// Where files can be fetched for a while.
pub trait Files: std::fmt::Debug {
    /// The address of the file that was made for a node at this time; none if it is gone.
    fn address(&self, of: &Node, made: Time) -> Option<String>;
}

/// What a projection reads.
#[derive(Debug)]
pub struct Scene<'a> {
    /// What was found.
    pub view: &'a View,
    /// The address under which resources are reached, without a trailing slash.
    pub base_url: &'a str,
    /// Where files can be fetched; none where no addresses are given out.
    pub files: Option<&'a dyn Files>,
}

/// Writes records.
#[derive(Debug)]
pub struct Projector<'a> {
    scene: Scene<'a>,
    out: Vec<u8>,
    /// How long the buffer may become; 0 once the work was stopped.
    limit: usize,
    /// Linked records written before: the same bytes again.
    written: FxHashMap<(usize, Gid), Written>,
    /// Custom fields of tasks by plan and field: how values look, and where the definition's part of
    /// the record was written. None for fields that the viewer may not see.
    columns: FxHashMap<(usize, Gid), Option<Column>>,
    tally: Tally,
    pace: Pace,
    /// Once the work was stopped: nothing more is written.
    stopped: Option<Stop>,
    #[cfg(test)]
    way: Option<tests::Way>,
}

/// What was written, for the cost of the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Records.
    pub objects: u32,
    /// Links from one object to another that were followed for them, each as often as it was written.
    pub links: u32,
}

/// How many fields, and how many bytes that were written before, are written in the time of a step.
const FIELDS: usize = 8;
const BYTES: usize = 256;

/// The reason for which nothing more is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// The interrupt of the view has stopped the work.
    Interrupted(Interrupted),
    /// The budget does not hold what came next.
    Exceeded,
}

/// A part of the buffer that is copied where the same comes again.
#[derive(Clone, Copy, Debug)]
struct Written {
    start: usize,
    end: usize,
    /// The links in it.
    links: u32,
}

impl<'a> Projector<'a> {
    /// A projector that writes behind what a buffer holds already, such as the start of an envelope, and at most
    /// `budget` bytes.
    #[must_use]
    pub fn onto(out: Vec<u8>, view: &'a View, base_url: &'a str, budget: usize) -> Self {
        Self {
            scene: Scene {
                view,
                base_url,
                files: None,
            },
            limit: out.len().saturating_add(budget),
            out,
            written: FxHashMap::default(),
            columns: FxHashMap::default(),
            tally: Tally::default(),
            pace: Pace::of(&view.interrupt),
            stopped: None,
            #[cfg(test)]
            way: None,
        }
    }

    /// Gives out the addresses of files.
    #[must_use]
    pub fn files(mut self, files: &'a dyn Files) -> Self {
        self.scene.files = Some(files);
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

    /// Writes records, each on a line of its own.
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

    /// Writes records, each behind something that stands between them.
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

    /// The buffer, and what was written into it.
    ///
    /// # Errors
    /// When that is more than the budget holds, or the interrupt of the view stopped the work.
    pub fn finish(mut self) -> Result<(Vec<u8>, Tally), Fault> {
        self.fits(0);
        match self.stopped {
            Some(Stop::Interrupted(interrupted)) => Err(interrupted.into()),
            Some(Stop::Exceeded) => Err(Fault::too_large(
                "opt_fields: More would have to be written than the budget holds; name fewer fields or shorter paths",
            )),
            None => Ok((self.out, self.tally)),
        }
    }

    /// Takes some steps; false if nothing more is to be written.
    #[inline]
    fn steps(&mut self, steps: usize) -> bool {
        if let Err(interrupted) = self.pace.steps(steps) {
            self.stop(Stop::Interrupted(interrupted));
        }
        self.stopped.is_none()
    }

    /// Returns whether the budget holds so many bytes more; once it does not, it never does.
    #[inline]
    fn fits(&mut self, more: usize) -> bool {
        // This is asked for every few bytes, so a stop shows in the limit, too. No two lengths in memory overflow.
        if self.out.len() + more <= self.limit {
            return true;
        }
        self.stop(Stop::Exceeded);
        false
    }

    /// Stops the work, unless it was stopped before.
    #[cold]
    fn stop(&mut self, reason: Stop) {
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

    /// Copies what was written before, and counts its links once more.
    #[inline]
    fn copy(&mut self, part: Written) {
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
        self.byte(b'{');
        let mut first = true;
        let mut body = Body::new(if plan.reads_body {
            &node.body
        } else {
            &node.head
        });
        for step in &plan.steps {
            self.field(node, &mut body, step, &mut first);
        }
        self.byte(b'}');
    }

    /// Whether the link of a node under a stored key leads to something out of sight.
    fn is_behind(&self, node: &Node, link: &str) -> bool {
        let target = node.raw(link).and_then(|v| Gid::parse(v.trim_matches('"')));
        target.is_none_or(|gid| self.visible(gid).is_none())
    }

    fn name(&mut self, name: &str, first: &mut bool) {
        let comma = !std::mem::take(first);
        let length = name.len() + "\"\":".len() + usize::from(comma);
        if self.fits(length) {
            if comma {
                self.out.push(b',');
            }
            self.out.push(b'"');
            self.out.extend_from_slice(name.as_bytes());
            self.out.extend_from_slice(b"\":");
        }
    }

    fn field(&mut self, node: &Node, body: &mut Body<'_>, step: &Step, first: &mut bool) {
        let def = step.def;
        if def.only.is_some_and(|only| !only(node)) {
            return;
        }
        if let (Source::Stored(key), Then::Group(parts)) = (def.source, &step.then) {
            return self.group(node, body.find(key), def, parts, first);
        }
        if def.behind.is_some_and(|link| self.is_behind(node, link)) {
            if def.rep != Rep::FullIfSet || body.find(def.name).is_some() {
                self.name(def.name, first);
                self.raw(def.default);
            }
            return;
        }
        match def.source {
            // A definition alone has no value.
            Source::Value(_) => return,
            Source::Gids(key) => {
                let value = body.find(key);
                if value.is_some() || def.rep != Rep::FullIfSet {
                    self.name(def.name, first);
                    self.links(value.into_iter().flat_map(gids), step);
                }
                return;
            }
            Source::Values(key) => {
                self.name(def.name, first);
                self.values(node, body.find(key), step);
                return;
            }
            Source::PerApp(key) => {
                let app = self.scene.view.app;
                let value = app.and_then(|app| external::of(body.find(key)?, app));
                if value.is_some() || step.named {
                    self.name(def.name, first);
                    self.raw(value.unwrap_or(def.default));
                }
                return;
            }
            Source::Stored(key) | Source::Inline(key) => {
                let value = body.find(key);
                if value.is_none() && def.rep == Rep::FullIfSet {
                    return;
                }
                self.name(def.name, first);
                let text = (def.mentions, def.shape);
                if def.mentions != Mentions::Nothing
                    && let Some(written) = mentions::write(text, node, &self.scene, &mut self.out)
                {
                    self.tally.links = self.tally.links.saturating_add(written.named);
                    self.steps(written.steps);
                    self.fits(0);
                    return;
                }
                match (value, def.source) {
                    (Some(value), Source::Inline(_)) => {
                        self.link(Gid::parse(value.trim_matches('"')), step)
                    }
                    (Some(value), _) => self.raw(value),
                    (None, _) => self.raw(def.default),
                }
                return;
            }
            _ => self.name(def.name, first),
        }
        match def.source {
            Source::Gid => self.gid(node.gid),
            Source::Kind => {
                self.byte(b'"');
                self.raw(resource(node.ty).name);
                self.byte(b'"');
            }
            Source::Home => self.link(node.home, step),
            Source::Always(json) => self.raw(json),
            Source::Computed(write) => {
                write(node, &self.scene, &mut self.out);
                self.fits(0);
            }
            Source::Count(rel, Dir::Out) => {
                self.number(self.scene.view.links(node.gid, rel).len() as u64)
            }
            Source::Count(rel, Dir::In) => self.number(self.scene.view.count(node.gid, rel)),
            Source::HasViewer(rel) => {
                let viewer = self.scene.view.viewer.user;
                let on = self.scene.view.link(node.gid, rel, viewer).is_some();
                self.raw(if on { "true" } else { "false" });
            }
            Source::Edges(rel, dir) => {
                let view = self.scene.view;
                let edges = if dir == Dir::Out {
                    view.links(node.gid, rel)
                } else {
                    view.sources(node.gid, rel)
                };
                match &step.then {
                    Then::Items(parts) => self.items(edges, parts),
                    _ if matches!(def.shape, Shape::One(_)) => {
                        self.link(edges.first().map(|e| far(e, dir)), step)
                    }
                    _ => self.links(edges.iter().map(|e| far(e, dir)), step),
                }
            }
            Source::Aux(rel, dir) => {
                let view = self.scene.view;
                let edges = match dir {
                    Dir::Out => view.links(node.gid, rel),
                    Dir::In => view.sources(node.gid, rel),
                };
                self.links(edges.iter().filter_map(|e| e.aux), step);
            }
            Source::Stored(_)
            | Source::Inline(_)
            | Source::Gids(_)
            | Source::PerApp(_)
            | Source::Values(_)
            | Source::Value(_)
            | Source::ItemTarget
            | Source::ItemAux
            | Source::ItemAuxGid => {
                self.raw("null");
            }
        }
    }

    /// An inline object that is stored as one: its parts are read from it as from a body.
    fn group(
        &mut self,
        node: &Node,
        value: Option<&str>,
        def: &Def,
        parts: &[Step],
        first: &mut bool,
    ) {
        let Some(value) = value else {
            if def.rep != Rep::FullIfSet {
                self.name(def.name, first);
                self.raw(def.default);
            }
            return;
        };
        self.name(def.name, first);
        self.byte(b'{');
        let (mut inner, mut none) = (Body::new(value), true);
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

fn far(edge: &Edge, dir: Dir) -> Gid {
    if dir == Dir::Out { edge.dst } else { edge.src }
}
