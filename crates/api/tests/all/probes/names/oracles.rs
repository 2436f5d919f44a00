//! Oracles: no reply shows a difference between an address or gid that is hidden from the caller and one that does not
//! exist.
mod gids;

use super::*;

/// A value that no reply has.
const NOBODY: &str = "nobody@nowhere.test";

/// The scene as a row's sample finds it, and a copy of it that gets the requests.
struct Ground {
    /// Prepared for the sample, and sent nothing else.
    prepared: Place,
    /// A copy in which no request had an effect, if there is one.
    fresh: Option<Place>,
    base: Sample,
}

impl Ground {
    fn new(scene: &Place, row: &Operation) -> Self {
        let prepared = scene.again();
        let base = sample(&prepared.world, &MEADOW, row);
        Self {
            prepared,
            fresh: None,
            base,
        }
    }

    /// Sends a request to a copy in which none had an effect.
    fn send(&mut self, row: &Operation, reader: &str, one: &Sample) -> Answer {
        let scene = self.fresh.take().unwrap_or_else(|| self.prepared.again());
        let answer = one.send(&scene.world, reader, row);
        if row.method == Method::Get || answer.status >= 300 {
            self.fresh = Some(scene);
        }
        answer
    }

    /// Sends two requests to copies with the same history; returns both replies.
    fn both(&mut self, row: &Operation, reader: &str, pair: [Sample; 2]) -> [Answer; 2] {
        let replies = pair.each_ref().map(|one| self.send(row, reader, one));
        if row.method == Method::Get || replies.iter().all(|reply| reply.status >= 300) {
            return replies;
        }
        // Refused requests take gids, too.
        pair.map(|one| {
            self.fresh = None;
            self.send(row, reader, &one)
        })
    }

    /// Sends a value that is hidden and one that does not exist in every input of a row that takes one, as a reader;
    /// returns the cases in which the replies differ.
    fn differences(
        &mut self,
        row: &Operation,
        reader: &str,
        (hidden, missing): (&str, &str),
    ) -> Vec<String> {
        let mut all = Vec::new();
        let [ours, theirs] =
            [hidden, missing].map(|value| cases(&self.prepared, &self.base, row, value));
        for ((what, ours), (_, theirs)) in ours.into_iter().zip(theirs) {
            let replies = self.both(row, reader, [ours, theirs]);
            all.extend(difference(&replies, (hidden, missing), || {
                format!("{reader} {} {what}={hidden}", row.id)
            }));
        }
        all
    }
}

impl Place {
    /// Returns a copy with the same settings.
    fn again(&self) -> Self {
        self.copy(self.world.api.settings().clone())
    }
}

/// Returns both replies if they differ in more than the value that they may repeat.
fn difference(
    [a, b]: &[Answer; 2],
    (hidden, missing): (&str, &str),
    what: impl FnOnce() -> String,
) -> Option<String> {
    // A reply may also name the value because another input has it.
    let is_same = plain(a, hidden) == plain(b, missing) || plain(a, NOBODY) == plain(b, NOBODY);
    (!is_same).then(|| {
        let what = what();
        format!("{what}: {} {} / {} {}", a.status, a.text, b.status, b.text)
    })
}

/// Returns a reply without the value that it may repeat, and without the name that a new user has from an address.
fn plain(answer: &Answer, value: &str) -> (u16, String, String) {
    let mailbox = value.split('@').next().unwrap();
    let headers = format!("{:?}", answer.headers);
    // A new token for events has random bytes.
    let sync = answer.json["sync"].as_str().unwrap_or(value);
    let without = |text: &str| {
        let text = text.replace(sync, "SYNC").replace(value, "VALUE");
        text.replace(&format!("\"{mailbox}\""), "VALUE")
    };
    (answer.status, without(&answer.text), without(&headers))
}

/// Returns the row's sample with a value in place of each of its inputs.
fn cases(scene: &Place, base: &Sample, row: &Operation, value: &str) -> Vec<(String, Sample)> {
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
                .push(("workspace", scene.world.gid("orchid").to_string()));
        }
        all.push((slot.to_owned(), one));
    }
    for slot in slots(row) {
        for form in values(scene, slot, value) {
            let mut one = base.clone();
            let what = format!("{slot} as {form}");
            one.put(slot, form);
            all.push((what, one));
        }
    }
    all
}

/// Returns the forms in which a body field can name a node, those in values of custom fields included.
fn values(scene: &Place, slot: &str, name: &str) -> Vec<Value> {
    let mut values = forms(slot, name);
    if slot == "custom_fields" {
        for field in ["m_people", "m_reference", "m_enum"] {
            let field = scene.world.gid(field).to_string();
            values.push(json!({ &field: [name] }));
            values.push(json!({ &field: name }));
        }
    }
    values
}

/// S116. Every row, wherever it takes a user, by address: of another workspace for members, and for guests of
/// their own, if they do not know the user. Readers take turns.
#[test]
fn no_row_tells_an_address_that_the_caller_does_not_know_from_one_that_nobody_has() {
    let scene = Place::new();
    let mut revealing = 0;
    for (number, row) in all().enumerate() {
        let mut ground = Ground::new(&scene, row);
        let readers = [
            ("ada", &[("ben@basalt.test", "bex@basalt.test")][..]),
            ("moe", &[("ben@basalt.test", "bex@basalt.test")]),
            (
                "gus",
                &[
                    ("ben@basalt.test", "bex@basalt.test"),
                    ("members-nia@orchid.test", "members-nix@orchid.test"),
                ],
            ),
        ];
        for (caller, (reader, pairs)) in readers.into_iter().enumerate() {
            if !has_turn(number, (caller, readers.len())) {
                continue;
            }
            for (known, nobody) in pairs {
                let found = ground.differences(row, reader, (known, nobody));
                assert!(found.is_empty(), "{found:#?}");
            }
        }
        // The twin: who is known is told from nobody.
        if has_turn(number, (0, readers.len())) {
            revealing += ground
                .differences(row, "ada", ("mel@orchid.test", "mex@orchid.test"))
                .len();
        }
    }
    assert!(revealing > 8, "{revealing} cases tell a member from nobody");
}
