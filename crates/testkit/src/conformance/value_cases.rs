//! Cases about the index of custom field values. They test a transaction directly, where searches read the index.
use super::{GraphStoreFailure, ensure, same};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::Transaction;

const LAST: IndexKey = IndexKey::Text(String::new());

fn gid(number: u64) -> Result<Gid, GraphStoreFailure> {
    Gid::new(number).ok_or_else(|| GraphStoreFailure("not a gid".into()))
}

fn number(value: f64) -> Result<IndexKey, GraphStoreFailure> {
    IndexKey::number(value).ok_or_else(|| GraphStoreFailure("not a number".into()))
}

type ScannedKeys = Vec<(IndexKey, Gid)>;

/// Returns the rows of a scan, in walks of two rows each.
fn scan(
    txn: &mut dyn Transaction,
    field: Gid,
    from: &IndexKey,
    to: &IndexKey,
) -> Result<ScannedKeys, GraphStoreFailure> {
    let mut all: ScannedKeys = Vec::new();
    loop {
        let mut page: ScannedKeys = Vec::new();
        let after = all.last().cloned();
        let after = after.as_ref().map(|(key, node)| (key, *node));
        txn.scan_values(field, (from, to), after, 2, &mut |key, node| {
            page.push((key, node));
        })?;
        ensure(page.len() <= 2, "a scan gives at most as many as asked for")?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Checks the index of values over an empty transaction that is rolled back or discarded afterwards.
///
/// # Errors
/// Fails if a promise is broken.
pub fn index(txn: &mut dyn Transaction) -> Result<(), GraphStoreFailure> {
    let (numbers, texts) = (gid(7)?, gid(8)?);
    let tasks = [gid(21)?, gid(22)?, gid(23)?, gid(24)?];
    for task in tasks {
        let node = Draft::new(Type::Task, task, None).finish();
        txn.put_node(&node, 1)?;
    }
    let [a, b, c, d] = tasks;
    let (minus, two, three) = (number(-2.5)?, number(2.0)?, number(3.0)?);
    let largest = IndexKey::gid(gid((1 << 53) - 1)?);
    txn.put_values(a, numbers, &[three.clone(), minus.clone(), three.clone()])?;
    txn.put_values(b, numbers, std::slice::from_ref(&two))?;
    txn.put_values(c, numbers, std::slice::from_ref(&three))?;
    txn.put_values(d, numbers, std::slice::from_ref(&largest))?;
    for (task, text) in [(a, "Émile 5%"), (b, "emil"), (c, "EMIL'S"), (d, "2")] {
        txn.put_values(task, texts, &[IndexKey::text(text)])?;
    }

    let all = vec![
        (minus.clone(), a),
        (two.clone(), b),
        (three.clone(), a),
        (three.clone(), c),
        (largest.clone(), d),
    ];
    let found = scan(txn, numbers, &IndexKey::FIRST, &LAST)?;
    same(&found, &all, "a field's values come by key, then node")?;
    let found = scan(txn, numbers, &two, &three)?;
    same(&found.len(), &3, "both ends of a range belong to it")?;
    let found = scan(txn, numbers, &largest, &largest)?;
    same(&found, &vec![(largest, d)], "gids are exact")?;
    let (from, to) = IndexKey::prefix_range("EMIL");
    let found: Vec<Gid> = scan(txn, texts, &from, &to)?
        .into_iter()
        .map(|(_, node)| node)
        .collect();
    same(&found, &vec![b, c], "texts are found by how they start")?;
    same(
        &txn.keys_of(a, numbers)?,
        &vec![minus, three.clone()],
        "the keys of a node come once each, in order",
    )?;

    txn.put_values(a, numbers, std::slice::from_ref(&two))?;
    txn.put_values(b, numbers, &[])?;
    let found = scan(txn, numbers, &IndexKey::FIRST, &three)?;
    let left = vec![(two, a), (three, c)];
    same(&found, &left, "the keys of a node are replaced")?;
    same(&txn.keys_of(b, numbers)?, &Vec::new(), "and taken away")?;
    txn.trash_node(c, 1)?;
    let found = scan(txn, numbers, &IndexKey::FIRST, &number(3.0)?)?;
    same(&found.len(), &1, "trashed nodes are not found")?;

    txn.put_alias("name:x", a)?;
    txn.drop_alias("name:x", b)?;
    same(
        &txn.alias("name:x")?,
        &Some(a),
        "only the holder gives up a name",
    )?;
    txn.drop_alias("name:x", a)?;
    same(&txn.alias("name:x")?, &None, "a name is given up")?;
    txn.put_alias("name:x", b)?;
    same(
        &txn.alias("name:x")?,
        &Some(b),
        "and may be taken by another",
    )
}
