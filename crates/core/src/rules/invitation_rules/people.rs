//! Values of people fields that name the invited user of an answered invitation: the person replaces that user, or the user is
//! removed.
use super::{Invitation, OBJECTS};
use crate::model::custom_field_values;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{CustomFieldType, Type};
use crate::model::resources::{custom_field, task};
use crate::rules::custom_field_rules;
use crate::search::{Clause, Search, SearchEffort, SearchQuery, SortOrder, ValuePredicate};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListSource, PageQuery, ReadQuery, ReadView};

/// Maximum number of custom fields that are checked at once.
const FIELDS: usize = 100;

/// Returns the read query for some custom fields of the workspace: the first fields, or the fields after the last one of a
/// page.
#[must_use]
pub fn some_fields(it: &Invitation, after: Option<Vec<i64>>) -> ReadQuery {
    let mut want = ReadQuery::of(it.reader());
    let anchor = want.add_ref(it.workspace);
    let ty = Type::CustomField;
    want.page = Some(PageQuery {
        after,
        ..PageQuery::of(ListSource::InWorkspace { anchor, ty }, true, FIELDS)
    });
    want
}

/// Returns the people fields among the custom fields that were found.
#[must_use]
pub fn people_fields(found: &ReadView) -> Vec<Gid> {
    let is_of_people = |gid: &Gid| {
        let field = found.node(*gid);
        field.is_some_and(|field| custom_field::kind(field) == CustomFieldType::People)
    };
    let fields = found.rows.gids.iter().copied();
    fields.filter(is_of_people).collect()
}

/// Types of objects with custom field values.
const VALUED: [Type; 4] = [Type::Task, Type::Project, Type::Portfolio, Type::Goal];

/// Returns the read query for some objects whose values of these fields name the invited user.
#[must_use]
pub fn naming(it: &Invitation, fields: &[Gid]) -> ReadQuery {
    let mut want = ReadQuery::of(it.reader());
    let workspace = want.add_ref(it.workspace);
    let key = IndexKey::gid(it.invited);
    let pairs = fields.iter().flat_map(|field| VALUED.map(|ty| (field, ty)));
    let query = |(field, ty): (&Gid, Type)| SearchQuery {
        ty,
        clauses: vec![Clause::Value(
            want.add_ref(*field),
            ValuePredicate::Within(vec![(key.clone(), key.clone())]),
        )],
        order: SortOrder::Relevance,
        ascending: true,
    };
    let queries = pairs.map(query).collect();
    want.search = Some(Search {
        workspace,
        queries,
        limit: OBJECTS,
        cap: usize::MAX >> 1,
        effort: SearchEffort::USUAL,
    });
    want
}

/// Returns the read query for the full nodes that [`naming`] found, so that they can be written.
#[must_use]
pub fn naming_in_full(it: &Invitation, fields: &[Gid], found: &ReadView) -> ReadQuery {
    let all = fields.iter().chain(&found.rows.gids);
    all.fold(ReadQuery::of(it.reader()), |want, gid| want.node(*gid))
}

/// Replaces the invited user by the heir in values of these fields, or removes the user if there is no heir. Returns true if
/// there were such values.
pub fn pass_on(
    work: &mut ChangeBuilder<'_>,
    it: &Invitation,
    heir: Option<Gid>,
    fields: &[Gid],
    (found, full): (&ReadView, &ReadView),
) -> bool {
    let mut any = false;
    for object in found.rows.gids.iter().filter_map(|gid| full.node(*gid)) {
        let before = object.raw(task::CUSTOM_FIELDS.def.name);
        let named = before
            .into_iter()
            .flat_map(custom_field_values::stored_values);
        let named = named.filter(|(field, value)| {
            fields.contains(field) && custom_field_values::gids(value).any(|gid| gid == it.invited)
        });
        let given = named.map(|(field, value)| (field, passed(value, it.invited, heir)));
        let (values, changes) = custom_field_rules::merge(before, given.collect());
        if !changes.is_empty() {
            any = true;
            write(work, object, values, full, &changes);
        }
    }
    any
}

fn write(
    work: &mut ChangeBuilder<'_>,
    object: &Node,
    values: String,
    full: &ReadView,
    changes: &[custom_field_rules::ValueChange],
) {
    let mut draft = Draft::edit(object);
    draft.set(task::CUSTOM_FIELDS, values);
    custom_field_rules::index_value_changes(work, object.gid, full, changes);
    work.save(&draft);
    custom_field_rules::record_value_changes(work, (object.gid, object.ty), changes);
}

/// Returns a stored value with the heir in place of the invited user, each person once; `None` if
/// no person is left.
fn passed(value: &str, invited: Gid, heir: Option<Gid>) -> Option<String> {
    let mut people: Vec<Gid> = Vec::new();
    for gid in custom_field_values::gids(value) {
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
