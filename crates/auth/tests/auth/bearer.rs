//! The `Authorization` header, as a table.
use workgraph_auth::{BearerError, bearer};

/// B51. A token counts in one header, in one form.
#[test]
fn headers_and_what_they_hold() {
    use BearerError::{Empty, Missing, Repeated, Scheme, Spaced};
    let table: &[(&[&str], Result<&str, BearerError>)] = &[
        (&["Bearer abc"], Ok("abc")),
        (&["bearer abc"], Ok("abc")),
        (&["BEARER abc"], Ok("abc")),
        (&["bEaReR   abc"], Ok("abc")),
        (&[" Bearer abc\t"], Ok("abc")),
        (&["Bearer 0/ab:c.~+/=="], Ok("0/ab:c.~+/==")),
        (&["Bearer Bearer"], Ok("Bearer")),
        (&["Bearer é"], Ok("é")),
        (&[], Err(Missing)),
        (&[""], Err(Missing)),
        (&[" \t "], Err(Missing)),
        (&["Basic YTpi"], Err(Scheme)),
        (&["Digest username=\"a\", realm=\"b\""], Err(Scheme)),
        (&["abc"], Err(Scheme)),
        (&["Bearerabc"], Err(Scheme)),
        (&["Bearer\tabc"], Err(Scheme)),
        (&["Bearer:abc"], Err(Scheme)),
        (&["Bearers abc"], Err(Scheme)),
        (&["Bear abc"], Err(Scheme)),
        (&["Béarer abc"], Err(Scheme)),
        (&["Bearer"], Err(Empty)),
        (&["bearer  "], Err(Empty)),
        (&["Bearer abc def"], Err(Spaced)),
        (&["Bearer abc\tdef"], Err(Spaced)),
        (&["Bearer abc\u{a0}def"], Err(Spaced)),
        (&["Bearer \tabc"], Err(Spaced)),
        (&["Bearer Bearer abc"], Err(Spaced)),
        (&["Bearer abc, Bearer def"], Err(Spaced)),
        (&["Bearer abc", "Bearer def"], Err(Repeated)),
        (&["Bearer abc", "Bearer abc"], Err(Repeated)),
        (&["Bearer abc", ""], Err(Repeated)),
        (&["Basic YTpi", "Bearer abc"], Err(Repeated)),
    ];
    for (headers, expected) in table {
        assert_eq!(bearer(headers), *expected, "{headers:?}");
    }
}

/// B49. A client that sent no token gets no error code.
#[test]
fn only_a_botched_bearer_has_an_error_code() {
    use BearerError::{Empty, Missing, Repeated, Scheme, Spaced};
    for error in [Missing, Scheme] {
        assert_eq!(error.code(), None);
    }
    for error in [Empty, Spaced, Repeated] {
        assert_eq!(error.code(), Some("invalid_request"));
    }
}
