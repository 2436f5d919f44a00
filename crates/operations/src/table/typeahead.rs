//! Typeahead: objects with a name of which words begin with the text; the most relevant to the caller come first.
use crate::operation::{Operation, SearchRequest, typeahead as row};
use crate::request_context::RequestContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::validate::clip;
use workgraph_core::search::{
    Clause, IndexColumn, Search, SearchEffort, SearchLink, SearchQuery, SortOrder, WORDS_MAX,
    WordQuery,
};

/// Operation of the typeahead.
pub static TYPEAHEAD: &[Operation] = &[row(
    "typeaheadForWorkspace",
    "/workspaces/{workspace_gid}/typeahead",
    typeahead,
)
.scope("workspaces.typeahead:read")
.filters(&["resource_type", "type", "query", "count"])];

/// Number of objects if the request has no `count`.
const USUAL: usize = 20;

/// Values of `resource_type` and their types; there are no nodes of types without one here.
const TYPES: &[(&str, Option<Type>)] = &[
    ("actor", Some(Type::User)),
    ("agent", None),
    ("custom_field", Some(Type::CustomField)),
    ("goal", None),
    ("project", Some(Type::Project)),
    ("project_template", Some(Type::ProjectTemplate)),
    ("portfolio", None),
    ("tag", Some(Type::Tag)),
    ("task", Some(Type::Task)),
    ("team", Some(Type::Team)),
    ("user", Some(Type::User)),
];

fn typeahead(call: &RequestContext<'_>) -> Result<SearchRequest, DomainError> {
    // `type` is the old name.
    let (name, text) = match (call.query("resource_type")?, call.query("type")?) {
        (Some(text), _) => ("resource_type", text),
        (None, Some(text)) => ("type", text),
        (None, None) => return Err(DomainError::missing("resource_type")),
    };
    let Some((_, ty)) = TYPES.iter().find(|(known, _)| *known == text) else {
        let known: Vec<&str> = TYPES.iter().map(|(known, _)| *known).collect();
        let known = known.join(", ");
        let text = clip(text);
        return Err(DomainError::field(
            name,
            format_args!("Not a recognized value: {text}; it is one of {known}"),
        ));
    };
    let limit = count(call)?;
    let mut want = call.read_query();
    let place = want.add_ref(call.path_ref("workspace_gid")?);
    let me = want.add_ref(call.user_gid());
    let mut queries = ty.map_or_else(Vec::new, |ty| likely(ty, place, me));
    if let Some(text) = call.query("query")? {
        let words = WordQuery::new(text, true, true);
        if words.words.len() > WORDS_MAX {
            return Err(DomainError::field(
                "query",
                format_args!("At most {WORDS_MAX} different words are looked for"),
            ));
        }
        for query in &mut queries {
            query.clauses.push(Clause::Words(words.clone()));
        }
    }
    want.search = Some(Search {
        workspace: place,
        queries,
        limit,
        cap: call.settings.candidates(),
        effort: SearchEffort::USUAL,
    });
    Ok(SearchRequest {
        query: want,
        referenced: Vec::new(),
        ty: ty.unwrap_or(Type::Task),
    })
}

/// Returns the searches for all nodes of a type, the most relevant first.
fn likely(ty: Type, place: usize, me: usize) -> Vec<SearchQuery<usize>> {
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
            vec![Clause::Any(vec![(SearchLink::Workspace, place)])],
            SortOrder::Contact,
        )],
        Type::Project => vec![query(Vec::new(), recent)],
        _ => vec![query(Vec::new(), SortOrder::Column(IndexColumn::Gid))],
    }
}

fn count(call: &RequestContext<'_>) -> Result<usize, DomainError> {
    let Some(text) = call.query("count")? else {
        return Ok(USUAL);
    };
    let count = text.parse().ok().filter(|n| (1..=100).contains(n));
    count.ok_or_else(|| DomainError::field("count", "must be 1 to 100"))
}
