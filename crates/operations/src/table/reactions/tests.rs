use super::EMOJI_MAX;
use crate::decision_scene::DecisionScene;
use workgraph_core::storage::RowFilter;

/// Returns the values of the filter of a list of reactions with an emoji, given in percent encoding.
fn filtered(emoji: &str) -> Result<Vec<String>, String> {
    let scene = DecisionScene::new();
    let query = format!("target={}&emoji_base={emoji}", scene.garden);
    let list = scene.described(scene.ann, "getReactionsOnObject", &query);
    let list = list.map_err(|error| error.message)?;
    let [RowFilter::OneOf { values, .. }] = &list.page.filters[..] else {
        panic!("one filter");
    };
    Ok(values.clone())
}

#[test]
fn reactions_are_listed_by_one_emoji_in_any_skin_tone() {
    assert_eq!(
        filtered("\u{1f44d}\u{1f3fd}"),
        Ok(vec!["\"\u{1f44d}\"".to_owned()])
    );
    assert_eq!(
        filtered("\u{2764}\u{fe0f}"),
        Ok(vec!["\"\u{2764}\"".to_owned()])
    );
}

#[test]
fn a_word_is_no_emoji() {
    let refused = |text: &str| filtered(text).unwrap_err();
    assert!(refused("like").contains("emoji_base: Not an emoji: like"));
    assert!(refused("\u{1f44d}x").contains("Not an emoji"));
    let long = "\u{1f44d}".repeat(EMOJI_MAX as usize + 1);
    assert!(refused(&long).contains("Not an emoji"));
    assert!(
        refused("\u{1f3fd}").contains("Not an emoji"),
        "a skin tone alone"
    );
}
