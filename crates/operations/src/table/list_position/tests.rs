use super::{InsertInputs, InsertPosition, RequestedPosition, insert_beside};
use crate::operation::inputs::{InputReader, RawInputs};
use serde_json::{Map, Value, json};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::storage::ListPosition;
use workgraph_wire::QueryParams;

const BESIDE: InsertInputs = insert_beside(&[Type::Task]);
const SEVEN: Gid = Gid::new(7).unwrap();

fn read(body: Value) -> Result<RequestedPosition, DomainError> {
    let data = body.as_object().cloned().unwrap_or_else(Map::new);
    let raw = RawInputs {
        parameters: &[],
        query: QueryParams::default(),
        data,
        file: None,
        me: SEVEN,
        now: Time::from_millis(0),
    };
    BESIDE.read(&InputReader::new(&raw))
}

fn position(body: Value) -> InsertPosition {
    read(body).unwrap().position
}

#[test]
fn a_neighbour_is_on_one_side() {
    let refused = read(json!({"insert_before": "7", "insert_after": "8"})).unwrap_err();
    assert!(
        refused
            .message
            .contains("only provide one of insert_before or insert_after")
    );
    assert!(read(json!({"insert_before": null, "insert_after": null})).is_err());
    let before = json!({"insert_before": "7", "insert_after": null});
    assert_eq!(position(before), InsertPosition::Before(SEVEN));
    let after = json!({"insert_before": null, "insert_after": "7"});
    assert_eq!(position(after), InsertPosition::After(SEVEN));
}

#[test]
fn null_is_the_end_of_the_list_on_its_side() {
    assert_eq!(
        position(json!({"insert_before": null})),
        InsertPosition::Last
    );
    assert_eq!(
        position(json!({"insert_after": null})),
        InsertPosition::First
    );
    assert_eq!(position(json!({})), InsertPosition::None);
}

#[test]
fn only_a_body_without_position_takes_the_default() {
    let default = ListPosition::Rank(5);
    assert_eq!(InsertPosition::None.list_position(default), default);
    assert_eq!(
        InsertPosition::Last.list_position(default),
        ListPosition::Last
    );
    let before = InsertPosition::Before(SEVEN);
    assert_eq!(before.list_position(default), ListPosition::Before(SEVEN));
    assert_eq!(before.neighbour(), Some(SEVEN));
}
