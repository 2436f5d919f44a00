//! Duplication of the items of a portfolio: the copy has the same projects and portfolios, as far as the requester may see them.
use super::{JobKind, NextStep, STEP_OBJECTS};
use crate::domain_error::DomainError;
use crate::model::gid::Gid;
use crate::model::registry::{Direction, Type, rel};
use crate::rules::portfolio_rules;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{EdgeEnd, ListPosition, ListSource, PageQuery, ReadQuery, ReadView};
use serde::{Deserialize, Serialize};

/// Duplication of a portfolio's items, and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortfolioDuplication {
    /// Portfolio with the original items.
    pub source: Gid,
    /// Portfolio that gets the items.
    pub copy: Gid,
    /// Types of the items to take over.
    pub types: Vec<Type>,
    /// Keyset after which the page of items starts.
    pub after: Option<Vec<i64>>,
}

impl PortfolioDuplication {
    /// Adds the reads of a step.
    pub(super) fn needs(&self, want: ReadQuery) -> ReadQuery {
        let mut want = want.node(self.copy);
        let from = ListSource::Edges {
            anchor: want.add_ref(self.source),
            rel: rel::ITEM_OF,
            dir: Direction::In,
            give: EdgeEnd::OtherEnd,
        };
        want.page = Some(PageQuery {
            after: self.after.clone(),
            ..PageQuery::of(from, false, STEP_OBJECTS)
        });
        want
    }

    /// Adds the further reads of a step: the items that the copy already has.
    pub(super) fn more(&self, view: &ReadView, want: ReadQuery) -> Option<ReadQuery> {
        let items = view.rows.gids.iter();
        (!view.rows.gids.is_empty())
            .then(|| items.fold(want, |want, item| want.edge(*item, rel::ITEM_OF, self.copy)))
    }

    /// Takes the next step: adds a page of items to the copy.
    pub(super) fn step(
        &self,
        view: &ReadView,
        more: Option<&ReadView>,
        work: &mut ChangeBuilder<'_>,
    ) -> Result<NextStep, DomainError> {
        let (Some(copy), Some(_)) = (view.node(self.copy), view.node(self.source)) else {
            return Err(DomainError::invalid(
                "The portfolio or its copy was deleted.",
            ));
        };
        let to = (copy.gid, copy.workspace);
        for item in view.rows.gids.iter().filter_map(|gid| view.node(*gid)) {
            let edge = more.and_then(|more| more.link(item.gid, rel::ITEM_OF, copy.gid));
            if edge.is_none() && self.types.contains(&item.ty) {
                let item = (item.gid, item.ty);
                portfolio_rules::add_item(work, item, to, ListPosition::Last);
            }
        }
        let after = view.rows.next.clone();
        Ok(match after {
            None => NextStep::Done,
            Some(_) => NextStep::Continue(JobKind::DuplicatePortfolio(Self {
                after,
                ..self.clone()
            })),
        })
    }
}
