//! Plans of `opt_expand`: default records whose named parts are full records.
use super::expand_paths::PathState;
use super::{
    COMPACT, DEPTH_MAX, ExpandPaths, FULL, FieldMask, Inclusions, LinkPlan, Plan, PlanStep, VALUED,
    default_then,
};
use crate::domain_error::DomainError;
use crate::model::registry::{FieldDef, FieldSource, Inclusion, Type, ValueType};
use crate::model::resources::resource;
use std::sync::Arc;

/// Maximum number of plans for `opt_expand`: one for each path to a record and type that it may have there.
const PLANS_MAX: usize = 400;

/// Default form of the record that `opt_expand` starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultForm {
    /// The record of lists.
    Compact,
    /// The record of single objects.
    Full,
    /// The compact record of an object found by name: all fields beyond it need the scope of its type.
    Lookup,
    /// The compact record of an item: fields of its variants beyond this record need the scopes of their types.
    Items,
}

/// Returns the field mask of a default record of a type in which the named parts are full records. A repeated name
/// repeats down to [`DEPTH_MAX`] links.
///
/// # Errors
/// Returns an error if the paths lead to too many records.
pub fn resolve_expansion(
    ty: Type,
    form: DefaultForm,
    paths: &ExpandPaths,
) -> Result<FieldMask, DomainError> {
    let mut work = Expansion {
        paths,
        scopes: Vec::new(),
        room: PLANS_MAX,
    };
    let sent = if form == DefaultForm::Full {
        FULL
    } else {
        COMPACT
    };
    let start = paths.start();
    if form == DefaultForm::Lookup && start.is_expanded {
        work.scopes
            .push((resource(ty).read_scope, "opt_expand".to_owned()));
    }
    let (mut plan, mut cost) = work.plan(ty, &start, sent, "", 0)?;
    for kin in resource(ty).variants {
        if form == DefaultForm::Items && start.is_expanded {
            work.scopes
                .push((resource(*kin).read_scope, "opt_expand".to_owned()));
        }
        let (variant, one) = work.plan(*kin, &start, sent, "", 0)?;
        plan.variants.push(variant);
        cost = cost.max(one);
    }
    let mut scopes = work.scopes;
    scopes.sort();
    scopes.dedup_by(|a, b| a.0 == b.0);
    Ok(FieldMask {
        plan: Arc::new(plan),
        scopes,
        cost,
    })
}

struct Expansion<'p> {
    paths: &'p ExpandPaths,
    scopes: Vec<(&'static str, String)>,
    /// Number of plans that may still be made.
    room: usize,
}

impl Expansion<'_> {
    /// Returns the plan of a record, and the cost of its fields beyond the default form.
    fn plan(
        &mut self,
        ty: Type,
        state: &PathState,
        usual: Inclusions,
        path: &str,
        depth: usize,
    ) -> Result<(Plan, u32), DomainError> {
        self.room = self.room.checked_sub(1).ok_or_else(|| {
            DomainError::field(
                "opt_expand",
                format_args!(
                    "Too much is expanded; at most {PLANS_MAX} kinds of records may be nested. \
                     Name fewer links, or repeat fewer of them"
                ),
            )
        })?;
        let larger = if usual == VALUED { VALUED } else { FULL };
        let sent = if state.is_expanded { larger } else { usual };
        let (mut steps, mut cost) = (Vec::new(), 0);
        for def in resource(ty).fields {
            let below = self.paths.step(state, def.name);
            if !below.is_dead() || sent.contains(&def.inclusion) {
                let is_usual = below.is_dead() && usual.contains(&def.inclusion);
                cost += if is_usual { 0 } else { u32::from(def.cost) };
                steps.push(self.step(def, &below, path, depth, &mut cost)?);
            }
        }
        Ok((Plan::new(ty, steps), cost))
    }

    fn step(
        &mut self,
        def: &'static FieldDef,
        state: &PathState,
        path: &str,
        depth: usize,
        cost: &mut u32,
    ) -> Result<PlanStep, DomainError> {
        if state.is_dead() {
            return Ok(PlanStep::new(def, default_then(def)));
        }
        let here = if path.is_empty() {
            def.name.to_owned()
        } else {
            format!("{path}.{}", def.name)
        };
        self.scopes
            .extend(def.required_scopes.iter().map(|s| (*s, here.clone())));
        let then = match def.value_type {
            ValueType::One(types) | ValueType::Many(types) if depth < DEPTH_MAX => {
                let usual = match (def.source, def.record) {
                    (_, Some(Inclusion::Compact) | None) => COMPACT,
                    (FieldSource::Values(_), _) => VALUED,
                    _ => FULL,
                };
                let (mut plans, mut most) = (Vec::new(), 0);
                for ty in types {
                    if def.record.is_none() {
                        self.scopes.push((resource(*ty).read_scope, here.clone()));
                    }
                    let (plan, one) = self.plan(*ty, state, usual, &here, depth + 1)?;
                    most = most.max(one);
                    plans.push(plan);
                }
                *cost += most;
                LinkPlan::Plans(plans)
            }
            ValueType::Items(parts) => {
                LinkPlan::Items(self.parts(parts, state, &here, depth, cost)?)
            }
            ValueType::Group(parts) => {
                LinkPlan::Group(self.parts(parts, state, &here, depth, cost)?)
            }
            _ => default_then(def),
        };
        Ok(PlanStep {
            explicit: true,
            ..PlanStep::new(def, then)
        })
    }

    fn parts(
        &mut self,
        parts: &'static [FieldDef],
        state: &PathState,
        path: &str,
        depth: usize,
        cost: &mut u32,
    ) -> Result<Vec<PlanStep>, DomainError> {
        let mut steps = Vec::new();
        for def in parts {
            let below = self.paths.step(state, def.name);
            steps.push(self.step(def, &below, path, depth, cost)?);
        }
        Ok(steps)
    }
}
