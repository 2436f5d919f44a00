//! Rich text as sent by published clients.
use super::*;

#[test]
fn what_shipped_writers_send_is_read_in_every_profile() {
    for (html, stored) in [
        (
            "<BODY><A HREF=\"https://x.example/A\">Here</A></BODY>",
            "<body><a href=\"https://x.example/A\">Here</a></body>",
        ),
        (
            "<body><b>a</b> <i>b</i> <B>c</B></body>",
            "<body><strong>a</strong> <em>b</em> <strong>c</strong></body>",
        ),
        ("<body>a<hr/>b<HR/></body>", "<body>a<hr/>b<hr/></body>"),
        (
            "<body>a&nbsp;b &euro; &hellip; A &lt;B&gt;</body>",
            "<body>a\u{a0}b € … A &lt;B&gt;</body>",
        ),
        (
            "<body><a href=\"https://x.example/?a&amp;b&eacute;\">x</a></body>",
            "<body><a href=\"https://x.example/?a&amp;bé\">x</a></body>",
        ),
        ("<body>a\u{b}b\u{c}</body>", "<body>ab</body>"),
    ] {
        for flavor in ALL {
            let rich = normalize(html, flavor, &objects).unwrap();
            assert_eq!(rich.html, stored, "{html}");
            check(&rich, flavor);
        }
    }
}

#[test]
fn what_can_be_read_in_two_ways_stays_refused() {
    for html in [
        "<body><a href=\"https://x.example\"><A href=\"https://y.example\">x</A></a></body>",
        "<body><a href=\"https://x.example\" HREF=\"https://y.example\">x</a></body>",
        "<body><b>a</strong></body>",
        "<body>&NBSP;</body>",
        "<body>&#11;</body>",
    ] {
        for flavor in ALL {
            assert!(normalize(html, flavor, &objects).is_err(), "{html}");
        }
    }
}

#[test]
fn vertical_tabs_and_form_feeds_are_left_out_of_plain_texts() {
    assert_eq!(clean_text("a\u{b}b\u{c}\r\nc").as_deref(), Ok("ab\nc"));
    assert!(clean_text("a\u{1}").is_err());
}
