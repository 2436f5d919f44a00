//! Data that a projection reads.
use crate::model::computed_field::ComputedFieldContext;
use crate::storage::ReadView;

/// Data that a projection reads.
#[derive(Debug)]
pub(crate) struct ProjectionContext<'a> {
    /// View with the nodes and edges of the records.
    pub(crate) view: &'a ReadView,
    /// Data for computed fields.
    pub(crate) fields: ComputedFieldContext<'a>,
}
