//! Plans: which fields of a record are sent, and what must be read for them.
//!
//! A plan is made from the `opt_fields` of a request, or is the default record of a type. It is a
//! tree: links that are asked for by path carry the plan of the linked node.
use crate::fault::Fault;
use crate::registry::{ByType, Def, Dir, Rel, Rep, Shape, Source, Type, rel};
use crate::resources::resource;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The deepest path `opt_fields` may name.
pub const DEPTH_MAX: usize = 8;
/// The most paths `opt_fields` may name, groups expanded.
pub const PATHS_MAX: usize = 400;

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
}

/// One field of a plan.
#[derive(Clone, Debug)]
pub struct Step {
    /// The field.
    pub def: &'static Def,
    /// What is sent for what it links to.
    pub then: Then,
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
    let plans = PLANS.get_or_init(|| {
        ByType::new(|ty| [false, true].map(|compact| Arc::new(default_plan(ty, compact))))
    });
    match plans.get(ty) {
        Some([_, small]) if compact => Arc::clone(small),
        Some([large, _]) => Arc::clone(large),
        None => Arc::new(default_plan(ty, compact)),
    }
}

fn default_plan(ty: Type, compact: bool) -> Plan {
    let steps = resource(ty)
        .fields
        .iter()
        .filter(|d| d.rep == Rep::Compact || (!compact && d.rep != Rep::OptIn))
        .map(|def| Step {
            def,
            then: default_then(def),
        })
        .collect();
    Plan::new(ty, steps)
}

fn default_then(def: &'static Def) -> Then {
    match def.shape {
        Shape::One(types) | Shape::Many(types) if def.record.is_some() => Then::Plans(
            types
                .iter()
                .map(|ty| default_plan(*ty, def.record == Some(Rep::Compact)))
                .collect(),
        ),
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
    };
    parts.iter().map(step).collect()
}

impl Plan {
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
        let reads_body = !steps.iter().all(|s| in_head(s.def));
        Self {
            ty,
            steps,
            band,
            is_head,
            reads_body,
        }
    }
}

/// Names asked for, as a tree: every path of `opt_fields` is a way from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    children: BTreeMap<String, Names>,
}

impl Names {
    /// Reads `opt_fields`: comma-separated dotted paths; a term may be a group `(a|b)`, and `this.`
    /// at the start of a path is dropped.
    ///
    /// # Errors
    /// When a path is empty, malformed or too deep, or there are too many.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let mut names = Self::default();
        let mut room = PATHS_MAX;
        let mut depth = 0usize;
        let mut start = 0;
        let ends = text
            .char_indices()
            .filter(|(_, c)| matches!(c, ',' | '(' | ')'))
            .chain([(text.len(), ',')]);
        for (at, c) in ends {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth
                        .checked_sub(1)
                        .ok_or_else(|| unreadable("a `)` without its `(`"))?
                }
                _ if depth == 0 => {
                    names.add_path(text.get(start..at).unwrap_or_default().trim(), &mut room)?;
                    start = at + 1;
                }
                _ => {}
            }
        }
        if depth > 0 {
            return Err(unreadable("a `(` without its `)`"));
        }
        Ok(names)
    }

    fn add_path(&mut self, path: &str, room: &mut usize) -> Result<(), Fault> {
        let path = path.strip_prefix("this.").unwrap_or(path);
        let mut terms = Vec::new();
        let mut rest = path;
        loop {
            let (term, after) = if let Some(group) = rest.strip_prefix('(') {
                let (inner, after) = group
                    .split_once(')')
                    .ok_or_else(|| unreadable("a `(` without its `)`"))?;
                (inner.split('|').map(str::trim).collect::<Vec<_>>(), after)
            } else {
                let end = rest.find('.').unwrap_or(rest.len());
                let (term, after) = rest.split_at(end);
                (vec![term.trim()], after)
            };
            if term.iter().any(|t| !is_name(t)) {
                return Err(unreadable("an empty or malformed name"));
            }
            terms.push(term);
            if terms.len() > DEPTH_MAX {
                return Err(Fault::field(
                    "opt_fields",
                    format_args!(
                        "A path is too deep; at most {DEPTH_MAX} names may be joined by dots"
                    ),
                ));
            }
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None if after.is_empty() => break,
                None => return Err(unreadable("a group that is not a whole term")),
            }
        }
        self.insert(&terms, room)
    }

    fn insert(&mut self, terms: &[Vec<&str>], room: &mut usize) -> Result<(), Fault> {
        let Some((first, rest)) = terms.split_first() else {
            return Ok(());
        };
        for name in first {
            if rest.is_empty() {
                *room = room.checked_sub(1).ok_or_else(|| {
                    Fault::field(
                        "opt_fields",
                        format_args!("Too many fields; at most {PATHS_MAX} may be named"),
                    )
                })?;
            }
            self.children
                .entry((*name).to_owned())
                .or_default()
                .insert(rest, room)?;
        }
        Ok(())
    }
}

fn is_name(term: &str) -> bool {
    !term.is_empty()
        && term.len() <= 128
        && term
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn unreadable(what: &str) -> Fault {
    Fault::field(
        "opt_fields",
        format_args!(
            "Not a list of field names: there is {what}; use names joined by dots and separated by commas"
        ),
    )
}

/// The plan of a request for a type: the named fields that exist, plus gid.
#[must_use]
pub fn asked(ty: Type, names: &Names) -> Asked {
    let mut scopes = Vec::new();
    let mut cost = 0;
    let plan = Arc::new(named(ty, names, "", &mut scopes, &mut cost));
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
    Step { def, then }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ty: Type, text: &str) -> String {
        fn steps_of_root(steps: &[Step]) -> String {
            let shown: Vec<String> = steps
                .iter()
                .map(|s| match &s.then {
                    Then::Plans(plans) => format!(
                        "{}{{{}}}",
                        s.def.name,
                        plans.first().map(steps_of).unwrap_or_default()
                    ),
                    Then::Items(parts) => format!("{}[{}]", s.def.name, steps_of_root(parts)),
                    _ => s.def.name.to_owned(),
                })
                .collect();
            shown.join(" ")
        }
        fn steps_of(plan: &Plan) -> String {
            steps_of_root(&plan.steps)
        }
        steps_of_root(&asked(ty, &Names::parse(text).unwrap()).plan.steps)
    }

    #[test]
    fn opt_fields_give_the_named_fields_and_gid_in_record_order() {
        assert_eq!(shown(Type::Task, "completed,name"), "gid name completed");
        assert_eq!(
            shown(Type::Task, "this.name, assignee.email"),
            "gid name assignee{gid email}"
        );
        assert_eq!(
            shown(Type::Task, "memberships.section.name"),
            "gid memberships[section{gid name}]"
        );
        assert_eq!(
            shown(Type::Task, "this.(followers|assignee).email"),
            "gid assignee{gid email} followers{gid email}"
        );
        assert_eq!(shown(Type::Task, "(name|notes)"), "gid name notes");
    }

    #[test]
    fn unknown_names_are_ignored() {
        assert_eq!(
            shown(Type::Task, "nope,name,assignee.nope,name.x,a.b.c.d"),
            "gid name assignee{gid}"
        );
    }

    #[test]
    fn malformed_deep_and_many_are_refused() {
        for bad in [
            "",
            "a,,b",
            ",",
            "a.",
            ".a",
            "(a",
            "a)",
            "(a|)b",
            "()",
            "a\0",
            "a b c",
            "a.b.c.d.e.f.g.h.i",
        ] {
            assert!(
                Names::parse(bad)
                    .unwrap_err()
                    .message
                    .starts_with("opt_fields: "),
                "{bad:?}"
            );
        }
        let many = (0..PATHS_MAX + 1)
            .map(|i| format!("f{i}"))
            .collect::<Vec<_>>()
            .join(",");
        assert!(
            Names::parse(&many)
                .unwrap_err()
                .message
                .contains("Too many")
        );
        assert!(Names::parse("(a|b|c|d).".repeat(5).trim_end_matches('.')).is_err());
    }

    #[test]
    fn fields_of_linked_nodes_need_the_scope_of_their_type() {
        let scopes = |text: &str| -> Vec<&'static str> {
            asked(Type::Task, &Names::parse(text).unwrap())
                .scopes
                .into_iter()
                .map(|s| s.0)
                .collect()
        };
        assert_eq!(scopes("name,assignee,assignee.name"), Vec::<&str>::new());
        assert_eq!(scopes("assignee.email"), ["users:read"]);
        assert_eq!(
            scopes("actual_time_minutes"),
            ["time_tracking_entries:read"]
        );
        assert_eq!(
            scopes("memberships.project.owner.email"),
            ["projects:read", "users:read"]
        );
        assert_eq!(scopes("assignee.nope"), Vec::<&str>::new());
    }

    #[test]
    fn the_compact_form_of_a_task_is_its_head() {
        assert!(compact(Type::Task).is_head);
        assert!(!compact(Type::Task).reads_body);
        assert!(!compact(Type::Story).is_head);
        assert!(full(Type::Task).reads_body);
    }
}
