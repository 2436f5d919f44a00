use super::*;
use crate::{SqliteStore, StoreOptions};
use std::collections::BTreeMap;
use workgraph_rows::{ColumnKind, DERIVED_COLUMNS, DERIVED_TABLES, RowWriter, TABLES, digest};
use workgraph_testkit::ScratchFolder;

/// Columns of a table according to SQLite: name, kind, nullable, position in the key or 0.
type Columns = Vec<(String, ColumnKind, bool, usize)>;

fn schema(conn: &Connection) -> BTreeMap<String, Columns> {
    let mut tables = BTreeMap::new();
    let mut all = conn
        .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%'")
        .unwrap();
    let names = all.query_map([], |row| row.get::<_, String>(0)).unwrap();
    for name in names.map(Result::unwrap) {
        let mut info = conn
            .prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)")
            .unwrap();
        let columns = info.query_map([&name], |row| {
            let kind = match row.get::<_, String>(1)?.as_str() {
                "TEXT" => ColumnKind::Text,
                "BLOB" => ColumnKind::Blob,
                _ => ColumnKind::Integer,
            };
            let (required, key): (bool, u8) = (row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, kind, !required && key == 0, key.into()))
        });
        tables.insert(name, columns.unwrap().map(Result::unwrap).collect());
    }
    tables
}

/// Returns the columns of a table according to the list.
fn listed(table: &Table) -> Columns {
    let columns = table.columns.iter().enumerate();
    let of = |(at, c): (usize, &workgraph_rows::Column)| {
        let key = if at < table.key { at + 1 } else { 0 };
        (c.name.to_owned(), c.kind, c.nullable, key)
    };
    columns.map(of).collect()
}

/// Returns the differences between the tables of a file and the list.
fn differences(conn: &Connection) -> Vec<String> {
    let mut found = schema(conn);
    let mut differences = Vec::new();
    for table in TABLES {
        let name = if table.name == "state" {
            "meta"
        } else {
            table.name
        };
        match found.remove(name) {
            None => differences.push(format!("no table {name}")),
            Some(mut columns) => {
                let mut listed = listed(table);
                // Columns outside the key may be in another order than in the list if one was added later.
                columns.retain(|column| !DERIVED_COLUMNS.contains(&(name, &column.0)));
                columns.sort_by(|a, b| a.0.cmp(&b.0));
                listed.sort_by(|a, b| a.0.cmp(&b.0));
                if columns != listed {
                    differences.push(format!("{name}: {columns:?} are not {listed:?}"));
                }
            }
        }
    }
    found.retain(|name, _| !DERIVED_TABLES.contains(&name.as_str()));
    differences.extend(
        found
            .into_keys()
            .map(|name| format!("table {name} is not listed")),
    );
    differences
}

/// S930.
#[test]
fn the_list_of_tables_is_that_of_the_file() {
    let folder = ScratchFolder::new("rows-schema");
    drop(SqliteStore::open(folder.path(), StoreOptions::default()).unwrap());
    let conn = Connection::open(folder.join("workgraph.db")).unwrap();
    assert_eq!(differences(&conn), Vec::<String>::new());
    // An addition that is not in the list is detected.
    for (sql, expected) in [
        (
            "CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT",
            "extra is not listed",
        ),
        ("ALTER TABLE session ADD COLUMN extra TEXT", "session: "),
    ] {
        conn.execute_batch("BEGIN").unwrap();
        conn.execute_batch(sql).unwrap();
        let found = differences(&conn);
        assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
        conn.execute_batch("ROLLBACK").unwrap();
    }
}

/// S931.
#[test]
fn every_column_is_part_of_the_digest() {
    let folder = ScratchFolder::new("rows-digest");
    let mut writer = SqliteRowWriter::create(folder.path()).unwrap();
    let of = |kind, number: i64| match kind {
        ColumnKind::Integer => Value::Integer(number),
        ColumnKind::Text => Value::Text(number.to_string()),
        ColumnKind::Blob => Value::Blob(number.to_be_bytes().to_vec()),
    };
    for table in TABLES {
        let mut row: Row = table.columns.iter().map(|c| of(c.kind, 1)).collect();
        if table.name == "state" {
            row = vec![Value::Text("floor".into()), Value::Integer(1)];
        }
        writer.write(table, std::slice::from_ref(&row)).unwrap();
    }
    let before = digest(&mut writer).unwrap();
    assert!(before.tables.iter().all(|table| table.rows == 1));
    for table in TABLES {
        for column in &table.columns[table.key..] {
            let name = if table.name == "state" {
                "meta"
            } else {
                table.name
            };
            let sql = format!("UPDATE \"{name}\" SET \"{}\" = ?1", column.name);
            let set = |writer: &SqliteRowWriter, number| {
                let value = of(column.kind, number);
                writer.conn.execute(&sql, [Parameter(&value)]).unwrap();
            };
            set(&writer, 2);
            let after = digest(&mut writer).unwrap();
            assert_ne!(
                before.total(),
                after.total(),
                "{} {}",
                table.name,
                column.name
            );
            let error = before.compare(&after).unwrap_err().to_string();
            assert!(error.contains(table.name), "{error}");
            set(&writer, 1);
        }
    }
}
