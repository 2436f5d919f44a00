//! Scopes: the registry, and the laws of sets.
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use workgraph_auth::conformance::SCOPES;
use workgraph_auth::tokens::scope::DEFAULT;
use workgraph_auth::{ScopeError, ScopeRegistry, ScopeSet};

fn names() -> Vec<&'static str> {
    SCOPES.iter().map(|scope| scope.name).collect()
}

fn some_names() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(names(), 0..=SCOPES.len()).prop_shuffle()
}

fn set(names: &[&str]) -> ScopeSet {
    SCOPES.parse(&names.join(" ")).unwrap()
}

/// Returns true if a set allows exactly the scopes of which it was made.
fn allows_exactly(names: &[&str], allows: impl Fn(&str) -> bool) -> bool {
    SCOPES
        .iter()
        .all(|scope| allows(scope.name) == names.contains(&scope.name))
}

proptest! {
    /// B16. S54. Scopes in a set are allowed and no others; no action implies another.
    #[test]
    fn a_scope_is_allowed_if_it_is_in_the_set(names in some_names()) {
        let set = set(&names);
        prop_assert!(allows_exactly(&names, |scope| set.allows(scope)));
        prop_assert!(!set.is_full());
        prop_assert!(!set.allows(DEFAULT));
        prop_assert!(!set.allows(""));
    }

    #[test]
    fn covering_and_intersecting_are_those_of_sets(a in some_names(), b in some_names()) {
        let (left, right) = (set(&a), set(&b));
        let both: Vec<&str> = a.iter().filter(|name| b.contains(name)).copied().collect();
        prop_assert_eq!(left.intersect(right), set(&both));
        prop_assert_eq!(left.covers(right), b.iter().all(|name| a.contains(name)));
        prop_assert_eq!(left == right, left.covers(right) && right.covers(left));
        prop_assert!(left.covers(left.intersect(right)));
    }

    #[test]
    fn a_set_reads_back_from_its_text(names in some_names(), repeat in any::<Index>()) {
        let once = set(&names);
        prop_assert_eq!(SCOPES.parse(&once.to_string()), Ok(once));
        let mut sorted = names.clone();
        sorted.sort_unstable();
        prop_assert_eq!(once.to_string(), sorted.join(" "));
        if !names.is_empty() {
            let twice = format!("{}  {} ", names.join("  "), names[repeat.index(names.len())]);
            prop_assert_eq!(SCOPES.parse(&twice), Ok(once));
        }
    }

    #[test]
    fn full_permissions_are_neutral_and_on_top(names in some_names()) {
        let (full, set) = (ScopeSet::full(), set(&names));
        prop_assert_eq!(full.intersect(set), set);
        prop_assert_eq!(set.intersect(full), set);
        prop_assert!(full.covers(set) && !set.covers(full));
    }

    #[test]
    fn no_text_reads_as_full_but_default(text in "[a-z:_. ]{0,40}") {
        if let Ok(set) = SCOPES.parse(&text) {
            prop_assert_eq!(set.is_full(), text.split(' ').any(|name| name == DEFAULT));
        }
    }
}

#[test]
fn all_scopes_together_are_not_full_permissions() {
    let all = set(&names());
    assert!(SCOPES.iter().all(|scope| all.allows(scope.name)));
    assert!(!all.is_full());
    assert_ne!(all, ScopeSet::full());
    assert!(!all.covers(ScopeSet::full()));
    assert_eq!(all.iter().count(), SCOPES.len());
}

#[test]
fn default_stands_for_full_permissions_and_alone() {
    assert_eq!(SCOPES.parse("default"), Ok(ScopeSet::full()));
    assert_eq!(SCOPES.parse(" default default "), Ok(ScopeSet::full()));
    assert_eq!(ScopeSet::full().to_string(), "default");
    assert_eq!(ScopeSet::full().iter().count(), 0);
    for mixed in ["default tasks:read", "openid default"] {
        assert_eq!(SCOPES.parse(mixed), Err(ScopeError::Mixed));
    }
    for scope in names().into_iter().chain(["", DEFAULT, "anything:new"]) {
        assert!(ScopeSet::full().allows(scope), "{scope}");
    }
}

#[test]
fn unknown_scopes_are_named() {
    let names = [
        "Tasks:read",
        "tasks:READ",
        "tasks",
        "tasks:",
        ":read",
        "tasks:read,users:read",
        "tasks:read\tusers:read",
        "tasks:read\n",
        "DEFAULT",
        "+",
        "workspace.typeahead:read",
    ];
    for name in names {
        let text = format!("tasks:read {name} users:read");
        assert_eq!(
            SCOPES.parse(&text),
            Err(ScopeError::Unknown(name.to_owned()))
        );
    }
    assert_eq!(SCOPES.parse(""), Ok(ScopeSet::empty()));
    assert!(ScopeSet::empty().is_empty() && ScopeSet::empty() == ScopeSet::default());
}

/// B16. The law of allowing notices actions that imply each other, and names matched by their start.
#[test]
fn broken_sets_are_noticed() {
    let names = ["tasks:write", "projects:delete"];
    let good = set(&names);
    let implied = |scope: &str| {
        let resource = scope.split(':').next().unwrap_or(scope);
        scope.ends_with(":read") && names.iter().any(|name| name.starts_with(resource))
    };
    let prefix = |scope: &str| names.iter().any(|name| scope.starts_with(&name[..4]));
    assert!(allows_exactly(&names, |scope| good.allows(scope)));
    assert!(!allows_exactly(&names, |scope| good.allows(scope) || implied(scope)));
    assert!(!allows_exactly(&names, |scope| good.allows(scope) || prefix(scope)));
    assert!(!allows_exactly(&names, |scope| ScopeSet::full().allows(scope)));
}

const INVOICES: [(&str, &str); 2] = [
    ("invoices:write", "Change them"),
    ("invoices:read", "See your invoices"),
];

/// Names of scopes: of the registry of the cases, and of two others.
fn sets() -> impl Strategy<Value = ScopeSet> {
    let (invoices, more) = (ScopeRegistry::new(INVOICES), {
        let all = SCOPES.iter().map(|scope| (scope.name, scope.description));
        ScopeRegistry::new(all.chain(INVOICES))
    });
    let of = |registry: ScopeRegistry| {
        let names: Vec<_> = registry.iter().map(|scope| scope.name).collect();
        let some = subsequence(names.clone(), 0..=names.len());
        some.prop_map(move |names| registry.parse(&names.join(" ")).unwrap())
    };
    prop_oneof![
        of(SCOPES),
        of(invoices),
        of(more),
        Just(ScopeSet::full()),
        Just(ScopeSet::empty())
    ]
}

/// Returns the names in a set, or none for full permissions.
fn names_of(set: ScopeSet) -> Option<BTreeSet<&'static str>> {
    (!set.is_full()).then(|| set.iter().map(|scope| scope.name).collect())
}

fn hash(set: ScopeSet) -> u64 {
    let mut hasher = DefaultHasher::new();
    set.hash(&mut hasher);
    hasher.finish()
}

/// Covers by bits alone, as if all sets were of one registry: the broken twin.
fn covers_by_position(left: ScopeSet, right: ScopeSet) -> bool {
    let at = |set: ScopeSet, known: &[&str]| -> Vec<usize> {
        let position = |name| known.iter().position(|known| *known == name);
        set.iter()
            .filter_map(|scope| position(scope.name))
            .collect()
    };
    let (first, second) = (names(), ["invoices:read", "invoices:write"]);
    at(right, &second)
        .iter()
        .all(|bit| at(left, &first).contains(bit))
}

proptest! {
    #[test]
    fn sets_of_any_two_registries_compare_by_name(left in sets(), right in sets()) {
        let (a, b) = (names_of(left), names_of(right));
        let covers = match (&a, &b) {
            (None, _) => true,
            (_, None) => false,
            (Some(a), Some(b)) => b.is_subset(a),
        };
        prop_assert_eq!(left.covers(right), covers);
        prop_assert_eq!(left == right, a == b);
        prop_assert!(left != right || hash(left) == hash(right));
        let both = match (a, b) {
            (None, other) | (other, None) => other,
            (Some(a), Some(b)) => Some(a.intersection(&b).copied().collect()),
        };
        prop_assert_eq!(names_of(left.intersect(right)), both);
    }
}

#[test]
fn sets_that_compare_by_position_are_noticed() {
    let invoices = ScopeRegistry::new(INVOICES);
    let (left, right) = (set(&["email"]), invoices.parse("invoices:read").unwrap());
    assert!(covers_by_position(left, right) && !left.covers(right));
}

#[test]
fn a_registry_has_its_scopes_in_order_with_their_descriptions() {
    let invoices = ScopeRegistry::new(INVOICES);
    let all: Vec<_> = invoices.iter().map(|s| (s.name, s.description)).collect();
    let expected = [
        ("invoices:read", "See your invoices"),
        ("invoices:write", "Change them"),
    ];
    assert_eq!(all, expected);
    assert_eq!((invoices.len(), ScopeRegistry::EMPTY.is_empty()), (2, true));
    assert_eq!(ScopeRegistry::EMPTY.parse("default"), Ok(ScopeSet::full()));
}

#[test]
fn a_registry_that_no_request_could_use_is_refused() {
    let refused = |list: Vec<(String, &'static str)>| {
        std::panic::catch_unwind(move || ScopeRegistry::new(list)).is_err()
    };
    let one = |name: &str| vec![(name.to_owned(), "Something")];
    for name in ["", "default", "a b", "a\"b", "a\\b", "é", "a\n"] {
        assert!(refused(one(name)), "{name:?}");
    }
    assert!(refused([one("a"), one("a")].concat()), "given twice");
    let many = |count: usize| (0..count).map(|n| (format!("s{n}"), "Something")).collect();
    assert!(!refused(many(ScopeRegistry::MOST)) && refused(many(ScopeRegistry::MOST + 1)));
}
