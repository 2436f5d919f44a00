//! Tests of the multipart reader.

use super::*;

fn read<'a>(body: &'a str) -> Result<Multipart<'a>, MultipartError> {
    parse(body.as_bytes(), "b0", Limits::default())
}

fn one(headers: &str) -> Result<Part<'static>, MultipartError> {
    let body = format!("--b0\r\n{headers}\r\n\r\nx\r\n--b0--\r\n");
    let part = read(&body)?.parts.remove(0);
    Ok(Part {
        name: part.name,
        filename: part.filename,
        content_type: None,
        bytes: b"x",
    })
}

fn filename(param: &str) -> Option<String> {
    one(&format!(
        "Content-Disposition: form-data; name=\"file\"; {param}"
    ))
    .unwrap()
    .filename
}

#[test]
fn parts_come_in_order_with_their_bytes() {
    let body = "--b0\r\nContent-Disposition: form-data; name=\"parent\"\r\n\r\n123\r\n--b0\r\n\
                content-disposition: form-data; name=file; filename=\"a b.txt\"\r\nContent-Type: text/plain\r\n\r\n\
                line\r\n--b\r\n\r\n\r\n--b0\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--b0--\r\n";
    let form = read(body).unwrap();
    let names: Vec<_> = form
        .parts
        .iter()
        .map(|p| (p.name.as_str(), p.bytes))
        .collect();
    assert_eq!(
        names,
        [
            ("parent", &b"123"[..]),
            ("file", b"line\r\n--b\r\n\r\n"),
            ("empty", b"")
        ]
    );
    let file = form.get("file").unwrap().unwrap();
    assert_eq!(
        (file.filename.as_deref(), file.content_type),
        (Some("a b.txt"), Some("text/plain"))
    );
    assert_eq!(form.get("other"), Ok(None));
    assert_eq!(read("--b0--").unwrap().parts, []);
    assert_eq!(read("\r\n--b0--\r\n").unwrap().parts, []);
}

#[test]
fn a_repeated_part_is_refused_when_one_is_wanted() {
    let part = "--b0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
    let body = format!("{part}{part}--b0--");
    assert_eq!(
        read(&body).unwrap().get("a").unwrap_err().to_string(),
        "a: given twice"
    );
}

#[test]
fn framing_is_strict() {
    let head = "Content-Disposition: form-data; name=\"a\"\r\n\r\n1";
    for body in [
        String::new(),
        "preamble\r\n--b0--".to_owned(),
        format!("--b0\r\n{head}"),
        format!("--b0\r\n{head}\r\n--b0"),
        format!("--b0\r\n{head}\r\n--b0-"),
        format!("--b0\r\n{head}\r\n--b0--\r\nmore"),
        format!("--b0\r\n{head}\r\n--b01--"),
        format!("--b0 \r\n{head}\r\n--b0--"),
        format!("--b0\n{head}\n--b0--"),
        format!("--b1\r\n{head}\r\n--b1--"),
        "--b0\r\nContent-Disposition: form-data; name=\"a\"".to_owned(),
    ] {
        assert_eq!(read(&body), Err(MultipartError::Framing), "{body:?}");
    }
}

#[test]
fn headers_are_strict() {
    let named = "Content-Disposition: form-data; name=\"a\"";
    for headers in [
        "X-Other: 1".to_owned(),
        "Content-Disposition: form-data".to_owned(),
        "Content-Disposition: attachment; name=\"a\"".to_owned(),
        "Content-Disposition: form-data; name=\"a".to_owned(),
        "Content-Disposition: form-data; name=\"a\"; name=\"b\"".to_owned(),
        "Content-Disposition: form-data; name=\"a\" junk".to_owned(),
        "Content-Disposition : form-data; name=\"a\"".to_owned(),
        "Content-Disposition: form-data;\r\n name=\"a\"".to_owned(),
        "Content-Disposition: form-data; name=\"a\0\"".to_owned(),
        "Content-Disposition: form-data; name=\"a\"; filename=\"a%00b\u{7f}\"".to_owned(),
        "Content-Disposition: form-data; name=\"a\"; filename=\"a%0d%0ab\"".to_owned(),
        "Content-Disposition: form-data; name=\"a\"; filename*=latin1''a".to_owned(),
        "Content-Disposition: form-data; name=\"a\"; filename*=UTF-8''%ff".to_owned(),
        format!("{named}\r\n{named}"),
        format!("{named}\r\nContent-Transfer-Encoding: base64"),
    ] {
        assert_eq!(one(&headers), Err(MultipartError::Header), "{headers:?}");
    }
    assert!(one(&format!("{named}\r\nContent-Transfer-Encoding: Binary")).is_ok());
}

#[test]
fn file_names_are_decoded_and_lose_their_directories() {
    for (param, expected) in [
        ("filename=\"plain.txt\"", "plain.txt"),
        ("filename=plain.txt", "plain.txt"),
        ("filename=\"\"", ""),
        ("filename=\"r\u{e9}sum\u{e9}.pdf\"", "r\u{e9}sum\u{e9}.pdf"),
        ("filename=\"r%C3%A9sum%C3%A9.pdf\"", "r\u{e9}sum\u{e9}.pdf"),
        ("filename=\"100% sure+.txt\"", "100% sure+.txt"),
        ("filename=\"say \\\"hi\\\".txt\"", "say \"hi\".txt"),
        ("filename=\"say %22hi%22.txt\"", "say \"hi\".txt"),
        ("filename=\"semi;colon=.txt\"", "semi;colon=.txt"),
        ("filename=\"C:\\docs\\new.txt\"", "new.txt"),
        ("filename=\"../../etc/passwd\"", "passwd"),
        ("filename=\"..%2f..\"", ""),
        (
            "filename=\"a.txt\"; filename*=UTF-8''%e2%82%ac%20rates",
            "\u{20ac} rates",
        ),
        ("filename*=utf-8'en'b.txt; filename=\"a.txt\"", "b.txt"),
    ] {
        assert_eq!(filename(param).as_deref(), Some(expected), "{param}");
    }
}

#[test]
fn limits_hold_at_their_edges() {
    let part = "--b0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
    let body = format!("{part}{part}--b0--");
    let limits = |parts, header| Limits { parts, header };
    let header = "Content-Disposition: form-data; name=\"a\"\r\n".len();
    assert!(parse(body.as_bytes(), "b0", limits(2, header)).is_ok());
    assert_eq!(
        parse(body.as_bytes(), "b0", limits(1, header)),
        Err(MultipartError::TooManyParts)
    );
    assert_eq!(
        parse(body.as_bytes(), "b0", limits(2, header - 1)),
        Err(MultipartError::HeaderTooLong)
    );
    assert_eq!(
        parse(body.as_bytes(), "b0", limits(2, 0)),
        Err(MultipartError::HeaderTooLong)
    );
}

#[test]
fn boundaries_come_from_the_content_type() {
    for (text, expected) in [
        (
            "multipart/form-data; boundary=----WebKitFormBoundaryAbC",
            "----WebKitFormBoundaryAbC",
        ),
        ("Multipart/Form-Data;boundary=\"a b\"; charset=utf-8", "a b"),
        ("multipart/form-data; charset=utf-8; BOUNDARY=x", "x"),
        ("multipart/form-data; boundary===x==", "==x=="),
    ] {
        assert_eq!(boundary(text).as_deref(), Ok(expected), "{text}");
    }
    let long = format!("multipart/form-data; boundary={}", "a".repeat(71));
    for text in [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"a \"",
        "multipart/form-data; boundary=\"a\r\nb\"",
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/mixed; boundary=a",
        "application/json",
        "",
        &long,
    ] {
        assert_eq!(boundary(text), Err(MultipartError::ContentType), "{text}");
    }
    assert_eq!(
        (
            MultipartError::ContentType.status(),
            MultipartError::Framing.status()
        ),
        (415, 400)
    );
}
