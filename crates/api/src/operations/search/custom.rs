//! `custom_fields.{gid}.{test}`: what matches have in a custom field.
//!
//! A parameter does not say of what type the field is. The keys of a field are all of one kind, so a
//! value is read as whatever it may be, and compared with keys of that kind alone.
use super::parts::Parts;
use workgraph_core::check::{self, clip};
use workgraph_core::fault::Fault;
use workgraph_core::graph::Ref;
use workgraph_core::index::Key;
use workgraph_core::registry::Type;
use workgraph_core::search::{Clause, Test};
use workgraph_core::time::Moment;

const TESTS: &str =
    "is_set, value, starts_with, ends_with, contains, less_than, greater_than, before, after";
const DAY: f64 = 86_400_000.0;

/// Reads all of them.
pub(super) fn clauses(parts: &mut Parts<'_, '_>) -> Result<(), Fault> {
    let call = parts.call;
    for (name, _) in call.query.iter() {
        if let Some(rest) = name.strip_prefix("custom_types.") {
            let gid = rest.split('.').next().unwrap_or_default();
            let gid = crate::call::gid(name, gid)?;
            // Nothing is a custom type.
            return Err(Fault::unknown_ref(name, gid));
        }
        let Some(rest) = name.strip_prefix("custom_fields.") else {
            continue;
        };
        let (gid, how) = rest.split_once('.').unwrap_or((rest, ""));
        let gid = crate::call::gid(name, gid)?;
        let Some(text) = call.query(name)? else {
            continue;
        };
        let test = test(name, how, text)?;
        let field = parts.name(name.to_owned(), Ref::Gid(gid), &[Type::CustomField]);
        parts.push(Clause::Value(field, test));
    }
    Ok(())
}

fn test(name: &str, how: &str, text: &str) -> Result<Test, Fault> {
    let number = |number: f64| Key::number(number).ok_or_else(|| not_a_number(name, text));
    Ok(match how {
        "is_set" => Test::Set(
            check::boolean(text).ok_or_else(|| Fault::field(name, "must be true or false"))?,
        ),
        "value" => Test::Within(values(text)),
        "starts_with" => Test::Within(vec![Key::starting_with(text)]),
        "ends_with" => Test::Ends(text.to_lowercase()),
        "contains" => Test::Contains(text.to_lowercase()),
        "less_than" => Test::Between(Key::FIRST, number(parsed(name, text)?)?),
        "greater_than" => Test::Between(number(parsed(name, text)?)?, Key::Number(f64::INFINITY)),
        "before" => Test::Between(Key::FIRST, number(time(name, text)?.0)?),
        "after" => Test::Between(number(time(name, text)?.1)?, Key::Number(f64::INFINITY)),
        _ => {
            return Err(Fault::invalid(format!(
                "{}: Not a recognized filter; after the field comes one of {TESTS}",
                clip(name)
            )));
        }
    })
}

/// The keys that a value given as text may stand for, as ranges.
fn values(text: &str) -> Vec<(Key, Key)> {
    let exactly = |key: Key| (key.clone(), key);
    let mut all = vec![exactly(Key::text(text))];
    all.extend(text.parse().ok().and_then(Key::number).map(exactly));
    if let Ok((first, last)) = time("", text) {
        all.extend(Key::number(first).zip(Key::number(last)));
    }
    all
}

fn parsed(name: &str, text: &str) -> Result<f64, Fault> {
    text.parse().map_err(|_| not_a_number(name, text))
}

fn not_a_number(name: &str, text: &str) -> Fault {
    Fault::field(name, format_args!("Not a number: {}", clip(text)))
}

/// The first and the last millisecond of a day, or an instant twice.
fn time(name: &str, text: &str) -> Result<(f64, f64), Fault> {
    Ok(
        match Moment::parse(text).map_err(|e| Fault::field(name, e))? {
            Moment::Day(day) => {
                let start = day.start().millis() as f64;
                (start, start + DAY - 1.0)
            }
            Moment::Instant(at) => (at.millis() as f64, at.millis() as f64),
        },
    )
}
