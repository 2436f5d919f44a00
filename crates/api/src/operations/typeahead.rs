//! Typeahead: objects by the start of words of their names, those first that the caller most likely means.
use crate::call::Call;
use crate::operation::{Operation, Sought, typeahead as row};
use workgraph_core::check::clip;
use workgraph_core::fault::Fault;
use workgraph_core::registry::Type;
use workgraph_core::search::{By, Clause, Column, Effort, Order, Query, Search, WORDS_MAX, Words};

/// The rows.
pub static TYPEAHEAD: &[Operation] = &[row(
    "typeaheadForWorkspace",
    "/workspaces/{workspace_gid}/typeahead",
    typeahead,
)
.scope("workspaces.typeahead:read")
.filters(&["resource_type", "type", "query", "count"])];

/// How many objects there are if the request does not say.
const USUAL: usize = 20;

/// What `resource_type` may be, and the type that is; nothing is of the others.
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

fn typeahead(call: &Call<'_>) -> Result<Sought, Fault> {
    // `type` is the old name.
    let (name, text) = match (call.query("resource_type")?, call.query("type")?) {
        (Some(text), _) => ("resource_type", text),
        (None, Some(text)) => ("type", text),
        (None, None) => return Err(Fault::missing("resource_type")),
    };
    let Some((_, ty)) = TYPES.iter().find(|(known, _)| *known == text) else {
        let known: Vec<&str> = TYPES.iter().map(|(known, _)| *known).collect();
        let known = known.join(", ");
        let text = clip(text);
        return Err(Fault::field(
            name,
            format_args!("Not a recognized value: {text}; it is one of {known}"),
        ));
    };
    let limit = count(call)?;
    let mut want = call.want();
    let place = want.add(call.path("workspace_gid")?);
    let me = want.add(call.me());
    let mut queries = ty.map_or_else(Vec::new, |ty| likely(ty, place, me));
    if let Some(text) = call.query("query")? {
        let words = Words::new(text, true, true);
        if words.all.len() > WORDS_MAX {
            return Err(Fault::field(
                "query",
                format_args!("At most {WORDS_MAX} different words are looked for"),
            ));
        }
        for query in &mut queries {
            query.clauses.push(Clause::Words(words.clone()));
        }
    }
    want.search = Some(Search {
        place,
        queries,
        limit,
        cap: call.settings.candidates(),
        effort: Effort::USUAL,
    });
    Ok(Sought {
        want,
        named: Vec::new(),
        ty: ty.unwrap_or(Type::Task),
    })
}

/// Everything of a type, the most relevant first.
fn likely(ty: Type, place: usize, me: usize) -> Vec<Query<usize>> {
    let query = |clauses, order| Query {
        ty,
        clauses,
        order,
        ascending: false,
    };
    let recent = Order::Column(Column::Modified);
    match ty {
        // Those the caller follows, then the others.
        Type::Task => [Clause::Any, Clause::None]
            .map(|how| query(vec![how(vec![(By::Follower, me)])], recent))
            .into(),
        Type::User => vec![query(
            vec![Clause::Any(vec![(By::Seat, place)])],
            Order::Contact,
        )],
        Type::Project => vec![query(Vec::new(), recent)],
        _ => vec![query(Vec::new(), Order::Column(Column::Gid))],
    }
}

fn count(call: &Call<'_>) -> Result<usize, Fault> {
    let Some(text) = call.query("count")? else {
        return Ok(USUAL);
    };
    let count = text.parse().ok().filter(|n| (1..=100).contains(n));
    count.ok_or_else(|| Fault::field("count", "must be 1 to 100"))
}
