//! Property tests of rich text: for every input, the stored text is valid.
use proptest::prelude::*;

use super::allowed_tags::Tag;
use super::tests::{ALL, brief, check, objects, task};
use super::*;

/// A step of writing a text: a tag to open, a tag to close, or words.
#[derive(Clone, Debug)]
enum MarkupStep {
    Open(usize),
    Close,
    Words(String),
}

fn steps() -> impl Strategy<Value = Vec<MarkupStep>> {
    let step = prop_oneof![
        3 => (0..100usize).prop_map(MarkupStep::Open),
        2 => Just(MarkupStep::Close),
        3 => "[ -~\n\t\u{a0}\u{85}\u{feff}é😀\u{202e}]{0,8}".prop_map(MarkupStep::Words),
    ];
    prop::collection::vec(step, 0..60)
}

/// Writes a text that follows the rules; skips steps that would break one.
fn follow(steps: &[MarkupStep], flavor: RichTextProfile) -> String {
    let (mut out, mut open): (_, Vec<&'static Tag>) = ("<body>".to_owned(), Vec::new());
    let close = |open: &mut Vec<&'static Tag>, out: &mut String| {
        if let Some(tag) = open.pop() {
            out.push_str(&format!("</{}>", tag.name));
        }
    };
    for step in steps {
        match step {
            MarkupStep::Open(n) => {
                let tags: Vec<_> = allowed_tags::of(flavor).collect();
                let tag = tags[n % tags.len()];
                if allowed_tags::misplaced(tag, &open).is_some() || open.len() + 2 > MAX_DEPTH {
                    continue;
                }
                let attributes = match (tag.name, n % 4) {
                    ("a", 0) => " href=\"https://x.example/?a=1&amp;b=&quot;&gt;\u{a0}\"",
                    ("a", 1) => " data-asana-gid=\"2\"",
                    ("a", 2) => " data-asana-gid=\"1\" data-asana-dynamic=\"false\"",
                    ("a", _) => " data-asana-gid=\"9\" href=\"mailto:a@x.example\"",
                    ("img", _) => " data-asana-gid=\"3\"",
                    ("object", _) => {
                        " type=\"application/vnd.asana.project_goals\" data-asana-gid=\"2\""
                    }
                    ("td", 0) => " rowspan=\"2\"",
                    _ => "",
                };
                out.push_str(&format!(
                    "<{}{attributes}{}>",
                    tag.name,
                    if tag.void { "/" } else { "" }
                ));
                if !tag.void {
                    open.push(tag);
                }
            }
            MarkupStep::Close => close(&mut open, &mut out),
            MarkupStep::Words(words) => {
                let layout = open
                    .last()
                    .is_some_and(|tag| matches!(tag.name, "table" | "tr"));
                serialize::escape(if layout { "\n " } else { words }, &mut out);
            }
        }
    }
    while !open.is_empty() {
        close(&mut open, &mut out);
    }
    out + "</body>"
}

fn soup() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("<body>"),
        Just("</body>"),
        Just("<a data-asana-gid=\"1\">"),
        Just("</a>"),
        Just("<strong>"),
        Just("</strong>"),
        Just("<hr/>"),
        Just("<ul><li>"),
        Just("</li></ul>"),
        Just("&amp;"),
        Just("&"),
        Just("&#x0;"),
        Just("<!--"),
        Just("-->"),
        Just("<![CDATA["),
        Just("]]>"),
        Just("<?"),
        Just("?>"),
        Just("<!DOCTYPE"),
        Just("<table>"),
        Just("<tr><td>"),
        Just(" href='javascript:x'"),
        Just("<"),
        Just(">"),
        Just("\""),
        Just("text"),
        Just("\r\n"),
        Just("<a href=\"https://x.example\">"),
        Just("/>"),
        Just("\u{feff}"),
        Just("<A"),
        Just("</"),
    ];
    prop::collection::vec(part, 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn what_follows_the_rules_is_taken_and_is_a_fixed_point(steps in steps(), which in 0..4usize) {
        let flavor = ALL[which];
        let html = follow(&steps, flavor);
        let rich = normalize(&html, flavor, &objects);
        prop_assert!(rich.is_ok(), "{:?} for {}", rich, html);
        check(&rich.unwrap(), flavor);
    }

    #[test]
    fn a_reader_gets_valid_text_that_can_be_sent_back(steps in steps(), seen in 0..4u64) {
        let stored = brief(&follow(&steps, RichTextProfile::Brief)).unwrap();
        let some = |gid: u64| objects(gid).filter(|_| gid < seen);
        if let Some(view) = reader_view(&stored.html, &some).unwrap() {
            prop_assert_eq!(normalize(&view.html, RichTextProfile::Brief, &some), Ok(view));
        }
    }

    #[test]
    fn arbitrary_input_never_panics(any in any::<String>(), soup in soup(), which in 0..4usize) {
        for html in [&any, &soup, &format!("<body>{any}</body>"), &format!("<body>{soup}</body>")] {
            let _ = (links(html), reader_view(html, &objects), clean_text(html));
            if let Ok(rich) = normalize(html, ALL[which], &objects) {
                check(&rich, ALL[which]);
            }
        }
    }

    #[test]
    fn text_becomes_html_and_text_again(text in any::<String>(), lines in "[a-z <>&\"'\n\t\u{a0}\u{feff}é]{0,40}") {
        for text in [&text, &lines] {
            let html = from_text(text);
            prop_assert!(task(&html).is_ok());
            if let Ok(clean) = clean_text(text) {
                prop_assert_eq!(&from_text(&clean), &html);
                let rich = task(&html).unwrap();
                prop_assert_eq!(&rich.text, &*clean);
                prop_assert_eq!(&rich.html, &html);
                check(&rich, RichTextProfile::Task);
            }
        }
    }
}
