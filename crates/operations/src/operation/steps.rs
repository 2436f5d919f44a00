//! Handlers with typed inputs: functions of a request and its inputs, behind traits without the type of the inputs.
use super::inputs::{InputReader, OperationInput};
use crate::request_context::RequestContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::storage::{ReadQuery, ReadView};

/// Function that returns the read query of an operation.
pub type NeedsFn<T> = fn(&RequestContext<'_>, &T) -> Result<ReadQuery, DomainError>;
/// Function that makes a decision from a read view.
pub type DecideFn<T, D> = fn(&RequestContext<'_>, &ReadView, &T) -> Result<D, DomainError>;
/// Function that describes a read of several nodes.
pub type DescribeFn<T, R> = fn(&RequestContext<'_>, &T) -> Result<R, DomainError>;

/// The two steps of an operation with inputs `T`: its read query, and its decision `D` from the read view.
#[derive(Debug)]
pub struct Steps<T: 'static, D: 'static> {
    needs: NeedsFn<T>,
    decide: DecideFn<T, D>,
}

impl<T, D> Steps<T, D> {
    /// Returns the steps of an operation.
    #[must_use]
    pub const fn new(needs: NeedsFn<T>, decide: DecideFn<T, D>) -> Self {
        Self { needs, decide }
    }
}

/// Handler of an operation in two steps.
pub trait Prepare<D>: Send + Sync {
    /// Reads the inputs of a request.
    ///
    /// # Errors
    /// Fails if an input is missing or malformed.
    fn prepare(
        &'static self,
        inputs: &InputReader<'_>,
    ) -> Result<Box<dyn Prepared<D>>, DomainError>;
}

/// An operation with the inputs of one request.
pub trait Prepared<D>: Send + Sync {
    /// Returns the read query.
    ///
    /// # Errors
    /// Fails if the inputs do not fit together.
    fn needs(&self, call: &RequestContext<'_>) -> Result<ReadQuery, DomainError>;
    /// Decides from the read view.
    ///
    /// # Errors
    /// Fails if the caller may not do it, or the inputs do not fit the data.
    fn decide(&self, call: &RequestContext<'_>, view: &ReadView) -> Result<D, DomainError>;
}

/// Steps with the inputs of one request.
struct PreparedSteps<T: 'static, D: 'static> {
    steps: &'static Steps<T, D>,
    input: T,
}

impl<T: OperationInput, D: 'static> Prepare<D> for Steps<T, D> {
    fn prepare(
        &'static self,
        inputs: &InputReader<'_>,
    ) -> Result<Box<dyn Prepared<D>>, DomainError> {
        let input = T::read(inputs)?;
        Ok(Box::new(PreparedSteps { steps: self, input }))
    }
}

impl<T: OperationInput, D> Prepared<D> for PreparedSteps<T, D> {
    fn needs(&self, call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
        (self.steps.needs)(call, &self.input)
    }
    fn decide(&self, call: &RequestContext<'_>, view: &ReadView) -> Result<D, DomainError> {
        (self.steps.decide)(call, view, &self.input)
    }
}

/// The one step of a list or search with inputs `T`: its description `R`.
#[derive(Debug)]
pub struct Description<T: 'static, R: 'static> {
    describe: DescribeFn<T, R>,
}

impl<T, R> Description<T, R> {
    /// Returns the step of a list or search.
    #[must_use]
    pub const fn new(describe: DescribeFn<T, R>) -> Self {
        Self { describe }
    }
}

/// Handler of a list or search.
pub trait Described<R>: Send + Sync {
    /// Reads the inputs of a request.
    ///
    /// # Errors
    /// Fails if an input is missing or malformed.
    fn read_inputs(&self, inputs: &InputReader<'_>) -> Result<(), DomainError>;
    /// Reads the inputs of a request and describes the list or search.
    ///
    /// # Errors
    /// Fails if an input is missing or malformed, or the inputs do not fit together.
    fn describe(&self, call: &RequestContext<'_>) -> Result<R, DomainError>;
}

impl<T: OperationInput, R> Described<R> for Description<T, R> {
    fn read_inputs(&self, inputs: &InputReader<'_>) -> Result<(), DomainError> {
        T::read(inputs).map(drop)
    }
    fn describe(&self, call: &RequestContext<'_>) -> Result<R, DomainError> {
        (self.describe)(call, &T::read(&InputReader::new(&call.raw))?)
    }
}
