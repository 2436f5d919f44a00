//! Migrations of older files, and refusal of files of other programs.
use super::*;
use crate::statements::Sql;
use crate::transaction::SqliteTransaction;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;

fn memory() -> Connection {
    Connection::open_in_memory().unwrap()
}

/// Returns a file as a program with only the first `steps` migrations wrote it.
fn older(steps: usize) -> Connection {
    let conn = memory();
    for step in MIGRATIONS.iter().take(steps) {
        conn.execute_batch(step).unwrap();
    }
    conn.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {steps};"
    ))
    .unwrap();
    conn
}

#[test]
fn a_new_file_gets_every_table_and_the_newest_version_once() {
    let conn = memory();
    assert!(inspect(&conn).unwrap());
    migrate(&conn).unwrap();
    migrate(&conn).unwrap();
    assert_eq!(version(&conn).unwrap(), MIGRATIONS.len());
    assert!(!inspect(&conn).unwrap());
}

#[test]
fn tokens_of_a_file_from_before_apps_stand_alone() {
    let conn = older(1);
    conn.execute_batch(
        "INSERT INTO token (id, digest, kind, user, scopes, description, created_at)
         VALUES (1, x'00', 'personal', 7, 'default', '', 0)",
    )
    .unwrap();
    migrate(&conn).unwrap();
    let alone: bool = conn
        .query_row("SELECT refresh IS NULL FROM token", [], |r| r.get(0))
        .unwrap();
    assert!(alone && is_newest(&conn).unwrap());
}

#[test]
fn relations_of_a_file_from_before_get_their_new_numbers() {
    use workgraph_core::model::registry::rel;
    let conn = older(2);
    // Section, My Tasks, parent, followers, tags and likes of one task.
    for old in 1..=6 {
        let edge = (7, old, 100 + old);
        conn.execute("INSERT INTO edge VALUES (?1, ?2, ?3, 0, 1, NULL)", edge)
            .unwrap();
    }
    migrate(&conn).unwrap();
    let mut read = conn
        .prepare("SELECT rel FROM edge WHERE src = 7 ORDER BY dst")
        .unwrap();
    let rows = read.query_map([], |row| row.get::<_, u8>(0)).unwrap();
    let numbers: Vec<u8> = rows.map(Result::unwrap).collect();
    let now = [
        rel::SECTION,
        rel::MY_TASKS,
        rel::PARENT,
        rel::FOLLOWERS,
        rel::TAGS,
        rel::LIKES,
    ];
    assert_eq!(numbers, now.map(|rel| rel.0));
}

#[test]
fn cards_of_a_file_from_before_say_what_is_done() {
    let conn = older(6);
    conn.execute_batch(
        "INSERT INTO card (home, kind, gid, created, modified, subtype, flags, likes, sum)
         VALUES (1, 1, 7, 0, 0, 0, 3, 0, 0), (1, 1, 8, 0, 0, 0, 2, 0, 0);",
    )
    .unwrap();
    migrate(&conn).unwrap();
    let done: i64 = conn
        .query_row("SELECT sum(gid) FROM card WHERE done", [], |r| r.get(0))
        .unwrap();
    assert_eq!(done, 7);
}

/// Checks that the migration computes the same column sets that are written from then on.
#[test]
fn cards_of_a_file_from_before_get_their_shapes() {
    let step = MIGRATIONS.iter().position(|step| step.contains("shape"));
    let conn = older(step.unwrap());
    // Each entry has one value that sets a bit of the column set, and the last has none.
    let all = "completed due start who creator assigner sub subtype done flags waits";
    for (gid, column) in (1..).zip(all.split(' ')) {
        let insert = format!(
            "INSERT INTO card (home, kind, gid, created, modified, likes, sum, subtype, flags)
             VALUES (1, {}, {gid}, 0, 0, 0, 0, 0, 0);
             UPDATE card SET {column} = iif('{column}' = 'flags', 2, 1) WHERE gid = {gid}",
            Type::Task as u8
        );
        conn.execute_batch(&insert).unwrap();
    }
    migrate(&conn).unwrap();
    let mut session = SqliteTransaction::new(&conn);
    for number in 1..=11 {
        let (gid, workspace) = (Gid::new(number).unwrap(), Gid::new(1));
        let entry = session
            .card_of(workspace, Type::Task, gid)
            .unwrap()
            .unwrap();
        let shape = entry.shape().number();
        assert_eq!(shape.count_ones(), u32::from(number < 11), "{entry:?}");
        let params = (1, Type::Task as u8, gid.as_i64());
        let kept = session.one(Sql::CardShape, params, |row| row.get(0));
        assert_eq!(kept.unwrap(), Some(shape), "{entry:?}");
    }
}

/// Checks that the list of an assignee's tasks includes their due and modification times.
#[test]
fn what_someone_has_in_a_file_from_before_is_listed_with_its_times() {
    use workgraph_core::search::{EntryList, IndexColumn};
    use workgraph_core::storage::snapshot::Snapshot;
    let step = MIGRATIONS
        .iter()
        .position(|step| step.contains("due, modified"));
    let conn = older(step.unwrap());
    conn.execute_batch(&format!(
        "INSERT INTO card (home, kind, gid, created, modified, due, who, subtype, flags, likes, sum)
         VALUES (1, {kind}, 7, 1, 60, 5, 3, 0, 0, 0, 0), (1, {kind}, 8, 2, 50, NULL, 3, 0, 0, 0, 0),
             (1, {kind}, 9, 3, 40, 6, 4, 0, 0, 0, 0);",
        kind = Type::Task as u8
    ))
    .unwrap();
    migrate(&conn).unwrap();
    let (workspace, responsible) = (Gid::new(1), Gid::new(3).unwrap());
    let list = EntryList::Of {
        responsible,
        done: Some(false),
        due: None,
    };
    let mut session = SqliteTransaction::new(&conn);
    for (column, expected) in [
        (IndexColumn::Modified, [(7, Some(60)), (8, Some(50))]),
        (IndexColumn::Due, [(7, Some(5)), (8, None)]),
    ] {
        let mut found = Vec::new();
        let each = &mut |gid: Gid, value| found.push((gid.get(), value));
        session
            .list_index_entries(workspace, Type::Task, list, column, 10, each)
            .unwrap();
        found.sort_unstable();
        assert_eq!(found, expected, "{column:?}");
    }
}

#[test]
fn webhooks_of_a_file_from_before_end_if_their_app_has_no_hold() {
    let conn = memory();
    for step in MIGRATIONS.iter().take(8) {
        conn.execute_batch(step).unwrap();
    }
    // App 1 has a token, those of 2 and 3 were revoked; the last webhook is a person's own.
    conn.execute_batch(&format!(
        "INSERT INTO authorization (id, user, app, scopes, created_at, revoked_at)
         VALUES (11, 7, 1, '', 0, NULL), (12, 7, 2, '', 0, NULL), (13, 7, 3, '', 0, 5);
         INSERT INTO token (id, digest, kind, user, app, authorization, scopes, description, created_at, revoked_at)
         VALUES (21, x'01', 'refresh', 7, 1, 11, '', '', 0, NULL), (22, x'02', 'refresh', 7, 2, 12, '', '', 0, 5),
             (23, x'03', 'refresh', 7, 3, 13, '', '', 0, NULL), (24, x'04', 'access', 7, 2, 12, '', '', 0, NULL);
         INSERT INTO hook (id, user, app, workspace, resource, kind, target, secret, filters, created_at, seq)
         VALUES (1, 7, 1, 1, 4, 6, '', '', '[]', 0, 0), (2, 7, 2, 1, 4, 6, '', '', '[]', 0, 0),
             (3, 7, 3, 1, 4, 6, '', '', '[]', 0, 0), (4, 7, NULL, 1, 4, 6, '', '', '[]', 0, 0);
         PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 8;"
    ))
    .unwrap();
    migrate(&conn).unwrap();
    let left: String = conn
        .query_row("SELECT group_concat(id) FROM hook", [], |r| r.get(0))
        .unwrap();
    assert_eq!(left, "1,4");
}

#[test]
fn private_custom_fields_of_a_file_from_before_give_up_their_names() {
    let step = MIGRATIONS
        .iter()
        .position(|step| step.contains("alias WHERE"));
    let conn = older(step.unwrap());
    let plan = format!("EXPLAIN QUERY PLAN {}", MIGRATIONS[step.unwrap()]);
    let mut plan = conn.prepare(&plan).unwrap();
    let lines = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
    let lines: Vec<String> = lines.map(Result::unwrap).collect();
    let searches = lines.iter().all(|line| !line.starts_with("SCAN"));
    assert!(searches, "no table is gone through: {lines:?}");
    let field = Type::CustomField as u8;
    let insert = "INSERT INTO node (gid, kind, home, version, seq, head, body) VALUES";
    conn.execute_batch(&format!(
        r#"{insert} (7, {field}, 1, 1, 1, '{{}}', '{{"privacy_setting":"private"}}'),
             (8, {field}, 1, 1, 1, '{{}}', '{{"privacy_setting":"public"}}'), (9, {field}, 1, 1, 1, '{{}}', '{{}}');
         INSERT INTO alias VALUES ('name:a (in workspace 1)', 7), ('id_prefix:A (in workspace 1)', 7),
             ('name:b (in workspace 1)', 8), ('name:c (in workspace 1)', 9);"#
    ))
    .unwrap();
    migrate(&conn).unwrap();
    let left: String = conn
        .query_row(
            "SELECT group_concat(substr(key, 1, 6), ' ') FROM alias ORDER BY key",
            [],
            |r| r.get(0),
        )
        .unwrap();
    assert_eq!(left, "id_pre name:b name:c");
}

#[test]
fn a_newer_file_is_refused_with_both_versions() {
    let conn = memory();
    migrate(&conn).unwrap();
    conn.execute_batch("PRAGMA user_version = 999").unwrap();
    let message = migrate(&conn).unwrap_err().to_string();
    assert!(
        message.contains("999") && message.contains("newer"),
        "{message}"
    );
}

#[test]
fn a_database_of_another_program_is_refused() {
    let conn = memory();
    conn.execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(migrate(&conn), Err(StoreOpenError::Foreign)));
}

#[test]
fn a_step_that_fails_leaves_nothing_behind() {
    let conn = memory();
    // The last table of the migration already exists, so everything before it is undone.
    conn.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; CREATE TABLE meta (x)"
    ))
    .unwrap();
    assert!(migrate(&conn).is_err());
    let tables: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))
        .unwrap();
    assert_eq!(
        (tables, version(&conn).unwrap(), conn.is_autocommit()),
        (1, 0, true)
    );
}

/// B71. Accounts that an older program disabled had kept what now ends with them; all others keep theirs, and sessions of older
/// files have no last use.
#[test]
fn accounts_that_were_off_before_have_nothing_left() {
    let step = MIGRATIONS
        .iter()
        .position(|step| step.contains("session ADD COLUMN used_at"));
    let conn = older(step.unwrap());
    conn.execute_batch(
        "INSERT INTO account VALUES (1, 0, 1), (2, 0, 0);
         INSERT INTO session VALUES (x'01', 1, 5, 9), (x'02', 2, 5, 9);
         INSERT INTO token (id, digest, kind, user, scopes, description, created_at, revoked_at)
             VALUES (1, x'01', 'personal', 1, '', '', 0, NULL), (2, x'02', 'personal', 2, '', '', 0, NULL),
             (3, x'03', 'personal', 1, '', '', 0, 7);
         INSERT INTO authorization VALUES (4, 1, 40, '', 0, NULL), (5, 2, 40, '', 0, NULL);
         INSERT INTO hook (id, user, app, workspace, resource, kind, target, secret, filters, created_at, seq)
             VALUES (1, 1, NULL, 1, 4, 6, '', '', '[]', 0, 0), (2, 1, 40, 1, 4, 6, '', '', '[]', 0, 0),
             (3, 2, NULL, 1, 4, 6, '', '', '[]', 0, 0);",
    )
    .unwrap();
    migrate(&conn).unwrap();
    let one = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(one("SELECT user FROM session WHERE used_at IS NULL"), 2);
    assert_eq!(one("SELECT count(*) FROM session"), 1);
    assert_eq!(one("SELECT sum(id) FROM token WHERE revoked_at IS NULL"), 2);
    assert!(one("SELECT revoked_at FROM token WHERE id = 1") > 1_700_000_000_000);
    assert_eq!(one("SELECT revoked_at FROM token WHERE id = 3"), 7);
    assert_eq!(
        one("SELECT sum(id) FROM authorization WHERE revoked_at IS NULL"),
        5
    );
    assert_eq!(one("SELECT sum(id) FROM hook"), 3);
}

/// Checks that sources of an older file get the edges that its table had: as bytes of their rows up to the maximum, or as rows.
#[test]
fn edges_of_a_file_from_before_are_in_the_rows_of_their_sources() {
    use crate::edge_list::EDGES_MAX;
    use workgraph_core::model::registry::Relation;
    use workgraph_core::storage::Edge;
    use workgraph_core::storage::snapshot::{Depth, Snapshot};
    let step = MIGRATIONS
        .iter()
        .position(|step| step.contains("outgoing_edge"));
    let conn = older(step.unwrap());
    let gid = |number: usize| Gid::new(number as u64).unwrap();
    let counts = [0, 1, 2, EDGES_MAX, EDGES_MAX + 1, 300];
    let mut expected: Vec<Vec<Edge>> = Vec::new();
    for (at, count) in counts.into_iter().enumerate() {
        let src = gid(at + 1);
        conn.execute(
            "INSERT INTO node (gid, kind, home, version, seq, head, body) VALUES (?1, 1, NULL, 1, 1, '{}', '{}')",
            [src.as_i64()],
        )
        .unwrap();
        let edges = (0..count).map(|n| Edge {
            src,
            rel: Relation(if n < count / 3 { 3 } else { 200 }),
            dst: gid(1_000 + n),
            rank: [0, i64::MIN, -1, 1, i64::MAX][n % 5],
            seq: (at * 1_000 + n) as u64,
            aux: (n % 2 == 1).then(|| gid((1 << 53) - 1 - n)),
        });
        let edges: Vec<Edge> = edges.collect();
        for edge in edges.iter().rev() {
            let params = (
                src.as_i64(),
                edge.rel.0,
                edge.dst.as_i64(),
                edge.rank,
                edge.seq as i64,
                edge.aux.map(Gid::as_i64),
            );
            conn.execute("INSERT INTO edge VALUES (?1, ?2, ?3, ?4, ?5, ?6)", params)
                .unwrap();
        }
        expected.push(edges);
    }
    migrate(&conn).unwrap();
    let mut tx = SqliteTransaction::new(&conn);
    for (at, edges) in expected.iter().enumerate() {
        let mut found = Vec::new();
        let all = (Relation(0), Relation(u8::MAX));
        let each = &mut |edge, _| found.push(edge);
        tx.edges_out(gid(at + 1), all.0, all.1, Depth::Edge, each)
            .unwrap();
        assert_eq!(&found, edges);
    }
    assert_eq!(
        crate::integrity::edge_problems(&conn).unwrap(),
        Vec::<String>::new()
    );
    let in_rows = "SELECT group_concat(gid) FROM node WHERE length(edges) > 1";
    let in_rows: String = conn.query_row(in_rows, [], |row| row.get(0)).unwrap();
    assert_eq!(in_rows, "2,3,4");
}
