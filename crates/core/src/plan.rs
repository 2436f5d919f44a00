//! Plans: which fields of a record are sent, and what must be read for them.
//!
//! A plan is made from the `opt_fields` of a request, or is the default record of a type. It is a
//! tree: links that are asked for by path carry the plan of the linked node.
mod asked;
mod names;
#[cfg(test)]
mod tests;

pub use asked::{Asked, asked, asked_by_name, beyond};
pub use names::{DEPTH_MAX, Names, PATHS_MAX};

use crate::registry::{ByType, Def, Dir, Mentions, Rel, Rep, Shape, Source, Type, rel};
use crate::resources::resource;
use std::sync::{Arc, OnceLock};

/// How the fields of one type are sent.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The type.
    pub ty: Type,
    /// The fields, in the order they are sent; gid always is the first.
    pub steps: Vec<Step>,
    /// The smallest run of relations that holds all outgoing edges to read.
    pub band: Option<(Rel, Rel)>,
    /// Whether the stored head is exactly this record.
    pub is_head: bool,
    /// Whether anything beyond the head is read.
    pub reads_body: bool,
    /// Whether a text of the record may name other objects.
    pub mentions: bool,
    /// The plans of other types that turn up in the same place.
    pub kin: Vec<Plan>,
}

/// One field of a plan.
#[derive(Clone, Debug)]
pub struct Step {
    /// The field.
    pub def: &'static Def,
    /// What is sent for what it links to.
    pub then: Then,
    /// Asked for by name, so that what an app keeps is null where it keeps nothing.
    pub named: bool,
}

/// What is sent for a linked node.
#[derive(Clone, Debug)]
pub enum Then {
    /// The field is a value, not a link.
    Value,
    /// Its compact form.
    Stub,
    /// `{gid, resource_type}`.
    Bare,
    /// The fields of a plan, one for each type the link may lead to.
    Plans(Vec<Plan>),
    /// Inline objects with these fields.
    Items(Vec<Step>),
    /// One inline object with these fields.
    Group(Vec<Step>),
}

/// The default plan of lists.
#[must_use]
pub fn compact(ty: Type) -> Arc<Plan> {
    cached(ty, true)
}

/// The default plan of single records.
#[must_use]
pub fn full(ty: Type) -> Arc<Plan> {
    cached(ty, false)
}

fn cached(ty: Type, compact: bool) -> Arc<Plan> {
    static PLANS: OnceLock<ByType<[Arc<Plan>; 2]>> = OnceLock::new();
    let plans = PLANS
        .get_or_init(|| ByType::new(|ty| [FULL, COMPACT].map(|sent| Arc::new(with_kin(ty, sent)))));
    let sent = if compact { COMPACT } else { FULL };
    match plans.get(ty) {
        Some([_, small]) if compact => Arc::clone(small),
        Some([large, _]) => Arc::clone(large),
        None => Arc::new(with_kin(ty, sent)),
    }
}

/// The fields that a default record has.
type Sent = &'static [Rep];
const COMPACT: Sent = &[Rep::Compact];
const FULL: Sent = &[Rep::Compact, Rep::Full, Rep::FullIfSet];
/// Those of a custom field that comes with its value.
const VALUED: Sent = &[Rep::Compact, Rep::Full, Rep::FullIfSet, Rep::WithValue];

fn with_kin(ty: Type, sent: Sent) -> Plan {
    let kin = resource(ty).kin.iter();
    Plan {
        kin: kin.map(|ty| default_plan(*ty, sent)).collect(),
        ..default_plan(ty, sent)
    }
}

fn default_plan(ty: Type, sent: Sent) -> Plan {
    let steps = resource(ty)
        .fields
        .iter()
        .filter(|d| sent.contains(&d.rep))
        .map(|def| Step {
            def,
            then: default_then(def),
            named: false,
        })
        .collect();
    Plan::new(ty, steps)
}

fn default_then(def: &'static Def) -> Then {
    match def.shape {
        Shape::One(types) | Shape::Many(types) if def.record.is_some() => {
            let sent = match (def.source, def.record) {
                (_, Some(Rep::Compact)) => COMPACT,
                (Source::Values(_), _) => VALUED,
                _ => FULL,
            };
            Then::Plans(types.iter().map(|ty| default_plan(*ty, sent)).collect())
        }
        Shape::One(_) | Shape::Many(_) if def.bare => Then::Bare,
        Shape::One(_) | Shape::Many(_) => Then::Stub,
        Shape::Items(parts) => Then::Items(default_parts(parts)),
        Shape::Group(parts) => Then::Group(default_parts(parts)),
        _ => Then::Value,
    }
}

fn default_parts(parts: &'static [Def]) -> Vec<Step> {
    let step = |def| Step {
        def,
        then: default_then(def),
        named: false,
    };
    parts.iter().map(step).collect()
}

impl Plan {
    /// The plan for a node of a type: this one, unless the type is kin with a plan of its own.
    #[must_use]
    pub fn of(&self, ty: Type) -> &Self {
        self.kin.iter().find(|plan| plan.ty == ty).unwrap_or(self)
    }

    /// The same fields, with what they link to cut down to `{gid, resource_type}`.
    #[must_use]
    pub fn bare(&self) -> Self {
        fn bare(steps: &[Step]) -> Vec<Step> {
            let then = |step: &Step| match &step.then {
                Then::Stub | Then::Plans(_) => Then::Bare,
                Then::Items(parts) => Then::Items(bare(parts)),
                Then::Group(parts) => Then::Group(bare(parts)),
                other => other.clone(),
            };
            let step = |step: &Step| Step {
                def: step.def,
                then: then(step),
                named: step.named,
            };
            steps.iter().map(step).collect()
        }
        Self {
            steps: bare(&self.steps),
            ..self.clone()
        }
    }

    fn new(ty: Type, steps: Vec<Step>) -> Self {
        let mut band: Option<(Rel, Rel)> = None;
        for step in &steps {
            let rel = match step.def.source {
                Source::Edges(rel, Dir::Out)
                | Source::Aux(rel, Dir::Out)
                | Source::Count(rel, Dir::Out)
                | Source::HasViewer(rel) => rel,
                // A task's projects give it its custom fields.
                Source::Values(_) => rel::SECTION,
                _ => continue,
            };
            let (lo, hi) = band.unwrap_or((rel, rel));
            band = Some((lo.min(rel), hi.max(rel)));
        }
        let r = resource(ty);
        let in_head = |d: &Def| match d.source {
            Source::Gid | Source::Kind => true,
            Source::Stored(key) => {
                d.head || r.title == Some(key) || (r.subtype && d.name == "resource_subtype")
            }
            _ => false,
        };
        let head_fields = 2
            + usize::from(r.title.is_some())
            + usize::from(r.subtype)
            + r.fields.iter().filter(|d| d.head).count();
        let is_head = steps.len() == head_fields && steps.iter().all(|s| in_head(s.def));
        let steps_mention = steps.iter().any(|s| s.def.mentions != Mentions::Nothing);
        let reads_body = !steps.iter().all(|s| in_head(s.def));
        Self {
            ty,
            steps,
            band,
            is_head,
            reads_body,
            mentions: steps_mention,
            kin: Vec::new(),
        }
    }
}
