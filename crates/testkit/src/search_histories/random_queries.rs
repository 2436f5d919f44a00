//! Random queries over the nodes of a search history.
use super::*;

impl SearchWorld<'_> {
    fn pairs(&mut self, ty: Type) -> Vec<(SearchLink, usize)> {
        let user = [
            SearchLink::Responsible,
            SearchLink::Creator,
            SearchLink::Assigner,
            SearchLink::Follower,
            SearchLink::Liker,
            SearchLink::Commenter,
        ];
        (0..1 + self.roll(2))
            .map(|_| match (ty, self.roll(5)) {
                (Type::Project, 0) => (SearchLink::Team, self.named(Type::Team)),
                (Type::Project, 1) => (SearchLink::Member, self.named(Type::User)),
                (Type::Project, _) => (SearchLink::Responsible, self.named(Type::User)),
                (Type::User, _) => (SearchLink::Workspace, 0),
                (_, 0) => (SearchLink::Project, self.named(Type::Project)),
                (_, 1) => (SearchLink::Section, self.named(Type::Section)),
                (_, 2) => (SearchLink::Tag, self.named(Type::Tag)),
                (_, 3) => (SearchLink::Team, self.named(Type::Team)),
                _ => (user[self.roll(user.len())], self.named(Type::User)),
            })
            .collect()
    }

    fn clause(&mut self, ty: Type) -> Clause<usize> {
        const TIMES: [IndexColumn; 5] = [
            IndexColumn::Created,
            IndexColumn::Modified,
            IndexColumn::Completed,
            IndexColumn::Due,
            IndexColumn::Start,
        ];
        let on = self.roll(2) == 0;
        match self.roll(14) {
            0 | 1 => {
                let text = TEXTS[self.roll(TEXTS.len())];
                Clause::Words(WordQuery::new(text, on, self.roll(2) == 0))
            }
            2 | 3 => Clause::Any(self.pairs(ty)),
            12 | 13 => {
                let pairs = self.pairs(ty);
                let by = pairs.first().map_or(SearchLink::Responsible, |(by, _)| *by);
                match self.roll(3) {
                    0 => Clause::Either(vec![Clause::Any(pairs), Clause::Linked(by, false)]),
                    _ => Clause::Linked(by, on),
                }
            }
            4 => Clause::All(self.pairs(ty)),
            5 => Clause::None(self.pairs(ty)),
            6 | 7 => {
                let column = TIMES[self.roll(TIMES.len())];
                let from = self.time().millis();
                Clause::Within(column, from..=from + self.roll(8) as i64 * DAY)
            }
            8 => match self.roll(5) {
                0 => Clause::Lacks(TIMES[self.roll(TIMES.len())]),
                1 => Clause::DueAtInstant(on),
                2 if on => Clause::Within(IndexColumn::Subtype, 1..=1),
                2 => Clause::Lacks(IndexColumn::Subtype),
                _ => Clause::Linked(SearchLink::Parent, on),
            },
            9 => Clause::Completed(on),
            10 if ty == Type::Task && self.roll(2) == 0 => Clause::Blocked(on),
            10 if ty == Type::Task => Clause::Blocking(on),
            _ => {
                let number = |n: usize| IndexKey::number(n as f64).unwrap_or(IndexKey::FIRST);
                let test = match self.roll(5) {
                    0 => ValuePredicate::Set(on),
                    1 => {
                        ValuePredicate::Within(vec![(number(2), number(2)), (number(3), number(4))])
                    }
                    2 => ValuePredicate::Between(IndexKey::FIRST, number(4)),
                    3 => ValuePredicate::EndsWith("end".to_owned()),
                    _ => ValuePredicate::Contains("star".to_owned()),
                };
                Clause::Value(0, test)
            }
        }
    }

    /// Returns the queries of a typeahead, in which objects that a user follows come first.
    pub(super) fn typeahead(&mut self) -> Vec<SearchQuery<usize>> {
        let (text, user) = (TEXTS[self.roll(TEXTS.len())], self.named(Type::User));
        let ty = [Type::Task, Type::Task, Type::Tag, Type::Project][self.roll(4)];
        let words = Clause::Words(WordQuery::new(text, true, true));
        let query = |clauses, column| SearchQuery {
            ty,
            clauses,
            order: SortOrder::Column(column),
            ascending: false,
        };
        match ty {
            Type::Task => [Clause::Any, Clause::None]
                .map(|how| {
                    let follows = how(vec![(SearchLink::Follower, user)]);
                    query(vec![follows, words.clone()], IndexColumn::Modified)
                })
                .into(),
            Type::Project => vec![query(vec![words], IndexColumn::Modified)],
            _ => vec![query(vec![words], IndexColumn::Gid)],
        }
    }

    pub(super) fn query(&mut self) -> SearchQuery<usize> {
        const SORTS: [IndexColumn; 6] = [
            IndexColumn::Modified,
            IndexColumn::Created,
            IndexColumn::Completed,
            IndexColumn::Due,
            IndexColumn::Likes,
            IndexColumn::Gid,
        ];
        let ty = [
            Type::Task,
            Type::Task,
            Type::Task,
            Type::Project,
            Type::User,
            Type::Tag,
        ][self.roll(6)];
        let order = match self.roll(8) {
            0 | 1 => SortOrder::Relevance,
            _ if ty == Type::User => SortOrder::Contact,
            n => SortOrder::Column(SORTS[n % SORTS.len()]),
        };
        let mut clauses: Vec<Clause<usize>> = (0..self.roll(4)).map(|_| self.clause(ty)).collect();
        if ty == Type::User {
            // Only users of the workspace are searched.
            clauses.push(Clause::Any(vec![(SearchLink::Workspace, 0)]));
        }
        SearchQuery {
            ty,
            clauses,
            order,
            ascending: self.roll(3) == 0,
        }
    }
}
