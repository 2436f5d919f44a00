//! From names to a plan, with the scopes and the cost of what is named.
use super::{Names, Plan, Step, Then, default_then};
use crate::registry::{Def, Shape, Source, Type};
use crate::resources::resource;
use std::sync::Arc;

/// A plan with what it takes to be allowed it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Scopes that the named fields need, besides the operation's own; each with the field.
    pub scopes: Vec<(&'static str, String)>,
    /// The weight of the fields, summed.
    pub cost: u32,
}

/// The plan of a request for a type: the named fields that exist, plus gid.
#[must_use]
pub fn asked(ty: Type, names: &Names) -> Asked {
    let mut scopes = Vec::new();
    let mut cost = 0;
    let mut plan = named(ty, names, "", &mut scopes, &mut cost);
    for kin in resource(ty).kin {
        let mut one = 0;
        let plan_of_kin = named(*kin, names, "", &mut scopes, &mut one);
        plan.kin.push(plan_of_kin);
        cost = cost.max(one);
    }
    let plan = Arc::new(plan);
    scopes.sort();
    scopes.dedup_by(|a, b| a.0 == b.0);
    Asked { plan, scopes, cost }
}

/// As [`asked`], for a record that is found by name: what is beyond its compact form needs the scope
/// of its type, as it does through a link.
#[must_use]
pub fn asked_by_name(ty: Type, names: &Names) -> Asked {
    let mut asked = asked(ty, names);
    let (mut scopes, mut cost) = (Vec::new(), 0);
    linked(ty, names, "", &mut scopes, &mut cost);
    let scopes = scopes
        .into_iter()
        .map(|(scope, path)| (scope, path.trim_start_matches('.').to_owned()));
    asked.scopes.extend(scopes);
    asked
}

/// The plan of a record that has fields beyond those of its type: the named ones of all, plus gid, or
/// if there are no names those of the full record and all that are beyond it.
#[must_use]
pub fn beyond(ty: Type, extra: &'static [Def], names: Option<&Names>) -> Arc<Plan> {
    let Some(names) = names else {
        let mut steps = super::full(ty).steps.clone();
        steps.extend(extra.iter().map(|def| Step {
            def,
            then: default_then(def),
            named: false,
        }));
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

fn named(ty: Type, names: &Names, path: &str, scopes: &mut Scopes, cost: &mut u32) -> Plan {
    let steps = resource(ty)
        .fields
        .iter()
        .filter(|d| matches!(d.source, Source::Gid) || names.children.contains_key(d.name))
        .map(|def| step(def, names.children.get(def.name), path, scopes, cost))
        .collect();
    Plan::new(ty, steps)
}

fn step(
    def: &'static Def,
    names: Option<&Names>,
    path: &str,
    scopes: &mut Scopes,
    cost: &mut u32,
) -> Step {
    // Every record has its gid, named or not.
    if !matches!(def.source, Source::Gid) {
        *cost += u32::from(def.cost);
    }
    let here = if path.is_empty() {
        def.name.to_owned()
    } else {
        format!("{path}.{}", def.name)
    };
    let deeper = names.filter(|n| !n.children.is_empty());
    let then = match (def.shape, deeper) {
        (Shape::One(types) | Shape::Many(types), Some(names)) => {
            let of = match def.record {
                Some(_) => named,
                None => linked,
            };
            // A name is asked for once, whichever of the types turns up.
            let mut most = 0;
            let plans = types.iter().map(|ty| {
                let mut one = 0;
                let plan = of(*ty, names, &here, scopes, &mut one);
                most = most.max(one);
                plan
            });
            let plans = plans.collect();
            *cost += most;
            Then::Plans(plans)
        }
        (Shape::Items(parts), Some(names)) => Then::Items(
            parts
                .iter()
                .filter(|p| {
                    names.children.contains_key(p.name) || matches!(p.source, Source::ItemAuxGid)
                })
                .map(|p| step(p, names.children.get(p.name), &here, scopes, cost))
                .collect(),
        ),
        (Shape::Group(parts), Some(names)) => Then::Group(
            parts
                .iter()
                .filter(|p| names.children.contains_key(p.name))
                .map(|p| step(p, names.children.get(p.name), &here, scopes, cost))
                .collect(),
        ),
        _ => default_then(def),
    };
    if deeper.is_some() || !matches!(def.shape, Shape::One(_) | Shape::Many(_)) {
        scopes.extend(def.needs.iter().map(|s| (*s, here.clone())));
    }
    Step {
        def,
        then,
        named: true,
    }
}

/// The plan of a linked node; fields beyond its compact form need the scope of its type.
fn linked(ty: Type, names: &Names, path: &str, scopes: &mut Scopes, cost: &mut u32) -> Plan {
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
        scopes.push((resource(ty).read_scope, format!("{path}.{name}")));
    }
    named(ty, names, path, scopes, cost)
}
