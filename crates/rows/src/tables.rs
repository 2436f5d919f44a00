//! The list of tables. It is declared only here; each store compares it with its own tables in a test.

/// Kind of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// Numbers; true is 1, times are milliseconds since 1970.
    Integer,
    /// Text, in UTF-8.
    Text,
    /// Bytes.
    Blob,
}

/// Sensitivity of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnContent {
    /// Data as clients see it.
    Plain,
    /// Digests, which do not reveal their input.
    Digest,
    /// Secrets, sealed or hashed.
    Secret,
}

/// Column of a table, the same in every engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Name, in every engine.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: ColumnKind,
    /// True if the value may be missing.
    pub nullable: bool,
    /// Sensitivity of its values.
    pub content: ColumnContent,
}

/// Table that every store has, with its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// Name, in every engine.
    pub name: &'static str,
    /// Number of key columns, which come first.
    pub key: usize,
    /// Columns in order, the key first.
    pub columns: &'static [Column],
}

const fn column(name: &'static str, kind: ColumnKind) -> Column {
    let (nullable, content) = (false, ColumnContent::Plain);
    Column {
        name,
        kind,
        nullable,
        content,
    }
}

const fn integer(name: &'static str) -> Column {
    column(name, ColumnKind::Integer)
}

const fn text(name: &'static str) -> Column {
    column(name, ColumnKind::Text)
}

const fn blob(name: &'static str) -> Column {
    column(name, ColumnKind::Blob)
}

impl Column {
    const fn or_null(self) -> Self {
        Self {
            nullable: true,
            ..self
        }
    }
    const fn secret(self) -> Self {
        Self {
            content: ColumnContent::Secret,
            ..self
        }
    }
    const fn digest(self) -> Self {
        Self {
            content: ColumnContent::Digest,
            ..self
        }
    }
}

impl Table {
    /// Returns the columns of the key.
    #[must_use]
    pub fn key_columns(&self) -> &'static [Column] {
        self.columns.get(..self.key).unwrap_or_default()
    }
}

const fn table(name: &'static str, key: usize, columns: &'static [Column]) -> Table {
    Table { name, key, columns }
}

/// Names of tables whose content is computed from other tables: index entries, words, the index of field values, edges by their
/// source.
pub const DERIVED_TABLES: [&str; 5] = ["card", "outgoing_edge", "value", "word", "words"];

/// Columns whose content is computed from other tables, each with its table: the edges that begin at a node.
pub const DERIVED_COLUMNS: [(&str, &str); 1] = [("node", "edges")];

/// Tables, in the order in which they are copied.
pub const TABLES: &[Table] = &[
    // Numbers of the store that follow from no row, each by its name: `floor` is the highest gid of an auxiliary node.
    table("state", 1, &[text("key"), integer("value")]),
    table(
        "node",
        1,
        &[
            integer("gid"),
            integer("kind"),
            integer("home").or_null(),
            integer("version"),
            integer("seq"),
            integer("gone").or_null(),
            text("head"),
            text("body"),
        ],
    ),
    table(
        "edge",
        4,
        &[
            integer("dst"),
            integer("rel"),
            integer("rank"),
            integer("src"),
            integer("seq"),
            integer("aux").or_null(),
        ],
    ),
    table("alias", 1, &[text("key"), integer("gid")]),
    table(
        "journal",
        1,
        &[
            integer("seq"),
            integer("at"),
            integer("actor").or_null(),
            text("facts"),
            text("nodes"),
        ],
    ),
    table(
        "account",
        1,
        &[integer("user"), integer("tier"), integer("disabled")],
    ),
    table(
        "login",
        1,
        &[integer("user"), text("email"), text("hash").secret()],
    ),
    table(
        "token",
        1,
        &[
            integer("id"),
            blob("digest").digest(),
            text("kind"),
            integer("user"),
            integer("app").or_null(),
            integer("authorization").or_null(),
            integer("workspace").or_null(),
            text("scopes"),
            text("description"),
            integer("created_at"),
            integer("expires_at").or_null(),
            integer("revoked_at").or_null(),
            integer("last_used_at").or_null(),
            integer("refresh").or_null(),
        ],
    ),
    table(
        "app",
        1,
        &[
            integer("id"),
            text("name"),
            blob("secret").or_null().digest(),
            text("redirects"),
            text("scopes"),
            text("distribution"),
            text("disabled_in"),
            integer("owner"),
            integer("created_at"),
            integer("disabled_at").or_null(),
        ],
    ),
    table(
        "authorization",
        1,
        &[
            integer("id"),
            integer("user"),
            integer("app"),
            text("scopes"),
            integer("created_at"),
            integer("revoked_at").or_null(),
        ],
    ),
    table(
        "code",
        1,
        &[
            blob("digest").digest(),
            integer("app"),
            integer("user"),
            integer("authorization"),
            text("redirect"),
            text("challenge").or_null().digest(),
            text("scopes"),
            text("nonce").or_null(),
            integer("auth_time"),
            integer("created_at"),
            integer("expires_at"),
            integer("used_at").or_null(),
            integer("refresh").or_null(),
        ],
    ),
    table("ticket", 1, &[blob("digest").digest(), integer("at")]),
    table(
        "session",
        1,
        &[
            blob("digest").digest(),
            integer("user"),
            integer("created_at"),
            integer("expires_at"),
            integer("used_at").or_null(),
            text("address").or_null(),
        ],
    ),
    table(
        "strikes",
        1,
        &[blob("key").digest(), integer("count"), integer("last_at")],
    ),
    table(
        "hook",
        1,
        &[
            integer("id"),
            integer("user"),
            integer("app").or_null(),
            integer("service").or_null(),
            integer("workspace"),
            integer("resource"),
            integer("kind"),
            text("target"),
            text("secret").secret(),
            text("filters"),
            integer("created_at"),
            integer("seq"),
            integer("facts"),
            integer("last_success_at").or_null(),
            integer("last_failure_at").or_null(),
            text("last_failure"),
            integer("retries"),
            integer("next_attempt_at").or_null(),
            integer("failing_since").or_null(),
        ],
    ),
    table(
        "delivery",
        1,
        &[
            integer("id"),
            integer("hook"),
            integer("at"),
            integer("from_seq"),
            integer("from_facts"),
            integer("to_seq"),
            integer("to_facts"),
            integer("events"),
            integer("attempt"),
            integer("status").or_null(),
            text("error"),
        ],
    ),
    table(
        "audit",
        1,
        &[
            integer("gid"),
            integer("seq"),
            integer("at"),
            integer("home"),
            integer("kind"),
            integer("actor_type"),
            integer("actor").or_null(),
            integer("resource"),
            text("body"),
            blob("digest").digest(),
        ],
    ),
    table(
        "checkpoint",
        1,
        &[integer("id"), integer("seq"), text("line")],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_those_of_one_table_and_one_column_and_each_table_has_a_key() {
        let names: BTreeSet<&str> = TABLES.iter().map(|table| table.name).collect();
        assert_eq!(names.len(), TABLES.len());
        for table in TABLES {
            let columns: BTreeSet<&str> = table.columns.iter().map(|c| c.name).collect();
            assert_eq!(columns.len(), table.columns.len(), "{}", table.name);
            assert!(table.key > 0 && table.key_columns().len() == table.key);
            assert!(
                table.key_columns().iter().all(|c| !c.nullable),
                "{}",
                table.name
            );
            assert!(!DERIVED_TABLES.contains(&table.name));
        }
    }
}
