//! Field masks: resolves the names of `opt_fields` to a plan, with the scopes and the cost of the named fields.
use super::{FieldPaths, LinkPlan, Plan, PlanStep, default_then};
use crate::model::registry::{FieldDef, FieldSource, Type, ValueType};
use crate::model::resources::resource;
use std::sync::Arc;

/// A plan with the scopes that it needs and its cost.
#[derive(Clone, Debug)]
pub struct FieldMask {
    /// Plan of the named fields.
    pub plan: Arc<Plan>,
    /// Scopes that the named fields need, besides the operation's own; each with the path of the field.
    pub scopes: Vec<(&'static str, String)>,
    /// Total weight of the fields.
    pub cost: u32,
}

/// Returns the field mask of a request for a type: the named fields that exist, plus gid.
#[must_use]
pub fn resolve_fields(ty: Type, names: &FieldPaths) -> FieldMask {
    let mut scopes = Vec::new();
    let mut cost = 0;
    let mut plan = named(ty, names, "", &mut scopes, &mut cost);
    for kin in resource(ty).variants {
        let mut one = 0;
        let plan_of_kin = named(*kin, names, "", &mut scopes, &mut one);
        plan.variants.push(plan_of_kin);
        cost = cost.max(one);
    }
    let plan = Arc::new(plan);
    scopes.sort();
    scopes.dedup_by(|a, b| a.0 == b.0);
    FieldMask { plan, scopes, cost }
}

/// Returns the field mask as [`resolve_fields`] does, for a record found by name: fields beyond its compact form need the scope
/// of its type, as they do through a link.
#[must_use]
pub fn resolve_fields_of_lookup(ty: Type, names: &FieldPaths) -> FieldMask {
    let mut asked = resolve_fields(ty, names);
    linked(ty, names, "", &mut asked.scopes, &mut 0);
    asked
}

/// Returns the field mask as [`resolve_fields`] does, for a list of records of a type and of its variants. Fields of the
/// variants beyond their compact form need the scopes of their types, as they do through a link.
#[must_use]
pub fn resolve_fields_of_items(ty: Type, names: &FieldPaths) -> FieldMask {
    let mut asked = resolve_fields(ty, names);
    for kin in resource(ty).variants {
        linked(*kin, names, "", &mut asked.scopes, &mut 0);
    }
    asked
}

/// Returns the plan of a record that has additional fields besides the fields of its type. With names, the plan has the gid
/// and the named fields of both kinds; without names, it has the fields of the full record and all additional fields.
#[must_use]
pub fn extended_plan(
    ty: Type,
    extra: &'static [FieldDef],
    names: Option<&FieldPaths>,
) -> Arc<Plan> {
    let Some(names) = names else {
        let mut steps = super::full(ty).steps.clone();
        steps.extend(
            extra
                .iter()
                .map(|def| PlanStep::new(def, default_then(def))),
        );
        return Arc::new(Plan::new(ty, steps));
    };
    let (mut scopes, mut cost) = (Vec::new(), 0);
    let mut steps = named(ty, names, "", &mut scopes, &mut cost).steps;
    let asked = extra.iter().filter_map(|def| {
        let below = names.children.get(def.name)?;
        Some(step(def, Some(below), "", &mut scopes, &mut cost))
    });
    steps.extend(asked);
    Arc::new(Plan::new(ty, steps))
}

type Scopes = Vec<(&'static str, String)>;

fn named(ty: Type, names: &FieldPaths, path: &str, scopes: &mut Scopes, cost: &mut u32) -> Plan {
    let steps = resource(ty)
        .fields
        .iter()
        .filter(|d| matches!(d.source, FieldSource::Gid) || names.children.contains_key(d.name))
        .map(|def| step(def, names.children.get(def.name), path, scopes, cost))
        .collect();
    Plan::new(ty, steps)
}

fn step(
    def: &'static FieldDef,
    names: Option<&FieldPaths>,
    path: &str,
    scopes: &mut Scopes,
    cost: &mut u32,
) -> PlanStep {
    // Every record has its gid, named or not.
    if !matches!(def.source, FieldSource::Gid) {
        *cost += u32::from(def.cost);
    }
    let here = if path.is_empty() {
        def.name.to_owned()
    } else {
        format!("{path}.{}", def.name)
    };
    let deeper = names.filter(|n| !n.children.is_empty());
    let then = match (def.value_type, deeper) {
        (ValueType::One(types) | ValueType::Many(types), Some(names)) => {
            let of = match def.record {
                Some(_) => named,
                None => linked,
            };
            // A name is charged once, for whichever type is in the reply.
            let mut most = 0;
            let plans = types.iter().map(|ty| {
                let mut one = 0;
                let plan = of(*ty, names, &here, scopes, &mut one);
                most = most.max(one);
                plan
            });
            let plans = plans.collect();
            *cost += most;
            LinkPlan::Plans(plans)
        }
        (ValueType::Items(parts), Some(names)) => LinkPlan::Items(
            parts
                .iter()
                .filter(|p| {
                    names.children.contains_key(p.name)
                        || matches!(p.source, FieldSource::ItemAuxGid)
                })
                .map(|p| step(p, names.children.get(p.name), &here, scopes, cost))
                .collect(),
        ),
        (ValueType::Group(parts), Some(names)) => LinkPlan::Group(
            parts
                .iter()
                .filter(|p| names.children.contains_key(p.name) || p.name == "gid")
                .map(|p| step(p, names.children.get(p.name), &here, scopes, cost))
                .collect(),
        ),
        _ => default_then(def),
    };
    if deeper.is_some() || !matches!(def.value_type, ValueType::One(_) | ValueType::Many(_)) {
        scopes.extend(def.required_scopes.iter().map(|s| (*s, here.clone())));
    }
    PlanStep {
        explicit: true,
        ..PlanStep::new(def, then)
    }
}

/// Returns the plan of a linked node; fields beyond its compact form need the scope of its type.
fn linked(ty: Type, names: &FieldPaths, path: &str, scopes: &mut Scopes, cost: &mut u32) -> Plan {
    let beyond = |name: &&String| {
        !matches!(
            name.as_str(),
            "gid" | "name" | "title" | "resource_type" | "resource_subtype"
        )
    };
    if let Some(name) = names
        .children
        .keys()
        .find(|n| beyond(n) && resource(ty).field(n).is_some())
    {
        let dot = if path.is_empty() { "" } else { "." };
        scopes.push((resource(ty).read_scope, format!("{path}{dot}{name}")));
    }
    named(ty, names, path, scopes, cost)
}
