//! Reactions to objects: their likes, each as a thumb up.
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput,
};
use crate::operation::rows::computed_list;
use crate::operation::steps::Description;
use crate::operation::{ListRequest, Operation};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::json_string;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::reaction;
use workgraph_core::model::validate::clip;
use workgraph_core::storage::{ListSource, PageQuery, RowFilter};

/// Operations on reactions: a part of [`TABLES`](super::TABLES).
pub static REACTIONS: &[Operation] = &[computed_list(
    "getReactionsOnObject",
    "/reactions",
    Type::Reaction,
    &Description::new(list),
)];

/// Maximum number of characters of an emoji.
const EMOJI_MAX: u32 = 32;
/// Skin tones, and the mark that requests the coloured form of a sign.
const VARIANTS: [char; 6] = [
    '\u{1f3fb}',
    '\u{1f3fc}',
    '\u{1f3fd}',
    '\u{1f3fe}',
    '\u{1f3ff}',
    '\u{fe0f}',
];

const TARGET: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "target",
    &[Type::Task, Type::Story, Type::StatusUpdate],
    "The task, story or status update with the reactions.",
)
.required();
const EMOJI_BASE: Input<String> = Input::parsed(
    InputPlace::Query,
    "emoji_base",
    InputType::Text(EMOJI_MAX),
    read_emoji,
    "Lists the reactions with this emoji, in any skin tone. Likes are reactions with \u{1f44d}.",
)
.required();

/// Returns the emoji of a query parameter without its skin tone.
fn read_emoji(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<String>, DomainError> {
    let Some(text) = inputs.query_text(input)? else {
        return Ok(None);
    };
    let base: String = text.chars().filter(|c| !VARIANTS.contains(c)).collect();
    let is_long = text.chars().count() > EMOJI_MAX as usize;
    if is_long || base.is_ascii() || base.chars().any(char::is_alphanumeric) {
        let reason = format_args!(
            "Not an emoji: {}; it is one as {}",
            clip(text),
            reaction::LIKE
        );
        return Err(DomainError::field(input.name, reason));
    }
    Ok(Some(base))
}

/// An object and an emoji.
struct ListReactions {
    target: Named<Gid>,
    emoji: String,
}

impl OperationInput for ListReactions {
    const INPUTS: &'static [&'static InputDef] = &[&TARGET.def, &EMOJI_BASE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            target: inputs.required(&TARGET)?,
            emoji: inputs.required(&EMOJI_BASE)?,
        })
    }
}

fn list(call: &RequestContext<'_>, input: &ListReactions) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let source = ListSource::Reactions {
        anchor: query.add_ref(input.target.node),
        likes: rel::STORY_LIKES,
    };
    let mut page = PageQuery::of(source, false, 0);
    let emoji = &reaction::EMOJI.def;
    page.filters.push(RowFilter::OneOf {
        key: emoji.name,
        default: emoji.default,
        values: vec![json_string(&input.emoji)],
    });
    Ok(ListRequest {
        query,
        page,
        computed: false,
        anchor: TARGET.def.name,
        anchor_types: TARGET.def.types(),
        referenced: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
