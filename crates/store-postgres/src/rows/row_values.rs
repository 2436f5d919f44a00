//! Conversion of columns to values, and of values to columns of the types in the database.
use crate::columns::{code, gid, maybe_gid, number};
use crate::database_error::DatabaseError;
use crate::stored_values::{stored_text, text_to_store};
use std::error::Error;
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type as SqlType, to_sql_checked};
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_rows::Value;

/// Reads the value of a column.
pub(super) fn value(row: &Row, at: usize) -> Result<Value, DatabaseError> {
    let column = row.columns().get(at);
    let unread = || DatabaseError::unreadable(column.map_or("", |column| column.name()));
    let integer = |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
    Ok(match column.map(|column| column.type_().clone()) {
        Some(SqlType::BOOL) => integer(row.try_get::<_, Option<bool>>(at)?.map(i64::from)),
        Some(SqlType::INT2) => integer(row.try_get::<_, Option<i16>>(at)?.map(i64::from)),
        Some(SqlType::INT4) => integer(row.try_get::<_, Option<i32>>(at)?.map(i64::from)),
        Some(SqlType::INT8) => integer(row.try_get(at)?),
        Some(SqlType::TEXT) => {
            let text: Option<&str> = row.try_get(at)?;
            text.map_or(Value::Null, |text| Value::Text(stored_text(text)))
        }
        Some(SqlType::BYTEA) => row
            .try_get::<_, Option<Vec<u8>>>(at)?
            .map_or(Value::Null, Value::Blob),
        _ => return Err(unread()),
    })
}

/// Value as a parameter or a column of a copy.
#[derive(Debug)]
pub(super) struct Parameter<'v> {
    pub(super) value: &'v Value,
    /// True if its text is already in the stored form.
    pub(super) is_stored: bool,
}

impl ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        ty: &SqlType,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.value, ty.clone()) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Integer(number), SqlType::BOOL) => (*number != 0).to_sql(ty, out),
            (Value::Integer(number), SqlType::INT2) => i16::try_from(*number)?.to_sql(ty, out),
            (Value::Integer(number), SqlType::INT4) => i32::try_from(*number)?.to_sql(ty, out),
            (Value::Integer(number), SqlType::INT8) => number.to_sql(ty, out),
            (Value::Text(text), SqlType::TEXT) if self.is_stored => text.to_sql(ty, out),
            (Value::Text(text), SqlType::TEXT) => text_to_store(text).as_ref().to_sql(ty, out),
            (Value::Blob(bytes), SqlType::BYTEA) => bytes.to_sql(ty, out),
            (_, ty) => Err(format!("a value is not of the type {ty} of its column").into()),
        }
    }

    fn accepts(ty: &SqlType) -> bool {
        [
            SqlType::BOOL,
            SqlType::INT2,
            SqlType::INT4,
            SqlType::INT8,
            SqlType::TEXT,
            SqlType::BYTEA,
        ]
        .contains(ty)
    }

    to_sql_checked!();
}

/// Returns the node in the columns `gid, kind, home, version, head, body`.
pub(super) fn node(row: &Row) -> Result<Node, DatabaseError> {
    let ty = Type::from_code(code(row, 1)?).ok_or_else(|| DatabaseError::unreadable("kind"))?;
    Ok(Node {
        gid: gid(row, 0)?,
        ty,
        workspace: maybe_gid(row, 2)?,
        version: number(row, 3)?,
        head: row.try_get::<_, &str>(4)?.into(),
        body: row.try_get::<_, &str>(5)?.into(),
    })
}
