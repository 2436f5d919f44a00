//! Tests of rich text by example, and the invariants of every stored text.
mod shipped_writers;
mod written_back;

use quick_xml::events::Event;

use super::*;

pub(super) const ALL: [RichTextProfile; 4] = [
    RichTextProfile::Task,
    RichTextProfile::Comment,
    RichTextProfile::Brief,
    RichTextProfile::Description,
];

/// Returns a user, a task with a nasty name or an attachment; all other objects are not visible.
pub(super) fn objects(gid: u64) -> Option<LinkTarget> {
    let (kind, name) = match gid {
        1 => ("user", "Greg"),
        2 => ("task", "Buy <milk> & \"eggs\"\u{a0}\n"),
        3 => ("attachment", "a.png"),
        _ => return None,
    };
    let href = format!("https://work.example/0/{gid}?a=1&b=\"2\"");
    Some(LinkTarget {
        gid,
        kind: kind.to_owned(),
        name: name.to_owned(),
        href,
    })
}

pub(super) fn task(html: &str) -> Result<RichText, RichError> {
    normalize(html, RichTextProfile::Task, &objects)
}

pub(super) fn brief(html: &str) -> Result<RichText, RichError> {
    normalize(html, RichTextProfile::Brief, &objects)
}

/// Checks the invariants of every stored text.
pub(super) fn check(rich: &RichText, flavor: RichTextProfile) {
    assert_eq!(normalize(&rich.html, flavor, &objects).as_ref(), Ok(rich));
    let mut reader = quick_xml::Reader::from_str(&rich.html);
    let (mut depth, mut roots) = (0, 0);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) => {
                roots += usize::from(depth == 0);
                depth += 1;
                inspect(&tag, flavor, depth == 1);
            }
            Event::Empty(tag) => inspect(&tag, flavor, false),
            Event::End(_) => depth -= 1,
            Event::Text(_) | Event::GeneralRef(_) => assert!(depth > 0, "{}", rich.html),
            Event::Eof => break,
            other => panic!("{other:?} in {}", rich.html),
        }
    }
    assert_eq!((depth, roots), (0, 1), "{}", rich.html);
}

fn inspect(tag: &quick_xml::events::BytesStart<'_>, flavor: RichTextProfile, root: bool) {
    let name = tag.name().into_inner();
    let known: &[&str] = if root {
        &[]
    } else {
        allowed_tags::find(name, flavor).unwrap().attributes
    };
    assert!(!root || name == "body");
    for attribute in tag.attributes() {
        let attribute = attribute.unwrap();
        let key = attribute.key.into_inner();
        assert!(
            known.contains(&key) && !key.starts_with("on"),
            "{key} on {name}"
        );
        if ["href", "src"].contains(&key) {
            let value = attribute.value.to_ascii_lowercase();
            assert!(
                ["http:", "https:", "mailto:"]
                    .iter()
                    .any(|s| value.starts_with(s)),
                "{value}"
            );
        }
    }
}

#[test]
fn inline_text_comes_out_exactly() {
    for (html, text) in [
        (
            "<body>Say <strong>hello</strong> to <em>them</em></body>",
            "Say hello to them",
        ),
        (
            "<body>a &lt; b &amp;&amp; c &gt; d &quot;&apos;&#160;&#x1F600;</body>",
            "a < b && c > d \"'\u{a0}😀",
        ),
        ("<body>one\ntwo\n\n three </body>", "one\ntwo\n\n three "),
        ("<body>one\r\ntwo\rthree</body>", "one\ntwo\nthree"),
        ("<body/>", ""),
        ("\n <body><u>a</u><s>b</s><code>c</code></body>\n", "abc"),
        (
            "<body><a href=\"https://x.example\">here</a>.</body>",
            "here.",
        ),
    ] {
        for flavor in ALL {
            assert_eq!(
                normalize(html, flavor, &objects).map(|r| r.text),
                Ok(text.to_owned()),
                "{html}"
            );
        }
    }
}

#[test]
fn blocks_stand_on_lines_of_their_own() {
    for (html, text) in [
        (
            "<body>To do:<ul><li>a</li><li>b<ol><li>c</li><li>d</li></ol></li></ul>Done</body>",
            "To do:\n- a\n- b\n  1. c\n  2. d\nDone",
        ),
        (
            "<body>To do:\n<ul>\n<li>a</li>\n</ul>\nDone</body>",
            "To do:\n- a\nDone",
        ),
        (
            "<body><h1>Big</h1>small<hr/>more<h2>Mid</h2></body>",
            "Big\nsmall\n---\nmore\nMid",
        ),
        (
            "<body>He said<blockquote>no</blockquote><pre>\nx\n  y</pre>ok</body>",
            "He said\nno\nx\n  y\nok",
        ),
    ] {
        assert_eq!(task(html).map(|r| r.text), Ok(text.to_owned()), "{html}");
    }
    let table = "<body>T<table><tr><td>a</td><td colspan=\"2\">b</td></tr>\n<tr><td/><td>d</td></tr></table>\
        <img data-asana-gid=\"3\"/>e</body>";
    assert_eq!(brief(table).unwrap().text, "T\na\tb\n\td\na.png\ne");
}

#[test]
fn references_are_written_out() {
    let href = |n| format!("href=\"https://work.example/0/{n}?a=1&amp;b=&quot;2&quot;\"");
    let link = |n, dynamic, kind, text| {
        format!(
            "<body><a {} data-asana-accessible=\"true\" data-asana-dynamic=\"{dynamic}\" \
         data-asana-type=\"{kind}\" data-asana-gid=\"{n}\">{text}</a></body>",
            href(n)
        )
    };
    let milk = "Buy &lt;milk&gt; &amp; \"eggs\"\u{a0} ";
    for (html, expected) in [
        ("<body><a data-asana-gid=\"1\"/></body>", link(1, true, "user", "@Greg")),
        ("<body><a data-asana-gid=\"2\"/></body>", link(2, true, "task", milk)),
        ("<body><a data-asana-gid=\"1\" href=\"javascript:x\">old <em>name</em></a></body>", link(1, true, "user", "@Greg")),
        ("<body><a data-asana-gid=\"1\" data-asana-dynamic=\"false\">our <em>own</em></a></body>",
            link(1, false, "user", "our <em>own</em>")),
        ("<body><a data-asana-gid=\"1\" data-asana-dynamic=\"false\"/></body>", link(1, false, "user", "@Greg")),
        ("<body><a data-asana-gid=\"9\" data-asana-type=\"task\" href=\"https://x.example/9\">Secret</a></body>",
            "<body><a href=\"https://x.example/9\" data-asana-accessible=\"false\">Private Link</a></body>".to_owned()),
        ("<body><a target=\"_blank\" href=\" https://x.example/ \" onclick=\"x()\"/></body>",
            "<body><a href=\"https://x.example/\">https://x.example/</a></body>".to_owned()),
        ("<body><a href=\"MAILTO:a@x.example\">me</a></body>",
            "<body><a href=\"MAILTO:a@x.example\">me</a></body>".to_owned()),
    ] {
        assert_eq!(task(html).map(|r| r.html), Ok(expected), "{html}");
    }
    let within = task("<body><a data-asana-gid=\"2\" data-asana-project=\"77\"/></body>").unwrap();
    assert!(
        within
            .html
            .contains("data-asana-gid=\"2\" data-asana-project=\"77\">"),
        "{}",
        within.html
    );
    assert_eq!(
        brief("<body><img data-asana-gid=\"3\" style=\"x\"/></body>")
            .unwrap()
            .html,
        format!(
            "<body><img data-asana-gid=\"3\" data-asana-type=\"attachment\" alt=\"a.png\" {}/></body>",
            href(3).replace("href", "src")
        )
    );
    assert_eq!(
        brief("<body><object type=\"application/vnd.asana.project_goals\" data-asana-gid=\"2\" data=\"//evil\"><hr/></object></body>")
            .unwrap().html,
        format!("<body><object type=\"application/vnd.asana.project_goals\" data-asana-type=\"task\" data-asana-gid=\"2\">{milk}</object></body>")
    );
}

#[test]
fn references_are_collected_once_and_in_order() {
    let html = "<body><a data-asana-gid=\"7\"/><img data-asana-gid=\"3\"/><a data-asana-gid=\"7\"/><a data-asana-gid=\"x\"/></body>";
    assert_eq!(links(html), [7, 3]);
    assert!(links("<body><a data-asana-gid=\"7\"/>").is_empty());
}

#[test]
fn images_show_other_attachments_and_links_stay() {
    let html = "<body><a data-asana-gid=\"3\"/><img data-asana-gid=\"3\"/><img data-asana-gid=\"4\"/></body>";
    let other = |gid| (gid == 3).then_some(30);
    let replaced = with_images(html, &other).unwrap().unwrap();
    assert_eq!(links(&replaced), [3, 30, 4]);
    assert_eq!(with_images(&replaced, &other), Ok(None));
    assert_eq!(with_images("<body>3</body>", &other), Ok(None));
    assert!(with_images("<body><img data-asana-gid=\"3\"/>", &other).is_err());
}

#[test]
fn a_reader_sees_what_it_may() {
    let stored =
        brief("<body><a data-asana-gid=\"2\"/> <img data-asana-gid=\"3\"/></body>").unwrap();
    let seen = reader_view(&stored.html, &|_| None).unwrap().unwrap();
    assert_eq!(seen.text, "Private Link ");
    assert!(
        !seen.html.contains("milk")
            && !seen.html.contains("a.png")
            && !seen.html.contains("\"task\"")
    );
    assert!(
        seen.html
            .contains("data-asana-accessible=\"false\">Private Link</a>"),
        "{}",
        seen.html
    );
    check(&brief(&seen.html).unwrap(), RichTextProfile::Brief);
    assert!(
        normalize(&seen.html, RichTextProfile::Brief, &|_| None).is_ok(),
        "it can be sent back"
    );
    assert_eq!(reader_view(&stored.html, &objects), Ok(Some(stored)));
    assert_eq!(reader_view("<body>plain</body>", &objects), Ok(None));
}

#[test]
fn what_is_refused_is_told_with_what_would_be_right() {
    let deep = format!("<body>{}{}</body>", "<em>".repeat(32), "</em>".repeat(32));
    let long = format!("<body>{}</body>", "x".repeat(MAX_BYTES));
    let wide = format!("<body>{}</body>", "<a data-asana-gid=\"1\"/>".repeat(1_000));
    for (html, said) in [
        ("", "wrapped in exactly one <body>"),
        ("text", "wrapped in exactly one <body>"),
        ("<strong>text</strong>", "wrapped in exactly one <body>"),
        ("<body>a</body>b", "wrapped in exactly one <body>"),
        (
            "<body>a</body><body>b</body>",
            "wrapped in exactly one <body>",
        ),
        (
            "<body><body>b</body></body>",
            "wrapped in exactly one <body>",
        ),
        (
            "<body><p>a</p></body>",
            "Tag <p> is not supported here; supported are body, strong, em, u",
        ),
        ("<body>a<br/>b</body>", "line breaks as newline characters"),
        (
            "<body><object data-asana-gid=\"3\"/></body>",
            "Tag <object> is not supported here",
        ),
        (
            "<body><strong class=\"x\">a</strong></body>",
            "Attribute class is not supported on <strong>, which takes none",
        ),
        (
            "<body class=\"x\">a</body>",
            "Attribute class is not supported on <body>",
        ),
        ("<body>a", "<body> is not closed by </body>"),
        ("<body><em>a", "<em> is not closed by </em>"),
        ("<body><em>a</body>", "XML is invalid at byte"),
        ("<body><em><u>a</em></u></body>", "XML is invalid at byte"),
        ("<body>a</em></body>", "XML is invalid at byte"),
        ("<body>AT&T</body>", "write & as &amp;"),
        ("<body>a < b</body>", "XML is invalid at byte"),
        ("<body>a ]]> b</body>", "write ]]> as ]]&gt;"),
        (
            "<body><a href=https://x.example>a</a></body>",
            "XML is invalid at byte",
        ),
        (
            "<body><a href=\"https://x.example\" href=\"https://y.example\">a</a></body>",
            "XML is invalid at byte",
        ),
        (
            "<body><a href=\"https://x.example/<\">a</a></body>",
            "as &lt;",
        ),
        ("<body>&nope;</body>", "Entity &nope; is not defined"),
        (
            "<body><a href=\"https://x.example/&nope;\">a</a></body>",
            "Entity &nope; is not defined",
        ),
        ("<body><!-- a --></body>", "not comments"),
        ("<body><![CDATA[a]]></body>", "not CDATA"),
        ("<?xml version=\"1.0\"?><body/>", "not an XML declaration"),
        ("<body><?php x ?></body>", "not processing instructions"),
        (
            "<!DOCTYPE body [<!ENTITY x \"y\">]><body>&x;</body>",
            "not a DOCTYPE",
        ),
        ("<body>\u{0}</body>", "U+0000"),
        ("<body>&#0;</body>", "Entity &#0; is not defined"),
        ("<body>&#1;</body>", "U+0001"),
        ("<body>&#xFFFF;</body>", "U+FFFF"),
        (&deep, "up to 32 deep"),
        (&long, "up to 65536 bytes"),
        (&wide, "up to 65536 bytes"),
        ("<body><li>a</li></body>", "directly into <ol> or <ul>"),
        ("<body><hr>a</hr></body>", "must be empty"),
        (
            "<body><a href=\"https://x.example\"><em><a href=\"https://y.example\">a</a></em></a></body>",
            "links cannot be nested",
        ),
        ("<body><a>a</a></body>", "needs a data-asana-gid or a href"),
        (
            "<body><a href=\"/0/1\">a</a></body>",
            "href must be an absolute http, https or mailto address, not: /0/1",
        ),
        (
            "<body><a data-asana-gid=\"09\"/></body>",
            "must be a recognized ID, not: 09",
        ),
        (
            "<body><a data-asana-gid=\"9\">a</a></body>",
            "Unknown object: 9 in <a>; a link to an object you cannot see needs a href",
        ),
        (
            "<body><a data-asana-gid=\"9\" href=\"javascript:x\">a</a></body>",
            "Unknown object: 9",
        ),
    ] {
        let error = task(html).expect_err(html).to_string();
        assert!(
            error.contains(said),
            "{html}\n  says {error}\n  not  {said}"
        );
    }
    for (html, said) in [
        ("<body><table>a</table></body>", "text belongs into <td>"),
        (
            "<body><table><td>a</td></table></body>",
            "directly into <tr>",
        ),
        (
            "<body><table><tr><td onclick=\"x\">a</td></tr></table></body>",
            "which takes colspan, rowspan",
        ),
        (
            "<body><table><tr><td colspan=\"0\">a</td></tr></table></body>",
            "a number from 1 to 255",
        ),
        (
            "<body><img src=\"https://x.example/a.png\"/></body>",
            "Tag <img> needs a data-asana-gid",
        ),
        (
            "<body><img data-asana-gid=\"2\"/></body>",
            "must refer to an attachment",
        ),
        (
            "<body><img data-asana-gid=\"9\"/></body>",
            "Unknown object: 9 in <img>",
        ),
        (
            "<body><object data=\"https://x.example\"/></body>",
            "Attribute type must be application/vnd.asana",
        ),
    ] {
        let error = brief(html).expect_err(html).to_string();
        assert!(
            error.contains(said),
            "{html}\n  says {error}\n  not  {said}"
        );
    }
}

#[test]
fn nothing_that_runs_survives() {
    for attack in [
        "<script>alert(1)</script>",
        "<SCRIPT SRC=//x.example></SCRIPT>",
        "<img src=x onerror=alert(1)>",
        "<img data-asana-gid=\"3\" src=\"x\" onerror=\"alert(1)\"/>",
        "<svg onload=\"alert(1)\"/>",
        "<svg><animate onbegin=\"alert(1)\" attributeName=\"x\"/></svg>",
        "<math><mtext></mtext></math>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "<a href=\"JaVaScRiPt:alert(1)\">x</a>",
        "<a href=\" javascript:alert(1)\">x</a>",
        "<a href=\"java&#9;script:alert(1)\">x</a>",
        "<a href=\"java&#10;script:alert(1)\">x</a>",
        "<a href=\"&#1;javascript:alert(1)\">x</a>",
        "<a href=\"&#106;avascript:alert(1)\">x</a>",
        "<a href=\"data:text/html,x\">x</a>",
        "<a href=\"vbscript:x\">x</a>",
        "<a href=\"//x.example\">x</a>",
        "<a href=\"file:///etc/passwd\">x</a>",
        "<a href=\"blob:https://x.example/1\">x</a>",
        "<a href=\"http://[\">x</a>",
        "<a href=\"\">x</a>",
        "<a href=\"https://x.example\" onmouseover=\"alert(1)\" style=\"x\">x</a>",
        "<a href=\"https://x.example/&quot; onclick=&quot;alert(1)\">x</a>",
        "<a href=\"https://x.example\" ping=\"https://x.example\" rel=\"opener\">x</a>",
        "<a xlink:href=\"javascript:alert(1)\">x</a>",
        "<a data-asana-gid=\"1\" href=\"javascript:alert(1)\"/>",
        "<a data-asana-gid=\"9\" href=\"javascript:alert(1)\"/>",
        "<iframe src=\"https://x.example\"/>",
        "<object data=\"javascript:alert(1)\" type=\"text/html\"/>",
        "<object type=\"application/vnd.asana.external_media\" data-asana-gid=\"2\" data=\"data:text/html,x\"/>",
        "<embed src=\"x\"/>",
        "<form action=\"javascript:x\"/>",
        "<style>@import 'x';</style>",
        "<base href=\"x\"/>",
        "<meta http-equiv=\"refresh\" content=\"0\"/>",
        "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\"/></noscript>",
        "<strong onclick=\"alert(1)\">x</strong>",
        "<em style=\"background:url(javascript:x)\">x</em>",
        "<!--<img src=\"--><img src=x onerror=alert(1)//\">-->",
        "<![CDATA[<script>alert(1)</script>]]>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&#60;img src=x onerror=alert(1)&#62;",
        "</body><script>x</script>",
        "<code>&lt;/code&gt;&lt;script&gt;</code>",
        "<pre>\n\n&lt;script&gt;</pre>",
        "<x:script xmlns:x=\"http://www.w3.org/1999/xhtml\"/>",
    ] {
        for flavor in ALL {
            if let Ok(rich) = normalize(&format!("<body>{attack}</body>"), flavor, &objects) {
                check(&rich, flavor);
                assert!(
                    !rich.html.contains("<script") && !rich.html.contains("<img src"),
                    "{}",
                    rich.html
                );
            }
        }
    }
}

#[test]
fn plain_text_refuses_control_characters() {
    assert_eq!(
        clean_text("a\tb\nc é 😀"),
        Ok(Cow::Borrowed("a\tb\nc é 😀"))
    );
    assert_eq!(clean_text("a\r\nb\rc").unwrap(), "a\nb\nc");
    for c in [
        '\0', '\u{1}', '\u{e}', '\u{1b}', '\u{7f}', '\u{fffe}', '\u{ffff}',
    ] {
        assert_eq!(clean_text(&format!("a{c}b")), Err(RichError::Character(c)));
    }
    assert!(clean_text("\0").unwrap_err().to_string().contains("U+0000"));
}

#[test]
fn the_sanitiser_alone_would_stop_it_too() {
    for (html, left) in [
        ("a<script>x</script>", "a"),
        ("<p onclick=\"x\">a</p>", "a"),
        (
            "<strong onclick=\"x\" id=\"b\" title=\"c\">a</strong>",
            "<strong>a</strong>",
        ),
        ("<a href=\"javascript:x\">a</a>", "<a>a</a>"),
        ("<a href=\"/0/1\" rel=\"x\">a</a>", "<a>a</a>"),
        (
            "<a href=\"https://x.example\">a</a>",
            "<a href=\"https://x.example\">a</a>",
        ),
        ("<img src=\"data:x\" onerror=\"x\">", "<img>"),
        (
            "<object data=\"https://x.example\">a</object>",
            "<object>a</object>",
        ),
    ] {
        assert_eq!(allowed_tags::sanitise(html), left, "{html}");
    }
}
