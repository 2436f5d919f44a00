//! Objects that a place of a request is tried with.
use super::turns::all_are_tried;
use std::collections::BTreeSet;
use workgraph_core::model::registry::{Type, ValueType};
use workgraph_core::model::resources;
use workgraph_operations::operation::Operation;

/// Choice of the objects that a place of a request is tried with: all that have a type which the place takes, and of the
/// others every twelfth, beginning elsewhere for each place. With `WORKGRAPH_CASES` it is all of them.
pub(super) struct PlaceChoice {
    types: BTreeSet<Type>,
    start: usize,
    takes_all: bool,
}

impl PlaceChoice {
    pub(super) fn of(row: &Operation, place: &str) -> Self {
        let fields = resources::ALL.iter().flat_map(|resource| resource.fields);
        let fields = fields.filter(|field| field.name == place);
        let of_fields = fields.flat_map(|field| match field.value_type {
            ValueType::One(types) | ValueType::Many(types) => types,
            _ => &[],
        });
        let inputs = row.declared_inputs().filter(|input| input.name == place);
        let of_inputs = inputs.flat_map(|input| input.types());
        Self {
            types: of_fields.chain(of_inputs).copied().collect(),
            start: row.id.len() + place.len(),
            takes_all: all_are_tried(),
        }
    }

    pub(super) fn takes(&self, at: usize, ty: Option<Type>) -> bool {
        let fits = ty.is_some_and(|ty| self.types.contains(&ty));
        self.takes_all || fits || (at + self.start).is_multiple_of(12)
    }
}
