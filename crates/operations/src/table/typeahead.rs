//! Typeahead: objects with a word in their name that begins with the text; the most relevant to the caller come first.
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, one_of, path,
};
use crate::operation::rows::typeahead as row;
use crate::operation::steps::Description;
use crate::operation::{Operation, SearchRequest};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{
    Clause, IndexColumn, Search, SearchEffort, SearchLink, SearchQuery, SortOrder, WORDS_MAX,
    WordQuery,
};

/// Operation of the typeahead: a part of [`TABLES`](super::TABLES).
pub static TYPEAHEAD: &[Operation] = &[row(
    "typeaheadForWorkspace",
    "/workspaces/{workspace_gid}/typeahead",
    &Description::new(typeahead),
)
.scope("workspaces.typeahead:read")];

/// Number of objects if the request has no `count`.
const USUAL: usize = 20;

/// Values of `resource_type`.
const WORDS: InputType = InputType::Word(&[
    "actor",
    "agent",
    "custom_field",
    "goal",
    "project",
    "project_template",
    "portfolio",
    "tag",
    "task",
    "team",
    "user",
]);

/// Returns the type for a value of `resource_type`; `None` if this server has no nodes of that kind.
fn node_type(word: &str) -> Option<Type> {
    match word {
        "actor" | "user" => Some(Type::User),
        "custom_field" => Some(Type::CustomField),
        "project" => Some(Type::Project),
        "portfolio" => Some(Type::Portfolio),
        "goal" => Some(Type::Goal),
        "project_template" => Some(Type::ProjectTemplate),
        "tag" => Some(Type::Tag),
        "task" => Some(Type::Task),
        "team" => Some(Type::Team),
        _ => None,
    }
}

// Kept as text, since only the parameter that is used must have a known word.
const RESOURCE_TYPE: Input<String> = Input::parsed(
    InputPlace::Query,
    "resource_type",
    WORDS,
    read_text,
    "The type of the objects; required unless `type` is given.",
);
const TYPE: Input<String> = Input::parsed(
    InputPlace::Query,
    "type",
    WORDS,
    read_text,
    "The old name of `resource_type`.",
);
const COUNT: Input<usize> = Input::parsed(
    InputPlace::Query,
    "count",
    InputType::Number(1, 100),
    read_count,
    "The most objects in the response; 20 without it.",
);
const WORDS_OF_NAME: Input<WordQuery> = Input::parsed(
    InputPlace::Query,
    "query",
    InputType::Terms(WORDS_MAX),
    read_words,
    "Text with which words of the name begin. Without it all objects match.",
);

fn read_text(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<String>, DomainError> {
    Ok(inputs.query_text(input)?.map(str::to_owned))
}

fn read_count(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<usize>, DomainError> {
    let Some(text) = inputs.query_text(input)? else {
        return Ok(None);
    };
    let count = text.parse().ok().filter(|n| (1..=100).contains(n));
    count
        .map(Some)
        .ok_or_else(|| DomainError::field(input.name, "must be 1 to 100"))
}

fn read_words(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<WordQuery>, DomainError> {
    let Some(text) = inputs.query_text(input)? else {
        return Ok(None);
    };
    let words = WordQuery::new(text, true, true);
    if words.words.len() > WORDS_MAX {
        return Err(DomainError::field(
            input.name,
            format_args!("At most {WORDS_MAX} different words are looked for"),
        ));
    }
    Ok(Some(words))
}

/// Inputs of the typeahead.
struct Typeahead {
    ty: Option<Type>,
    count: Option<usize>,
    workspace: Named<Gid>,
    words: Option<WordQuery>,
}

impl OperationInput for Typeahead {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::WORKSPACE.def,
        &RESOURCE_TYPE.def,
        &TYPE.def,
        &WORDS_OF_NAME.def,
        &COUNT.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let texts = (inputs.optional(&RESOURCE_TYPE)?, inputs.optional(&TYPE)?);
        let word = match texts {
            (Some(text), _) => one_of(&RESOURCE_TYPE.def, &text)?,
            (None, Some(text)) => one_of(&TYPE.def, &text)?,
            (None, None) => return Err(DomainError::missing(RESOURCE_TYPE.def.name)),
        };
        Ok(Self {
            ty: node_type(word),
            count: inputs.optional(&COUNT)?,
            workspace: inputs.required(&path::WORKSPACE)?,
            words: inputs.optional(&WORDS_OF_NAME)?,
        })
    }
}

fn typeahead(call: &RequestContext<'_>, input: &Typeahead) -> Result<SearchRequest, DomainError> {
    let mut want = call.read_query();
    let workspace = want.add_ref(input.workspace.node);
    let me = want.add_ref(call.user_gid());
    let mut queries = input
        .ty
        .map_or_else(Vec::new, |ty| likely(ty, workspace, me));
    if let Some(words) = &input.words {
        for query in &mut queries {
            query.clauses.push(Clause::Words(words.clone()));
        }
    }
    want.search = Some(Search {
        workspace,
        queries,
        limit: input.count.unwrap_or(USUAL),
        cap: call.settings.candidates(),
        effort: SearchEffort::USUAL,
    });
    Ok(SearchRequest {
        query: want,
        referenced: Vec::new(),
        ty: input.ty.unwrap_or(Type::Task),
    })
}

/// Returns the searches for all nodes of a type, the most relevant first.
fn likely(ty: Type, workspace: usize, me: usize) -> Vec<SearchQuery<usize>> {
    let query = |clauses, order| SearchQuery {
        ty,
        clauses,
        order,
        ascending: false,
    };
    let recent = SortOrder::Column(IndexColumn::Modified);
    match ty {
        // Tasks that the caller follows, then the others.
        Type::Task => [Clause::Any, Clause::None]
            .map(|how| query(vec![how(vec![(SearchLink::Follower, me)])], recent))
            .into(),
        Type::User => vec![query(
            vec![Clause::Any(vec![(SearchLink::Workspace, workspace)])],
            SortOrder::Contact,
        )],
        Type::Project => vec![query(Vec::new(), recent)],
        _ => vec![query(Vec::new(), SortOrder::Column(IndexColumn::Gid))],
    }
}
