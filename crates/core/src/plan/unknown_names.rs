//! Names in `opt_fields` that no field has.
use super::field_paths::FieldPaths;
use crate::model::registry::{FieldDef, Type, ValueType};
use crate::model::resources::resource;

/// Path in `opt_fields` whose last name no field has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName {
    /// Path, such as `assignee.nmae`.
    pub path: String,
    /// Names of the fields that exist at that place.
    pub known: Vec<&'static str>,
}

/// Returns the paths that lead to no field of a type or of its variants. Replies ignore such paths.
#[must_use]
pub fn unknown_names(ty: Type, names: &FieldPaths) -> Vec<UnknownName> {
    let mut unknown = Vec::new();
    find(&fields_of(&[ty]), names, "", &mut unknown);
    unknown
}

fn find(
    fields: &[&'static FieldDef],
    names: &FieldPaths,
    above: &str,
    unknown: &mut Vec<UnknownName>,
) {
    for (name, below) in &names.children {
        let path = format!("{above}{name}");
        let mut defs = fields.iter().filter(|def| def.name == name).peekable();
        if defs.peek().is_none() {
            let mut known: Vec<&str> = fields.iter().map(|def| def.name).collect();
            known.sort_unstable();
            known.dedup();
            unknown.push(UnknownName { path, known });
            continue;
        }
        let mut inside = Vec::new();
        let mut is_open = false;
        for def in defs {
            match def.value_type {
                ValueType::One(types) | ValueType::Many(types) => inside.extend(fields_of(types)),
                ValueType::Group(parts) | ValueType::Items(parts) => inside.extend(parts),
                // The names of its parts depend on the stored value.
                ValueType::Json => is_open = true,
                _ => {}
            }
        }
        if !is_open {
            find(&inside, below, &format!("{path}."), unknown);
        }
    }
}

/// Returns the fields of types and of their variants.
fn fields_of(types: &[Type]) -> Vec<&'static FieldDef> {
    let of_type = |ty: &Type| {
        let own = resource(*ty);
        let kin = own.variants.iter().flat_map(|kin| resource(*kin).fields);
        own.fields.iter().chain(kin)
    };
    types.iter().flat_map(of_type).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(ty: Type, fields: &str) -> Vec<String> {
        let paths = FieldPaths::parse(fields).unwrap();
        let found = unknown_names(ty, &paths).into_iter();
        found.map(|unknown| unknown.path).collect()
    }

    #[test]
    fn names_of_no_field_are_found_at_every_depth() {
        let known =
            "name,assignee.name,memberships.section.name,this.due_on,(tags|followers).name,gid";
        assert_eq!(unknown(Type::Task, known), Vec::<String>::new());
        let wrong =
            "nmae,assignee.nmae,assignee.name.first,memberships.sections.name,workspace.due_on";
        let found = [
            "assignee.name.first",
            "assignee.nmae",
            "memberships.sections",
            "nmae",
            "workspace.due_on",
        ];
        assert_eq!(unknown(Type::Task, wrong), found);
    }

    #[test]
    fn what_would_be_known_is_named() {
        let paths = FieldPaths::parse("assignee.nmae").unwrap();
        let [only] = unknown_names(Type::Task, &paths).try_into().unwrap();
        assert!(only.known.contains(&"name") && !only.known.contains(&"due_on"));
    }
}
