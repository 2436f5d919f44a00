//! Inputs of the searches.
use super::conditions::Conditions;
use super::custom::{CUSTOM_FIELDS, CUSTOM_TYPES};
use super::filter::Filter;
use super::filters::{PROJECTS, TASKS};
use crate::operation::ReferencedNode;
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, one_of, path,
};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{Clause, IndexColumn, SearchQuery, SortOrder};

const TASK_ORDER: Input<SortOrder> = order(
    &[
        "modified_at",
        "due_date",
        "created_at",
        "completed_at",
        "likes",
        "relevance",
    ],
    "The order of the matches; `modified_at` without it. `relevance`: those with all words of `text` in the name first.",
);
const PROJECT_ORDER: Input<SortOrder> = order(
    &[
        "modified_at",
        "due_date",
        "created_at",
        "completed_at",
        "relevance",
    ],
    "The order of the matches; `modified_at` without it. `relevance`: those with all words of `text` in the name first.",
);
const ASCENDING: Input<bool> = Input::flag(
    InputPlace::Query,
    "sort_ascending",
    "True for the least first, false (without it) for the greatest first. Matches without a value come last.",
);

const fn order(words: &'static [&'static str], doc: &'static str) -> Input<SortOrder> {
    let ty = InputType::Word(words);
    Input::parsed(InputPlace::Query, "sort_by", ty, read_order, doc)
}

fn read_order(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<SortOrder>, DomainError> {
    let Some(text) = inputs.query_text(input)? else {
        return Ok(None);
    };
    Ok(Some(SortOrder::Column(match one_of(input, text)? {
        "relevance" => return Ok(Some(SortOrder::Relevance)),
        "due_date" => IndexColumn::Due,
        "created_at" => IndexColumn::Created,
        "completed_at" => IndexColumn::Completed,
        "likes" => IndexColumn::Likes,
        _ => IndexColumn::Modified,
    })))
}

pub(super) struct SearchInput {
    pub(super) workspace: Named<Gid>,
    /// The nodes that the query names, each with its parameter and the types that it may have.
    pub(super) nodes: Vec<ReferencedNode>,
    /// The query; it names nodes by index.
    pub(super) query: SearchQuery<usize>,
}

impl SearchInput {
    fn read(
        inputs: &InputReader<'_>,
        ty: Type,
        filters: &'static [Filter],
        order: &'static Input<SortOrder>,
    ) -> Result<Self, DomainError> {
        let workspace = inputs.required(&path::WORKSPACE)?;
        if inputs.has_offset() {
            return Err(DomainError::field(
                "offset",
                "Searches have no further pages; sort by created_at, and ask for what was created before the last one",
            ));
        }
        let mut conditions = Conditions::read(filters, inputs)?;
        conditions.add_custom_statuses(inputs.or_default(&CUSTOM_TYPES)?);
        conditions.add_custom_fields(inputs.or_default(&CUSTOM_FIELDS)?);
        let Conditions { nodes, clauses } = conditions;
        let has_words = clauses.iter().any(|c| matches!(c, Clause::Words(_)));
        let order = match inputs.optional(order)? {
            // Without words all matches are equally relevant.
            Some(SortOrder::Relevance) if !has_words => None,
            order => order,
        };
        Ok(Self {
            workspace,
            nodes,
            query: SearchQuery {
                ty,
                clauses,
                order: order.unwrap_or(SortOrder::Column(IndexColumn::Modified)),
                ascending: inputs.or_default(&ASCENDING)?,
            },
        })
    }
}

/// Returns the declarations of the filters of a table, and of the other inputs.
const fn declarations<const N: usize>(
    filters: &'static [Filter],
    others: &[&'static InputDef],
) -> [&'static InputDef; N] {
    let mut all = [&path::WORKSPACE.def; N];
    let (mut filters, mut others) = (filters, others);
    let mut free: &mut [&'static InputDef] = &mut all;
    while let [next, rest @ ..] = free {
        match (filters, others) {
            ([filter, more @ ..], _) => (*next, filters) = (&filter.def, more),
            ([], [other, more @ ..]) => (*next, others) = (*other, more),
            ([], []) => {}
        }
        free = rest;
    }
    all
}

/// Number of the inputs besides the filters of the table.
const OTHERS: usize = 5;

pub(super) struct TaskSearch(pub(super) SearchInput);

impl OperationInput for TaskSearch {
    const INPUTS: &'static [&'static InputDef] = &declarations::<{ TASKS.len() + OTHERS }>(
        TASKS,
        &[
            &CUSTOM_FIELDS.def,
            &CUSTOM_TYPES.def,
            &TASK_ORDER.def,
            &ASCENDING.def,
            &path::WORKSPACE.def,
        ],
    );
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        SearchInput::read(inputs, Type::Task, TASKS, &TASK_ORDER).map(Self)
    }
}

pub(super) struct ProjectSearch(pub(super) SearchInput);

impl OperationInput for ProjectSearch {
    const INPUTS: &'static [&'static InputDef] = &declarations::<{ PROJECTS.len() + OTHERS }>(
        PROJECTS,
        &[
            &CUSTOM_FIELDS.def,
            &CUSTOM_TYPES.def,
            &PROJECT_ORDER.def,
            &ASCENDING.def,
            &path::WORKSPACE.def,
        ],
    );
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        SearchInput::read(inputs, Type::Project, PROJECTS, &PROJECT_ORDER).map(Self)
    }
}
