//! What becomes of files from before, and of files that are not ours.
use super::*;

fn memory() -> Connection {
    Connection::open_in_memory().unwrap()
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
    let conn = memory();
    let first = MIGRATIONS.first().unwrap();
    conn.execute_batch(&format!(
        "{first} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1;
         INSERT INTO token (id, digest, kind, user, scopes, description, created_at)
         VALUES (1, x'00', 'personal', 7, 'default', '', 0)"
    ))
    .unwrap();
    migrate(&conn).unwrap();
    let alone: bool = conn
        .query_row("SELECT refresh IS NULL FROM token", [], |r| r.get(0))
        .unwrap();
    assert!(alone && is_newest(&conn).unwrap());
}

#[test]
fn relations_of_a_file_from_before_get_their_new_numbers() {
    use workgraph_core::registry::rel;
    let conn = memory();
    for step in MIGRATIONS.iter().take(2) {
        conn.execute_batch(step).unwrap();
    }
    // Section, My Tasks, parent, followers, tags and likes of one task.
    for old in 1..=6 {
        let edge = (7, old, 100 + old);
        conn.execute("INSERT INTO edge VALUES (?1, ?2, ?3, 0, 1, NULL)", edge)
            .unwrap();
    }
    conn.pragma_update(None, "application_id", APPLICATION_ID)
        .unwrap();
    conn.pragma_update(None, "user_version", 2).unwrap();
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
    let conn = memory();
    for step in MIGRATIONS.iter().take(6) {
        conn.execute_batch(step).unwrap();
    }
    conn.execute_batch(&format!(
        "INSERT INTO card (home, kind, gid, created, modified, subtype, flags, likes, sum)
         VALUES (1, 1, 7, 0, 0, 0, 3, 0, 0), (1, 1, 8, 0, 0, 0, 2, 0, 0);
         PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 6;"
    ))
    .unwrap();
    migrate(&conn).unwrap();
    let done: i64 = conn
        .query_row("SELECT sum(gid) FROM card WHERE done", [], |r| r.get(0))
        .unwrap();
    assert_eq!(done, 7);
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
    assert!(matches!(migrate(&conn), Err(OpenError::Foreign)));
}

#[test]
fn a_step_that_fails_leaves_nothing_behind() {
    let conn = memory();
    // The last table of the step exists already, so everything before it is undone.
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
