//! Statements that write, created before they are sent.
use crate::params::{OwnedParams, borrowed};
use crate::statement_pipeline::Statement;
use tokio_postgres::types::ToSql;

/// Statement with the parameters that it owns.
pub(crate) type OwnedStatement = (&'static str, OwnedParams);

/// Statements that write, in the order in which they are sent.
#[derive(Default)]
pub(crate) struct StatementList {
    statements: Vec<OwnedStatement>,
}

impl StatementList {
    /// Adds a statement at the end.
    pub(crate) fn add(&mut self, sql: &'static str, params: OwnedParams) {
        self.statements.push((sql, params));
    }

    /// Adds the statements of another list.
    pub(crate) fn append(&mut self, mut others: Self) {
        self.statements.append(&mut others.statements);
    }
}

impl IntoIterator for StatementList {
    type Item = OwnedStatement;
    type IntoIter = std::vec::IntoIter<OwnedStatement>;

    fn into_iter(self) -> Self::IntoIter {
        self.statements.into_iter()
    }
}

/// Statements with their parameters as the database takes them.
pub(crate) struct BorrowedStatements<'s>(Vec<(&'static str, Vec<&'s (dyn ToSql + Sync)>)>);

impl<'s> BorrowedStatements<'s> {
    pub(crate) fn new(statements: &'s [OwnedStatement]) -> Self {
        let borrow = |(sql, params): &'s OwnedStatement| (*sql, borrowed(params));
        Self(statements.iter().map(borrow).collect())
    }

    pub(crate) fn statements(&self) -> Vec<Statement<'_>> {
        let statements = self.0.iter();
        statements
            .map(|(sql, params)| (*sql, params.as_slice()))
            .collect()
    }
}
