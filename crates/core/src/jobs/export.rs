//! Exports: a walk down from a node, each object as its full record on a line of its own: JSON Lines, or
//! one JSON array for a whole workspace.
//!
//! The walk keeps no more than the lists that it is in, one inside the other, each with the keyset of
//! its page and the rows of that page which are still to be gone into. After a page come the objects
//! below its rows, in their order, then the next page. An object that could be reached on several ways
//! is written on one of them only, which its own edges tell.
mod lists;

use super::{Next, Plot, STEP, Unsent};
use crate::access::Level;
use crate::budget;
use crate::draft::Draft;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Listing, Page, Put, Ref, View, Want};
use crate::plan;
use crate::project::Projector;
use crate::registry::{Type, rel};
use crate::resources::export;
use crate::tasks_of_container;
use crate::work::Work;
use lists::{List, Of, lists};
use serde::{Deserialize, Serialize};

/// A graph export with more tasks than this is given again to who asks for it again soon.
pub const CACHED_FROM: u64 = 1_000;
/// For how long, in milliseconds.
pub const CACHED_MS: i64 = 4 * 3_600_000;
/// What can be the root of a graph export.
pub const ROOTS: &[Type] = &[Type::Team, Type::Project, Type::Task];

/// Where a file ends: all of it that the last checkpoint knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    /// The length of the file, in bytes.
    pub length: u64,
    /// How many bytes were put into it, before whatever the file does to them.
    pub size: u64,
    /// The CRC-32 of those.
    pub sum: u32,
}

/// An export, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// What is exported.
    pub root: Gid,
    /// Its type.
    pub ty: Type,
    /// The node that the file belongs to.
    pub to: Gid,
    /// The address of the API, for the links in records.
    pub base_url: String,
    /// Where the file ends.
    pub mark: Mark,
    /// How many tasks were written.
    pub tasks: u64,
    /// The lists that the walk is in, the innermost last; none before the root itself is written.
    pub within: Option<Vec<Place>>,
}

/// How far the walk through the lists of one object is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The object.
    at: Gid,
    /// Its type.
    ty: Type,
    /// Which of its lists.
    list: usize,
    /// Where the page starts.
    after: Option<Vec<i64>>,
    /// Rows of the page before that are still to be gone into, the next one last.
    below: Vec<Gid>,
}

/// What stands before the first record, between two, and after the last.
struct Form {
    start: &'static str,
    between: &'static str,
    end: &'static str,
}

const ARRAY: Form = Form {
    start: "[\n",
    between: ",\n",
    end: "\n]\n",
};
const LINES: Form = Form {
    start: "",
    between: "\n",
    end: "\n",
};

/// The name by which a large export is found again.
#[must_use]
pub fn cached(who: Gid, root: Gid) -> String {
    format!("export:{who}:{root}")
}

impl Place {
    fn start(at: Gid, ty: Type) -> Self {
        Self {
            at,
            ty,
            list: 0,
            after: None,
            below: Vec::new(),
        }
    }

    fn list(&self, root: Type) -> Option<&'static List> {
        lists(root, self.ty).get(self.list)
    }
}

impl Export {
    /// An export of which nothing is written yet.
    #[must_use]
    pub fn new(root: Gid, ty: Type, to: Gid, base_url: &str) -> Self {
        Self {
            root,
            ty,
            to,
            base_url: base_url.to_owned(),
            mark: Mark::default(),
            tasks: 0,
            within: None,
        }
    }

    /// What a step must read.
    pub(super) fn needs(&self, mut want: Want) -> Want {
        let user = want.viewer.user;
        want = want.node(self.to).node(self.root).node(self.cached(user));
        let Some(within) = &self.within else {
            return want.follow(self.root, plan::full(self.ty));
        };
        let Some((place, list)) = within.last().and_then(|p| Some((p, p.list(self.ty)?))) else {
            return want;
        };
        let anchor = want.add(place.at);
        let from = match list.of {
            Of::Edges(rel, dir, give) => Listing::Edges {
                anchor,
                rel,
                dir,
                give,
            },
            Of::Tasks => tasks_of_container(anchor, false),
            Of::Home => Listing::Home {
                anchor,
                ty: list.ty,
            },
        };
        want.page = Some(Page {
            after: place.after.clone(),
            ..Page::of(from, false, STEP)
        });
        want.page_plan = Some(plan::full(list.ty));
        want
    }

    /// What it must read besides: whether there is anything below the rows, and whether other projects
    /// that they are in are exported, too.
    pub(super) fn more(&self, view: &View, mut want: Want) -> Option<Want> {
        let list = self.within.as_ref()?.last()?.list(self.ty)?;
        if !list.deep || list.ty != Type::Task || view.rows.gids.is_empty() {
            return None;
        }
        for row in &view.rows.gids {
            for list in lists(self.ty, Type::Task) {
                if let Of::Edges(rel, ..) = list.of {
                    want = want.into(*row, rel, 1);
                }
            }
            if self.ty == Type::Team {
                for edge in view.links(*row, rel::SECTION) {
                    if let Some(project) = edge.aux {
                        want = want.edges(project, rel::TEAM);
                    }
                }
            }
        }
        Some(want)
    }

    /// The next step.
    pub(super) fn step(
        &self,
        view: &View,
        more: Option<&View>,
        work: &mut Work<'_>,
        out: &mut Unsent,
    ) -> Result<Next, Fault> {
        let Some(root) = view.node(self.root) else {
            return Err(Fault::invalid("What is exported was deleted."));
        };
        if view.level(self.root) < Level::Viewer {
            return Err(Fault::invalid("What is exported is no longer shared."));
        }
        let mut next = self.clone();
        match next.within.as_mut().map(Vec::pop) {
            None => {
                next.write(&[self.root], root.ty, view, self.form().start, out)?;
                next.within = Some(vec![Place::start(self.root, self.ty)]);
            }
            Some(None) => {}
            Some(Some(mut place)) => {
                if let Some(list) = place.list(self.ty) {
                    let more = more.unwrap_or(view);
                    let rows = view.rows.gids.iter().copied();
                    let rows: Vec<Gid> = rows
                        .filter(|row| !list.deep || self.belongs(*row, list, place.at, view, more))
                        .collect();
                    next.write(&rows, list.ty, view, self.form().between, out)?;
                    if list.deep {
                        let rest = rows.into_iter().rev();
                        place.below = rest
                            .filter(|row| self.goes_on(*row, list.ty, more))
                            .collect();
                    }
                    place.after.clone_from(&view.rows.next);
                    if place.after.is_none() {
                        place.list += 1;
                    }
                }
                next.within.get_or_insert_default().push(place);
            }
        }
        if next.advance() {
            return Ok(Next::On(Plot::Export(next)));
        }
        out.bytes.extend_from_slice(self.form().end.as_bytes());
        self.seal(view, work, next.tasks);
        Ok(Next::Done)
    }

    /// Goes on to the next page there is to be read; says whether there is one.
    fn advance(&mut self) -> bool {
        let root = self.ty;
        let within = self.within.get_or_insert_default();
        loop {
            let Some(place) = within.last_mut() else {
                return false;
            };
            if let Some(row) = place.below.pop() {
                // The rows are of the list that was read last.
                let at = place.list - usize::from(place.after.is_none());
                let ty = lists(root, place.ty)
                    .get(at)
                    .map_or(place.ty, |list| list.ty);
                within.push(Place::start(row, ty));
            } else if place.list(root).is_some() {
                return true;
            } else {
                within.pop();
            }
        }
    }

    /// Writes records behind those that are waiting.
    fn write(
        &mut self,
        rows: &[Gid],
        ty: Type,
        view: &View,
        between: &str,
        out: &mut Unsent,
    ) -> Result<(), Fault> {
        let bytes = std::mem::take(&mut out.bytes);
        let mut projector = Projector::onto(bytes, view, &self.base_url, budget::STEP);
        projector.joined(rows, &plan::full(ty), between);
        let tally = out.put(projector)?;
        if ty == Type::Task {
            self.tasks += u64::from(tally.objects);
        }
        Ok(())
    }

    /// Whether a row is written here: a task in several exported projects is written in the first of
    /// them, and one that is in any of them not below its parent.
    fn belongs(&self, row: Gid, list: &List, at: Gid, view: &View, more: &View) -> bool {
        if list.ty != Type::Task {
            return true;
        }
        let projects = view.links(row, rel::SECTION).iter().filter_map(|e| e.aux);
        let exported = projects.filter(|project| match self.ty {
            Type::Project => *project == self.root,
            Type::Team => {
                let teams = more.links(*project, rel::TEAM);
                teams.iter().any(|e| e.dst == self.root) && more.level(*project) > Level::None
            }
            _ => false,
        });
        match (exported.min(), &list.of) {
            (first, Of::Tasks) => first.is_none_or(|first| first == at),
            (first, _) => first.is_none(),
        }
    }

    /// Whether there is anything below a row.
    fn goes_on(&self, row: Gid, ty: Type, more: &View) -> bool {
        let mut below = lists(self.ty, ty).iter();
        ty != Type::Task
            || below.any(|list| match list.of {
                Of::Edges(rel, ..) => !more.sources(row, rel).is_empty(),
                Of::Tasks | Of::Home => true,
            })
    }

    fn form(&self) -> &'static Form {
        if self.ty == Type::Workspace {
            &ARRAY
        } else {
            &LINES
        }
    }

    fn cached(&self, who: Gid) -> Ref {
        Ref::Alias(cached(who, self.root))
    }

    /// Says in the node of a graph export that it is done, and lets it be found again if it was much work.
    fn seal(&self, view: &View, work: &mut Work<'_>, tasks: u64) {
        let Some(node) = view.node(self.to).filter(|n| n.ty == Type::GraphExport) else {
            return;
        };
        let mut draft = Draft::edit(node);
        draft.set(export::COMPLETED_AT, work.now);
        work.changes.puts.push(Put {
            node: draft.finish(),
        });
        if tasks <= CACHED_FROM {
            return;
        }
        let name = cached(view.viewer.user, self.root);
        if let Some(before) = view.resolve(&Ref::Alias(name.clone())) {
            work.changes.unnamed.push((name.clone(), before));
        }
        work.changes.aliases.push((name, self.to));
    }
}
