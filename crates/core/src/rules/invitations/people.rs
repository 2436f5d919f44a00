//! Values of people fields that name the user of an answered invitation: the person takes that place, or nobody.
use super::{Invitation, OBJECTS};
use crate::draft::Draft;
use crate::gid::Gid;
use crate::graph::{Listing, Page, View, Want};
use crate::index::Key;
use crate::node::Node;
use crate::registry::{Kind, Type};
use crate::resources::{custom_field, task};
use crate::rules::fields;
use crate::search::{Clause, Effort, Order, Query, Search, Test};
use crate::values;
use crate::work::Work;

/// The most custom fields that are looked through at once.
const FIELDS: usize = 100;

/// Returns some custom fields of the workspace: the first ones, or those after a page's last.
#[must_use]
pub fn some_fields(it: &Invitation, after: Option<Vec<i64>>) -> Want {
    let mut want = Want::of(it.reader());
    let anchor = want.add(it.workspace);
    let ty = Type::CustomField;
    want.page = Some(Page {
        after,
        ..Page::of(Listing::Home { anchor, ty }, true, FIELDS)
    });
    want
}

/// Returns those of the fields found whose values name people.
#[must_use]
pub fn people_fields(found: &View) -> Vec<Gid> {
    let is_of_people = |gid: &Gid| {
        let field = found.node(*gid);
        field.is_some_and(|field| custom_field::kind(field) == Kind::People)
    };
    let fields = found.rows.gids.iter().copied();
    fields.filter(is_of_people).collect()
}

/// Returns tasks in which values of these fields name the invited user: some of them.
#[must_use]
pub fn naming(it: &Invitation, fields: &[Gid]) -> Want {
    let mut want = Want::of(it.reader());
    let place = want.add(it.workspace);
    let key = Key::gid(it.invited);
    let mut query = |field: &Gid| Query {
        ty: Type::Task,
        clauses: vec![Clause::Value(
            want.add(*field),
            Test::Within(vec![(key.clone(), key.clone())]),
        )],
        order: Order::Relevance,
        ascending: true,
    };
    let queries = fields.iter().map(&mut query).collect();
    want.search = Some(Search {
        place,
        queries,
        limit: OBJECTS,
        cap: usize::MAX >> 1,
        effort: Effort::USUAL,
    });
    want
}

/// Returns the whole of what [`naming`] found, to be written.
#[must_use]
pub fn naming_in_full(it: &Invitation, fields: &[Gid], found: &View) -> Want {
    let all = fields.iter().chain(&found.rows.gids);
    all.fold(Want::of(it.reader()), |want, gid| want.node(*gid))
}

/// Puts the heir, or nobody, in the place of the invited user in values of these fields; says whether there was any.
pub fn pass_on(
    work: &mut Work<'_>,
    it: &Invitation,
    heir: Option<Gid>,
    fields: &[Gid],
    (found, full): (&View, &View),
) -> bool {
    let mut any = false;
    for task in found.rows.gids.iter().filter_map(|gid| full.node(*gid)) {
        let before = task.raw(task::CUSTOM_FIELDS.def.name);
        let named = before.into_iter().flat_map(values::stored);
        let named = named.filter(|(field, value)| {
            fields.contains(field) && values::gids(value).any(|gid| gid == it.invited)
        });
        let given = named.map(|(field, value)| (field, passed(value, it.invited, heir)));
        let (object, changes) = fields::merge(before, given.collect());
        if !changes.is_empty() {
            any = true;
            write(work, task, object, full, &changes);
        }
    }
    any
}

fn write(
    work: &mut Work<'_>,
    task: &Node,
    object: String,
    full: &View,
    changes: &[fields::ValueChange],
) {
    let mut draft = Draft::edit(task);
    draft.set(task::CUSTOM_FIELDS, object);
    fields::index(work, task.gid, full, changes);
    work.save(&draft);
    fields::facts(work, task.gid, changes);
}

/// A stored value with the heir in the place of the invited user, each person once; none if nobody is left.
fn passed(value: &str, invited: Gid, heir: Option<Gid>) -> Option<String> {
    let mut people: Vec<Gid> = Vec::new();
    for gid in values::gids(value) {
        let gid = if gid == invited { heir } else { Some(gid) };
        people.extend(gid.filter(|gid| !people.contains(gid)));
    }
    let people: Vec<String> = people.iter().map(|gid| format!("\"{gid}\"")).collect();
    (!people.is_empty()).then(|| format!("[{}]", people.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heir_stands_where_the_invited_user_did_and_once() {
        let gid = |number| Gid::new(number).unwrap();
        let value = r#"["4","7","9"]"#;
        let after = |heir| passed(value, gid(7), heir);
        assert_eq!(after(Some(gid(5))).unwrap(), r#"["4","5","9"]"#);
        assert_eq!(after(Some(gid(9))).unwrap(), r#"["4","9"]"#);
        assert_eq!(after(None).unwrap(), r#"["4","9"]"#);
        assert_eq!(passed(r#"["7"]"#, gid(7), None), None);
    }
}
