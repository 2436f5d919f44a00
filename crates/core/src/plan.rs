//! Plans: the fields of a record that are sent, and the reads that they need.
//!
//! A plan comes from the `opt_fields` or `opt_expand` of a request, or is the default record of a type. It is a tree: links that
//! a request names by path have the plan of the linked node.
mod expand_paths;
mod expansion;
mod field_mask;
mod field_paths;
mod quoted_name;
#[cfg(test)]
mod tests;
mod unknown_names;

pub use expand_paths::ExpandPaths;
pub use expansion::{DefaultForm, resolve_expansion};
pub use field_mask::{
    FieldMask, extended_plan, resolve_fields, resolve_fields_of_items, resolve_fields_of_lookup,
};
pub use field_paths::{DEPTH_MAX, FieldPaths, PATHS_MAX};
pub use unknown_names::{UnknownName, unknown_names};

use self::quoted_name::QuotedName;
use crate::model::registry::{
    ByType, Direction, FieldDef, FieldSource, Inclusion, MentionRule, Relation, Type, ValueType,
    rel,
};
use crate::model::resources::resource;
use std::sync::{Arc, OnceLock};

/// Plan of a record: the fields of one type that are sent, in their order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Type of the planned records.
    pub ty: Type,
    /// Type of the nodes that the record represents.
    pub node_type: Type,
    /// Fields in the order in which they are sent; gid is always the first.
    pub steps: Vec<PlanStep>,
    /// Smallest run of relations with all outgoing edges to read.
    pub band: Option<(Relation, Relation)>,
    /// True if the stored head is exactly this record.
    pub is_head: bool,
    /// True if anything beyond the head is read.
    pub reads_body: bool,
    /// True if a text of the record may name other objects.
    pub mentions: bool,
    /// Plans of other types that may appear in the same place of a reply.
    pub variants: Vec<Plan>,
}

/// Field of a plan, with the plan of its links.
#[derive(Clone, Debug)]
pub struct PlanStep {
    /// Declaration of the field.
    pub def: &'static FieldDef,
    /// Plan for the nodes that it links to.
    pub link_plan: LinkPlan,
    /// True if the request names the field: without external data of the app, the field is then sent as null.
    pub explicit: bool,
    /// Name of the field, quoted for a JSON object.
    pub(crate) quoted_name: QuotedName,
}

impl PlanStep {
    /// Returns the step of a field that the request does not name.
    #[must_use]
    pub fn new(def: &'static FieldDef, link_plan: LinkPlan) -> Self {
        Self {
            def,
            link_plan,
            explicit: false,
            quoted_name: QuotedName::new(def.name),
        }
    }
}

/// Form in which a linked node is sent.
#[derive(Clone, Debug)]
pub enum LinkPlan {
    /// The field is a value, not a link.
    Value,
    /// The compact form of the node.
    Compact,
    /// `{gid, resource_type}` alone.
    ReferenceOnly,
    /// The fields of a plan, one for each type that the link may lead to.
    Plans(Vec<Plan>),
    /// Inline objects with these fields.
    Items(Vec<PlanStep>),
    /// One inline object with these fields.
    Group(Vec<PlanStep>),
}

/// Returns the default plan of lists.
#[must_use]
pub fn compact(ty: Type) -> Arc<Plan> {
    cached(ty, true)
}

/// Returns the default plan of single records.
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

/// Inclusion rules of the fields in a default record.
type Inclusions = &'static [Inclusion];
const COMPACT: Inclusions = &[Inclusion::Compact];
const FULL: Inclusions = &[Inclusion::Compact, Inclusion::Full, Inclusion::FullIfSet];
/// Inclusion rules for a custom field with its value.
const VALUED: Inclusions = &[
    Inclusion::Compact,
    Inclusion::Full,
    Inclusion::FullIfSet,
    Inclusion::WithValue,
];

fn with_kin(ty: Type, sent: Inclusions) -> Plan {
    let kin = resource(ty).variants.iter();
    Plan {
        variants: kin.map(|ty| default_plan(*ty, sent)).collect(),
        ..default_plan(ty, sent)
    }
}

fn default_plan(ty: Type, sent: Inclusions) -> Plan {
    let steps = resource(ty)
        .fields
        .iter()
        .filter(|d| sent.contains(&d.inclusion))
        .map(|def| PlanStep::new(def, default_then(def)))
        .collect();
    Plan::new(ty, steps)
}

fn default_then(def: &'static FieldDef) -> LinkPlan {
    match def.value_type {
        ValueType::One(types) | ValueType::Many(types)
            if def.record.is_some() || types.iter().any(is_representation) =>
        {
            let sent = match (def.source, def.record) {
                (_, Some(Inclusion::Compact) | None) => COMPACT,
                (FieldSource::Values(_), _) => VALUED,
                _ => FULL,
            };
            LinkPlan::Plans(types.iter().map(|ty| default_plan(*ty, sent)).collect())
        }
        ValueType::One(_) | ValueType::Many(_) if def.reference_only => LinkPlan::ReferenceOnly,
        ValueType::One(_) | ValueType::Many(_) => LinkPlan::Compact,
        ValueType::Items(parts) => LinkPlan::Items(default_parts(parts)),
        ValueType::Group(parts) => LinkPlan::Group(default_parts(parts)),
        _ => LinkPlan::Value,
    }
}

/// Returns true if the heads of the nodes are not the compact form of the type.
fn is_representation(ty: &Type) -> bool {
    resource(*ty).representation.is_some()
}

fn default_parts(parts: &'static [FieldDef]) -> Vec<PlanStep> {
    let step = |def| PlanStep::new(def, default_then(def));
    parts.iter().map(step).collect()
}

impl Plan {
    /// Returns the plan for a node of a type: this one, or the variant of that type.
    #[must_use]
    pub fn of(&self, ty: Type) -> &Self {
        self.variants
            .iter()
            .find(|plan| plan.ty == ty)
            .unwrap_or(self)
    }

    /// Returns the same fields, with linked nodes cut down to `{gid, resource_type}`.
    #[must_use]
    pub fn reference_only(&self) -> Self {
        fn bare(steps: &[PlanStep]) -> Vec<PlanStep> {
            let then = |step: &PlanStep| match &step.link_plan {
                LinkPlan::Compact | LinkPlan::Plans(_) => LinkPlan::ReferenceOnly,
                LinkPlan::Items(parts) => LinkPlan::Items(bare(parts)),
                LinkPlan::Group(parts) => LinkPlan::Group(bare(parts)),
                other => other.clone(),
            };
            let step = |step: &PlanStep| PlanStep {
                explicit: step.explicit,
                ..PlanStep::new(step.def, then(step))
            };
            steps.iter().map(step).collect()
        }
        Self {
            steps: bare(&self.steps),
            ..self.clone()
        }
    }

    fn new(ty: Type, steps: Vec<PlanStep>) -> Self {
        let mut band: Option<(Relation, Relation)> = None;
        for step in &steps {
            let rel = match step.def.source {
                FieldSource::Edges(rel, Direction::Out)
                | FieldSource::Aux(rel, Direction::Out)
                | FieldSource::Count(rel, Direction::Out)
                | FieldSource::HasViewer(rel)
                | FieldSource::Permalink(Some(rel))
                | FieldSource::Summary(rel) => rel,
                FieldSource::Values(_) => match rel::to_field_containers(ty) {
                    Some(rel) => rel,
                    None => continue,
                },
                _ => continue,
            };
            let (lo, hi) = band.unwrap_or((rel, rel));
            band = Some((lo.min(rel), hi.max(rel)));
        }
        let r = resource(ty);
        let in_head = |d: &FieldDef| match d.source {
            FieldSource::Gid | FieldSource::TypeName => true,
            FieldSource::Stored(key) => {
                d.head || r.title == Some(key) || (r.subtype && d.name == "resource_subtype")
            }
            _ => false,
        };
        let head_fields = 2
            + usize::from(r.title.is_some())
            + usize::from(r.subtype)
            + r.fields.iter().filter(|d| d.head).count();
        let is_head = steps.len() == head_fields && steps.iter().all(|s| in_head(s.def));
        let steps_mention = steps.iter().any(|s| s.def.mentions != MentionRule::Nothing);
        let reads_body = !steps.iter().all(|s| in_head(s.def));
        Self {
            ty,
            node_type: r.node_type(),
            steps,
            band,
            is_head,
            reads_body,
            mentions: steps_mention,
            variants: Vec::new(),
        }
    }
}
