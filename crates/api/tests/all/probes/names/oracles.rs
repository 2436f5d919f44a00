//! Oracles: no reply shows a difference between an address or gid that is hidden from the caller and one that does not exist.
use super::*;

/// Two worlds with the same history: the first is asked for hidden nodes, the second for nodes that do not exist.
struct Pair {
    hidden: Place,
    missing: Place,
}

impl Pair {
    fn new() -> Self {
        let place = || Place::of(scene(Kind::Memory));
        Self {
            hidden: place(),
            missing: place(),
        }
    }

    /// Sends a value in every input of a row that takes one, as a reader; returns the cases in which the replies differ.
    fn differences(
        &mut self,
        row: &Operation,
        reader: &str,
        (hidden, missing): (&str, &str),
    ) -> Vec<String> {
        let mut all = Vec::new();
        let [ours, theirs] = [(&self.hidden, hidden), (&self.missing, missing)]
            .map(|(place, value)| cases(place, row, value));
        for ((what, ours), (_, theirs)) in ours.into_iter().zip(theirs) {
            let a = ours.send(&self.hidden.world, reader, row);
            let b = theirs.send(&self.missing.world, reader, row);
            if plain(&a, hidden) != plain(&b, missing) {
                let what = format!("{reader} {} {what}={hidden}", row.id);
                all.push(format!(
                    "{what}: {} {} / {} {}",
                    a.status, a.text, b.status, b.text
                ));
            }
            if row.method != Method::Get && (a.status < 300 || b.status < 300) {
                *self = Self::new();
            }
        }
        all
    }
}

/// Returns a reply without the value that it may repeat, and without the name that a new user has from an address.
fn plain(answer: &Answer, value: &str) -> (u16, String, String) {
    let mailbox = value.split('@').next().unwrap();
    let headers = format!("{:?}", answer.headers);
    let without = |text: &str| {
        let text = text.replace(value, "VALUE");
        text.replace(&format!("\"{mailbox}\""), "VALUE")
    };
    (answer.status, without(&answer.text), without(&headers))
}

/// Returns the row's sample with a value in place of each of its inputs.
fn cases(place: &Place, row: &Operation, value: &str) -> Vec<(String, Sample)> {
    let base = sample(&place.world, &MEADOW, row);
    let is_address = value.contains('@');
    let mut all = Vec::new();
    for (at, (name, _)) in base.path.iter().enumerate() {
        if *name == "user_gid" || !is_address {
            let mut one = base.clone();
            one.path[at].1 = value.to_owned();
            all.push(((*name).to_owned(), one));
        }
    }
    for slot in row.required_query().chain(row.optional_query()) {
        let mut one = base.clone();
        one.query.retain(|(name, _)| *name != slot);
        one.query.push((slot, value.to_owned()));
        if slot == "assignee" {
            one.query.retain(|(name, _)| *name != "project");
            one.query
                .push(("workspace", place.world.gid("orchid").to_string()));
        }
        all.push((slot.to_owned(), one));
    }
    for slot in slots(row) {
        let mut values = forms(slot, value);
        if slot == "custom_fields" {
            for field in ["m_people", "m_reference", "m_enum"] {
                let field = place.world.gid(field).to_string();
                values.push(json!({ &field: [value] }));
                values.push(json!({ &field: value }));
            }
        }
        for form in values {
            let mut one = base.clone();
            let what = format!("{slot} as {form}");
            one.put(slot, form);
            all.push((what, one));
        }
    }
    all
}

/// S116. Every row, wherever it takes a user, by address: of another workspace for members, and for guests of
/// their own, if they do not know the user.
#[test]
fn no_row_tells_an_address_that_the_caller_does_not_know_from_one_that_nobody_has() {
    let mut pair = Pair::new();
    let mut told = 0;
    for row in all() {
        for (reader, pairs) in [
            ("ada", &[("ben@basalt.test", "bex@basalt.test")][..]),
            ("moe", &[("ben@basalt.test", "bex@basalt.test")]),
            (
                "gus",
                &[
                    ("ben@basalt.test", "bex@basalt.test"),
                    ("members-nia@orchid.test", "members-nix@orchid.test"),
                ],
            ),
        ] {
            for (known, nobody) in pairs {
                let found = pair.differences(row, reader, (known, nobody));
                assert!(found.is_empty(), "{found:#?}");
            }
        }
        // The twin: who is known is told from nobody.
        told += pair
            .differences(row, "ada", ("mel@orchid.test", "mex@orchid.test"))
            .len();
    }
    assert!(told > 20, "{told} cases tell a member from nobody");
}
