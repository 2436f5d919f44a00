//! Projection: a plan over a view becomes JSON bytes.
use crate::access::Level;
use crate::gid::Gid;
use crate::graph::{Edge, View};
use crate::node::{Entries, Node, decode, entries, write_string};
use crate::plan::{Plan, Step, Then};
use crate::registry::{Def, Dir, Kind, Part, Rep, Shape, Source, Type};
use crate::resources::resource;
use crate::rich;
use crate::values::{self, Held, Look};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What a projection reads.
#[derive(Debug)]
pub struct Scene<'a> {
    /// What was found.
    pub view: &'a View,
    /// The address under which resources are reached, without a trailing slash.
    pub base_url: &'a str,
}

/// Writes records.
#[derive(Debug)]
pub struct Projector<'a> {
    scene: Scene<'a>,
    out: Vec<u8>,
    /// Linked records written before: the same bytes again.
    written: FxHashMap<(usize, Gid), Range<usize>>,
    /// Custom fields of tasks by plan and field: how values look, and where the definition's part of
    /// the record was written. None for fields that the viewer may not see.
    columns: FxHashMap<(usize, Gid), Option<Column>>,
    tally: Tally,
}

/// What the values of one custom field have in common.
#[derive(Debug)]
struct Column {
    look: Look,
    prefix: Range<usize>,
}

/// What was written, for the cost of the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Records.
    pub objects: u32,
    /// Links from one object to another that were followed for them.
    pub links: u32,
}

impl<'a> Projector<'a> {
    /// A projector over a view.
    #[must_use]
    pub fn new(view: &'a View, base_url: &'a str) -> Self {
        Self::onto(Vec::with_capacity(1024), view, base_url)
    }

    /// A projector that writes behind what a buffer holds already, such as the start of an envelope.
    #[must_use]
    pub fn onto(out: Vec<u8>, view: &'a View, base_url: &'a str) -> Self {
        Self {
            scene: Scene { view, base_url },
            out,
            written: FxHashMap::default(),
            columns: FxHashMap::default(),
            tally: Tally::default(),
        }
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
        self.out.push(b'[');
        let mut first = true;
        for gid in gids {
            if let Some(node) = self.visible(*gid) {
                self.tally.objects += 1;
                self.comma(&mut first);
                self.object(node, plan);
            }
        }
        self.out.push(b']');
    }

    /// The bytes written, and what they hold.
    #[must_use]
    pub fn finish(self) -> (Vec<u8>, Tally) {
        (self.out, self.tally)
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn comma(&mut self, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.push(b',');
        }
    }

    fn visible(&self, gid: Gid) -> Option<&'a Node> {
        let view = self.scene.view;
        view.node(gid).filter(|_| view.level(gid) > Level::None)
    }

    fn object(&mut self, node: &Node, plan: &Plan) {
        if plan.is_head {
            self.raw(&node.head);
            return;
        }
        self.out.push(b'{');
        let mut first = true;
        let mut body = Body::new(if plan.reads_body {
            &node.body
        } else {
            &node.head
        });
        for step in &plan.steps {
            self.field(node, &mut body, step, &mut first);
        }
        self.out.push(b'}');
    }

    fn name(&mut self, name: &str, first: &mut bool) {
        self.comma(first);
        self.out.push(b'"');
        self.raw(name);
        self.raw("\":");
    }

    fn field(&mut self, node: &Node, body: &mut Body<'_>, step: &Step, first: &mut bool) {
        let def = step.def;
        if def.only.is_some_and(|only| !only(node)) {
            return;
        }
        if let (Source::Stored(key), Then::Group(parts)) = (def.source, &step.then) {
            return self.group(node, body.find(key), def, parts, first);
        }
        match def.source {
            // A definition alone has no value.
            Source::Value(_) => return,
            Source::Gids(key) => {
                let value = body.find(key);
                if value.is_some() || def.rep != Rep::FullIfSet {
                    self.name(def.name, first);
                    self.links(value.into_iter().flat_map(values::gids), step);
                }
                return;
            }
            Source::Values(key) => {
                self.name(def.name, first);
                self.values(node, body.find(key), step);
                return;
            }
            Source::Stored(key) | Source::Inline(key) => {
                let value = body.find(key);
                if value.is_none() && def.rep == Rep::FullIfSet {
                    return;
                }
                self.name(def.name, first);
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
                self.out.push(b'"');
                self.raw(resource(node.ty).name);
                self.out.push(b'"');
            }
            Source::Home => self.link(node.home, step),
            Source::Always(json) => self.raw(json),
            Source::Computed(write) => write(node, &self.scene, &mut self.out),
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
            | Source::Values(_)
            | Source::Value(_)
            | Source::ItemTarget
            | Source::ItemAux
            | Source::ItemAuxGid => {
                self.raw("null");
            }
        }
    }

    /// Writes a task's custom fields with its values.
    fn values(&mut self, task: &Node, object: Option<&str>, step: &Step) {
        let plan = match &step.then {
            Then::Plans(plans) => plans.first(),
            _ => None,
        };
        self.out.push(b'[');
        let mut first = true;
        if let Some(plan) = plan {
            for held in values::held(self.scene.view, task.gid, object) {
                self.value(held, plan, &mut first);
            }
        }
        self.out.push(b']');
    }

    /// Writes one custom field with its value, unless the viewer may not see it.
    fn value(&mut self, held: Held<'_>, plan: &Plan, first: &mut bool) {
        let key = (std::ptr::from_ref(plan) as usize, held.field);
        let start = plan
            .steps
            .iter()
            .position(|s| matches!(s.def.source, Source::Value(_)))
            .unwrap_or(plan.steps.len());
        // The map is taken out so that it can be read while the record is written.
        let mut columns = std::mem::take(&mut self.columns);
        match columns.get(&key) {
            None => {
                let field = self.visible(held.field);
                let column = field.map(|field| {
                    self.comma(first);
                    let from = self.out.len();
                    self.out.push(b'{');
                    let mut body = Body::new(&field.body);
                    let mut inner = true;
                    for step in plan.steps.iter().take(start) {
                        self.field(field, &mut body, step, &mut inner);
                    }
                    Column {
                        look: Look::of(field),
                        prefix: from..self.out.len(),
                    }
                });
                columns.insert(key, column);
            }
            Some(None) => {}
            Some(Some(column)) => {
                self.comma(first);
                self.out.extend_from_within(column.prefix.clone());
            }
        }
        if let Some(Some(column)) = columns.get(&key) {
            let mut inner = false;
            for step in plan.steps.iter().skip(start) {
                self.part(held, &column.look, step, &mut inner);
            }
            self.out.push(b'}');
            self.tally.links += 1;
        }
        self.columns = columns;
    }

    /// Writes one part of a value, if the field's type has it.
    fn part(&mut self, held: Held<'_>, look: &Look, step: &Step, first: &mut bool) {
        let Source::Value(part) = step.def.source else {
            return;
        };
        match part {
            Part::Plain(kind) | Part::Linked(kind) if kind != look.kind => return,
            Part::Html if look.kind != Kind::Text => return,
            _ => self.name(step.def.name, first),
        }
        match part {
            Part::Enabled => self.raw(if held.enabled { "true" } else { "false" }),
            Part::Plain(_) => self.raw(held.value.unwrap_or("null")),
            Part::Linked(kind) => {
                let mut targets = held.value.into_iter().flat_map(|v| values::linked(kind, v));
                if kind == Kind::Enum {
                    self.link(targets.next(), step);
                } else {
                    self.links(targets, step);
                }
            }
            Part::Html => match held.value {
                Some(text) => write_string(&mut self.out, &rich::from_text(&decode(text))),
                None => self.raw("null"),
            },
            Part::Display => {
                let mut out = std::mem::take(&mut self.out);
                let title = |gid| self.visible(gid).and_then(values::title);
                values::display(look, held.value, title, &mut out);
                self.out = out;
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
        self.out.push(b'{');
        let (mut inner, mut none) = (Body::new(value), true);
        for part in parts {
            self.field(node, &mut inner, part, &mut none);
        }
        self.out.push(b'}');
    }

    fn items(&mut self, edges: &[Edge], parts: &[Step]) {
        self.out.push(b'[');
        let mut first = true;
        for edge in edges {
            let seen = parts.iter().all(|p| match p.def.source {
                Source::ItemTarget => self.visible(edge.dst).is_some(),
                Source::ItemAux => edge.aux.is_some_and(|aux| self.visible(aux).is_some()),
                _ => true,
            });
            if !seen {
                continue;
            }
            self.comma(&mut first);
            self.out.push(b'{');
            let mut inner = true;
            for part in parts {
                self.name(part.def.name, &mut inner);
                match part.def.source {
                    Source::ItemTarget => self.link(Some(edge.dst), part),
                    Source::ItemAux => self.link(edge.aux, part),
                    Source::ItemAuxGid => self.gid(edge.aux.unwrap_or(edge.dst)),
                    _ => self.raw("null"),
                }
            }
            self.out.push(b'}');
        }
        self.out.push(b']');
    }

    fn links(&mut self, targets: impl Iterator<Item = Gid>, step: &Step) {
        let types = match step.def.shape {
            Shape::Many(types) | Shape::One(types) => types,
            _ => &[],
        };
        self.out.push(b'[');
        let mut first = true;
        for gid in targets {
            if self.visible(gid).is_some_and(|n| types.contains(&n.ty)) {
                self.comma(&mut first);
                self.link(Some(gid), step);
            }
        }
        self.out.push(b']');
    }

    fn link(&mut self, target: Option<Gid>, step: &Step) {
        let types = match step.def.shape {
            Shape::Many(types) | Shape::One(types) => types,
            _ => &[],
        };
        let Some(node) = target
            .and_then(|g| self.visible(g))
            .filter(|n| types.contains(&n.ty))
        else {
            self.raw("null");
            return;
        };
        match &step.then {
            Then::Bare => {
                self.raw("{\"gid\":");
                self.gid(node.gid);
                self.raw(",\"resource_type\":\"");
                self.raw(resource(node.ty).name);
                self.raw("\"}");
            }
            Then::Plans(plans) => match plans.iter().find(|p| p.ty == node.ty) {
                Some(plan) => self.repeated(node, plan),
                None => self.raw(&node.head),
            },
            _ => self.raw(&node.head),
        }
        self.tally.links += 1;
    }

    /// Writes a linked record, or copies what was written for it before.
    fn repeated(&mut self, node: &Node, plan: &Plan) {
        let key = (std::ptr::from_ref(plan) as usize, node.gid);
        if let Some(range) = self.written.get(&key).cloned() {
            self.out.extend_from_within(range);
            return;
        }
        let start = self.out.len();
        self.object(node, plan);
        self.written.insert(key, start..self.out.len());
    }

    fn gid(&mut self, gid: Gid) {
        self.out.push(b'"');
        self.number(gid.get());
        self.out.push(b'"');
    }

    fn number(&mut self, number: u64) {
        self.out
            .extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }
}

fn far(edge: &Edge, dir: Dir) -> Gid {
    if dir == Dir::Out { edge.dst } else { edge.src }
}

/// More stored fields than any type has.
const STORED_MAX: usize = 40;

/// Reads a body in one pass, and no further than asked, when fields are asked for in stored order,
/// which they usually are.
struct Body<'n> {
    pairs: [(&'n str, &'n str); STORED_MAX],
    /// How many were read.
    len: usize,
    /// Where the next one asked for most likely stands.
    at: usize,
    rest: Entries<'n>,
}

impl<'n> Body<'n> {
    fn new(body: &'n str) -> Self {
        Self {
            pairs: [("", ""); STORED_MAX],
            len: 0,
            at: 0,
            rest: entries(body),
        }
    }

    fn find(&mut self, key: &str) -> Option<&'n str> {
        let (before, after) = self.pairs.get(..self.len)?.split_at_checked(self.at)?;
        let known = after
            .iter()
            .chain(before)
            .position(|(name, _)| *name == key);
        if let Some(step) = known {
            let at = (self.at + step) % self.len;
            self.at = at + 1;
            return self.pairs.get(at).map(|(_, value)| *value);
        }
        while let Some(slot) = self.pairs.get_mut(self.len) {
            *slot = self.rest.next()?;
            self.len += 1;
            if slot.0 == key {
                self.at = self.len;
                return Some(slot.1);
            }
        }
        None
    }
}

/// The head of a node: its compact JSON object, with whatever else the type keeps in it.
#[must_use]
pub fn head<'v>(
    ty: Type,
    gid: Gid,
    title: Option<&str>,
    subtype: Option<&str>,
    more: impl Iterator<Item = (&'static str, &'v str)>,
) -> String {
    let r = resource(ty);
    let mut out = format!("{{\"gid\":\"{gid}\"");
    if let Some(title) = title.filter(|_| r.title.is_some()) {
        out.push_str(",\"name\":");
        out.push_str(title);
    }
    out.push_str(",\"resource_type\":\"");
    out.push_str(r.name);
    out.push('"');
    if let Some(subtype) = subtype.filter(|_| r.subtype) {
        out.push_str(",\"resource_subtype\":");
        out.push_str(subtype);
    }
    for (name, value) in more {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        out.push_str(value);
    }
    out.push('}');
    out
}
