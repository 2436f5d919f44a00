//! Data that a projection reads: a view, and the data for computed fields.
use crate::model::computed_field::ComputedFieldContext;
use crate::storage::ReadView;

/// View of a request, and the data for its computed fields.
#[derive(Debug)]
pub(crate) struct ProjectionContext<'a> {
    /// View with the nodes and edges of the records.
    pub(crate) view: &'a ReadView,
    /// Data for computed fields.
    pub(crate) fields: ComputedFieldContext<'a>,
}
