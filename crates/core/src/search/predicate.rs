//! Evaluation of search conditions.
use super::{Clause, ColumnSet, EvalContext, IndexColumn, IndexEntry, SearchLink, ValuePredicate};
use crate::graph_store_error::GraphStoreError;
use crate::model::custom_field_values::{DisplayFormat, stored_values};
use crate::model::decimal::Decimal;
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{CustomFieldType, Relation, Type, rel};
use crate::model::resources::{custom_field, story, task};
use std::borrow::Cow;
use std::ops::{Bound, RangeBounds};

impl Clause {
    /// Returns true if the condition may hold for entries with this column set.
    pub(crate) fn may_have(&self, shape: ColumnSet) -> bool {
        let valued = |column| shape.has(column) != Some(false);
        let linked = |(by, _): &(SearchLink, Gid)| by.column().is_none_or(valued);
        match self {
            Self::Any(of) => of.iter().any(linked),
            Self::All(of) => of.iter().all(linked),
            Self::Within(column, _) => valued(*column),
            Self::Lacks(column) => shape.has(*column) != Some(true),
            Self::DueAtInstant(on) => shape.timed() == *on,
            Self::Linked(SearchLink::Parent, true) => valued(IndexColumn::Subtask),
            Self::Linked(by, on) => by
                .column()
                .is_none_or(|column| shape.has(column) != Some(!on)),
            Self::Either(of) => of.iter().any(|clause| clause.may_have(shape)),
            Self::Completed(on) => shape.done() == *on,
            Self::Blocking(true) => !shape.done(),
            Self::Never => false,
            _ => true,
        }
    }

    /// Returns true or false if the index entry alone decides the condition, else `None`.
    pub(crate) fn on_card(&self, card: &IndexEntry) -> Option<bool> {
        let linked =
            |(by, to): &(SearchLink, Gid)| by.column().map(|c| card.value(c) == Some(to.as_i64()));
        let any = |of: &[(SearchLink, Gid)]| {
            let linked_to: Option<Vec<bool>> = of.iter().map(linked).collect();
            linked_to.map(|linked_to| linked_to.contains(&true))
        };
        match self {
            Self::Any(of) => any(of),
            Self::None(of) => any(of).map(|found| !found),
            Self::All(of) => {
                let linked_to: Option<Vec<bool>> = of.iter().map(linked).collect();
                linked_to.map(|linked_to| !linked_to.contains(&false))
            }
            Self::Within(column, range) => {
                Some(card.value(*column).is_some_and(|v| range.contains(&v)))
            }
            Self::Lacks(column) => Some(card.value(*column).is_none()),
            Self::DueAtInstant(on) => Some(card.due_at_instant == *on),
            // A parent counts only for viewers who see it.
            Self::Linked(SearchLink::Parent, on) => (!card.is_subtask).then_some(!on),
            Self::Linked(by, on) => by.column().map(|c| card.value(c).is_some() == *on),
            Self::Either(of) => {
                let decided = of.iter().map(|clause| clause.on_card(card));
                decided
                    .reduce(|one, other| match (one, other) {
                        (Some(true), _) | (_, Some(true)) => Some(true),
                        (Some(false), Some(false)) => Some(false),
                        _ => None,
                    })
                    .unwrap_or(Some(false))
            }
            Self::Completed(on) => Some(card.is_completed == *on),
            Self::Never => Some(false),
            Self::Words(_) | Self::Blocked(_) | Self::Blocking(_) | Self::Value(..) => None,
        }
    }

    /// Returns true if the condition holds, with look-ups beyond the index entry.
    pub(crate) fn looked_up(
        &self,
        card: &IndexEntry,
        around: &mut dyn EvalContext,
    ) -> Result<bool, GraphStoreError> {
        match self {
            Self::Words(words) => {
                let node = around.node(card.gid)?;
                Ok(node.is_some_and(|n| words.matches_node(&n)))
            }
            Self::Any(of) => any(card, around, of),
            Self::None(of) => any(card, around, of).map(|found| !found),
            Self::All(of) => {
                for (by, to) in of {
                    if !by.links(card, around, *to)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Blocked(on) => Ok(blocked(card, around)? == *on),
            Self::Blocking(on) => {
                let blocking =
                    !card.is_completed && has_visible_source(card.gid, rel::DEPENDS, around)?;
                Ok(blocking == *on)
            }
            Self::Value(field, test) => test.is_met(card.gid, *field, around),
            Self::Linked(by, on) => Ok(by.is_linked(card, around)? == *on),
            Self::Either(of) => {
                for clause in of {
                    if clause.looked_up(card, around)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            other => Ok(other.on_card(card) == Some(true)),
        }
    }
}

fn any(
    card: &IndexEntry,
    around: &mut dyn EvalContext,
    of: &[(SearchLink, Gid)],
) -> Result<bool, GraphStoreError> {
    for (by, to) in of {
        if by.links(card, around, *to)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn blocked(card: &IndexEntry, around: &mut dyn EvalContext) -> Result<bool, GraphStoreError> {
    for edge in around.edges(card.gid, rel::DEPENDS)? {
        let other = around.node(edge.dst)?;
        if other.is_some_and(|n| !n.get(task::COMPLETED)) && around.is_visible(edge.dst)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a node that the viewer sees has an edge of a relation into this node.
fn has_visible_source(
    gid: Gid,
    rel: Relation,
    around: &mut dyn EvalContext,
) -> Result<bool, GraphStoreError> {
    for source in around.sources(gid, rel)? {
        if around.is_visible(source)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl SearchLink {
    /// Returns the column of the index entry that names the other node, if there is one.
    pub(crate) const fn column(self) -> Option<IndexColumn> {
        match self {
            Self::Responsible => Some(IndexColumn::Responsible),
            Self::Creator => Some(IndexColumn::Creator),
            Self::Assigner => Some(IndexColumn::Assigner),
            _ => None,
        }
    }

    /// Returns the relation of the node's edge to the other node, for a node of a type.
    pub(crate) const fn relation(self, ty: Type) -> Option<Relation> {
        Some(match self {
            Self::Section => rel::SECTION,
            Self::Tag => rel::TAGS,
            Self::Follower => rel::FOLLOWERS,
            Self::Team | Self::Portfolio if matches!(ty, Type::Task) => return None,
            Self::Team => rel::TEAM,
            Self::Portfolio => rel::ITEM_OF,
            Self::Member => rel::MEMBERS,
            Self::Workspace => rel::WORKSPACES,
            Self::Liker => rel::LIKES,
            Self::CustomStatus => rel::CUSTOM_STATUS,
            Self::Parent => rel::PARENT,
            _ => return None,
        })
    }

    /// Returns the relation of a project's edge to the other node, for links that tasks have through their projects.
    pub(crate) const fn through_project(self) -> Option<Relation> {
        match self {
            Self::Team => Some(rel::TEAM),
            Self::Portfolio => Some(rel::ITEM_OF),
            _ => None,
        }
    }

    /// Returns true if the node has any link of this kind.
    fn is_linked(
        self,
        card: &IndexEntry,
        around: &mut dyn EvalContext,
    ) -> Result<bool, GraphStoreError> {
        if let Some(column) = self.column() {
            return Ok(card.value(column).is_some());
        }
        if self == Self::Commenter {
            let mut stories = around.stories(card.gid)?.into_iter();
            return Ok(stories.any(|s| s.get(story::SUBTYPE).as_deref() == Some(story::COMMENT)));
        }
        if self == Self::Attachment {
            return has_visible_source(card.gid, rel::ATTACHED_TO, around);
        }
        // The project of a task is the auxiliary node of its edge to a section.
        let through = self.through_project();
        let of_project = (self == Self::Project || through.is_some()) && card.ty == Type::Task;
        let rel = match self.relation(card.ty) {
            _ if of_project => rel::SECTION,
            Some(rel) => rel,
            None => return Ok(false),
        };
        for edge in around.edges(card.gid, rel)? {
            let Some(far) = (if of_project { edge.aux } else { Some(edge.dst) }) else {
                continue;
            };
            if !around.is_visible(far)? {
                continue;
            }
            let Some(through) = through.filter(|_| of_project) else {
                return Ok(true);
            };
            for beyond in around.edges(far, through)? {
                if around.is_visible(beyond.dst)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn links(
        self,
        card: &IndexEntry,
        around: &mut dyn EvalContext,
        to: Gid,
    ) -> Result<bool, GraphStoreError> {
        if let Some(column) = self.column() {
            return Ok(card.value(column) == Some(to.as_i64()));
        }
        if let Some(rel) = self.relation(card.ty)
            && around.linked(card.gid, rel, to)?
        {
            return Ok(true);
        }
        Ok(match self {
            Self::Section => around.linked(card.gid, rel::MY_TASKS, to)?,
            Self::Project => {
                let places = around.edges(card.gid, rel::SECTION)?;
                places.iter().any(|e| e.aux == Some(to))
            }
            Self::Team | Self::Portfolio if card.ty == Type::Task => {
                let Some(through) = self.through_project() else {
                    return Ok(false);
                };
                let mut found = false;
                for project in around
                    .edges(card.gid, rel::SECTION)?
                    .iter()
                    .filter_map(|e| e.aux)
                {
                    found = found
                        || (around.linked(project, through, to)? && around.is_visible(project)?);
                }
                found
            }
            Self::Commenter => around.stories(card.gid)?.iter().any(|s| {
                s.get(story::SUBTYPE).as_deref() == Some(story::COMMENT)
                    && s.get(story::CREATED_BY) == Some(to)
            }),
            _ => false,
        })
    }
}

impl ValuePredicate {
    /// Returns true if the keys belong to a value that meets the predicate.
    #[must_use]
    pub fn holds(&self, keys: &[IndexKey]) -> bool {
        if let Self::Set(on) = self {
            return keys.is_empty() != *on;
        }
        keys.iter().any(|key| self.fits(key))
    }

    /// Returns true if a node's value of a field meets the predicate. For a number field the value itself is compared, since its
    /// key is only an approximation.
    fn is_met(
        &self,
        node: Gid,
        field: Gid,
        around: &mut dyn EvalContext,
    ) -> Result<bool, GraphStoreError> {
        if let Self::Number(bounds, _) = self
            && let Some(definition) = around.node(field)?
            && custom_field::kind(&definition) == CustomFieldType::Number
        {
            let node = around.node(node)?;
            let values = node
                .as_deref()
                .and_then(|n| n.raw(task::CUSTOM_FIELDS.def.name));
            let mut values = values.map(stored_values).into_iter().flatten();
            let value = values.find(|(of, _)| *of == field);
            let format = DisplayFormat::of(&definition);
            let number = value.and_then(|(_, value)| Decimal::parse(&format.kept(value)));
            return Ok(number.is_some_and(|number| bounds.contains(&number)));
        }
        let mut keys = around.keys(node, field)?;
        let definition = if keys.is_empty() {
            None
        } else {
            around.node(field)?
        };
        if definition.is_some_and(|field| custom_field::kind(&field) == CustomFieldType::Reference)
        {
            // A record shows its viewer only the references to objects that the viewer sees.
            let mut seen = Vec::new();
            for key in keys {
                if let Some(gid) = key.as_gid()
                    && around.is_visible(gid)?
                {
                    seen.push(key);
                }
            }
            keys = seen;
        }
        Ok(self.holds(&keys))
    }

    /// Returns the predicate that the keys of matching values meet: this predicate, except for numbers, whose keys are only
    /// approximations.
    pub(crate) fn on_keys(&self, definition: &Node) -> Cow<'_, Self> {
        let Self::Number((least, most), others) = self else {
            return Cow::Borrowed(self);
        };
        if custom_field::kind(definition) != CustomFieldType::Number {
            return Cow::Owned(Self::Within(others.clone()));
        }
        // Earlier versions did not round values when writing them, so a stored value may be half a unit away from the
        // rounded value.
        let half = Decimal::new(5, DisplayFormat::of(definition).numbers.decimals() + 1);
        let key = |bound: Decimal| IndexKey::number(bound.nearest_f64());
        let least = match least {
            Bound::Included(least) | Bound::Excluded(least) => key(least.minus(&half)),
            Bound::Unbounded => None,
        };
        let most = match most {
            Bound::Included(most) | Bound::Excluded(most) => key(most.plus(&half)),
            Bound::Unbounded => None,
        };
        let least = least.unwrap_or(IndexKey::FIRST);
        let most = most.unwrap_or(IndexKey::Number(f64::INFINITY));
        Cow::Owned(Self::Within(vec![(least, most)]))
    }

    /// Returns true if only texts meet the predicate.
    pub(crate) fn is_about_texts(&self) -> bool {
        let is_text = |(from, _): &(IndexKey, IndexKey)| matches!(from, IndexKey::Text(_));
        match self {
            Self::EndsWith(_) | Self::Contains(_) => true,
            Self::Within(ranges) => ranges.iter().all(is_text),
            Self::Set(_) | Self::Between(..) | Self::Number(..) => false,
        }
    }

    /// Returns true if this key belongs to a value that meets the predicate.
    pub(crate) fn fits(&self, key: &IndexKey) -> bool {
        match self {
            Self::Set(on) => *on,
            Self::Within(ranges) | Self::Number(_, ranges) => {
                ranges.iter().any(|(from, to)| from <= key && key <= to)
            }
            Self::Between(from, to) => from < key && key < to,
            Self::EndsWith(end) => matches!(key, IndexKey::Text(text) if text.ends_with(end)),
            Self::Contains(part) => matches!(key, IndexKey::Text(text) if text.contains(part)),
        }
    }
}
