//! The XML of a bucket's replies, which has two levels below its root.
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::Event;

/// Reply of a bucket in XML, reduced to the elements of its root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct XmlReply {
    /// Name of the root element.
    pub(super) root: String,
    /// Elements in the root.
    pub(super) elements: Vec<XmlElement>,
}

/// Element in the root: a text, or a record of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct XmlElement {
    name: String,
    text: String,
    fields: Vec<(String, String)>,
}

impl XmlElement {
    /// Returns the text of a field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut named = self.fields.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, text)| text.as_str())
    }
}

impl XmlReply {
    /// Parses a reply; `None` if it is not complete XML.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        let mut reply = Self::default();
        let (mut depth, mut raw) = (0usize, String::new());
        loop {
            match reader.read_event().ok()? {
                Event::Start(start) => {
                    depth += 1;
                    raw.clear();
                    let name =
                        String::from_utf8_lossy(start.local_name().as_ref().as_ref()).into_owned();
                    match depth {
                        1 => reply.root = name,
                        2 => reply.elements.push(XmlElement {
                            name,
                            ..XmlElement::default()
                        }),
                        3 => {
                            let element = reply.elements.last_mut()?;
                            element.fields.push((name, String::new()));
                        }
                        _ => {}
                    }
                }
                Event::Text(text) => raw.push_str(&text),
                Event::GeneralRef(name) => {
                    raw.push('&');
                    raw.push_str(&name);
                    raw.push(';');
                }
                Event::End(_) => {
                    let text = unescape(&raw).ok()?.trim().to_owned();
                    raw.clear();
                    match depth {
                        2 => reply.elements.last_mut()?.text = text,
                        3 => reply.elements.last_mut()?.fields.last_mut()?.1 = text,
                        _ => {}
                    }
                    depth = depth.checked_sub(1)?;
                }
                Event::Eof => return (depth == 0 && !reply.root.is_empty()).then_some(reply),
                _ => {}
            }
        }
    }

    /// Returns the text of an element in the root.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let mut named = self.named(name);
        named.next().map(|element| element.text.as_str())
    }

    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &XmlElement> {
        self.elements
            .iter()
            .filter(move |element| element.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_records_are_read_by_their_names() {
        let text = "<?xml version=\"1.0\"?>\n<ListMultipartUploadsResult xmlns=\"http://s3.test/\">\
            <IsTruncated>true</IsTruncated><Prefix></Prefix><KeyMarker/>\
            <Upload><UploadId>a&amp;b&#34;c</UploadId><Owner><ID>7</ID></Owner><Key>4d/333</Key></Upload>\n\
            <Upload><Key>4d/589</Key><UploadId>d</UploadId></Upload></ListMultipartUploadsResult>";
        let reply = XmlReply::parse(text).unwrap();
        assert_eq!(reply.root, "ListMultipartUploadsResult");
        assert_eq!(reply.text("IsTruncated"), Some("true"));
        assert_eq!(reply.text("KeyMarker"), Some(""));
        assert_eq!(reply.text("NextKeyMarker"), None);
        let uploads: Vec<_> = reply
            .named("Upload")
            .map(|upload| {
                (
                    upload.field("Key").unwrap(),
                    upload.field("UploadId").unwrap(),
                )
            })
            .collect();
        assert_eq!(uploads, [("4d/333", "a&b\"c"), ("4d/589", "d")]);
    }

    #[test]
    fn what_is_not_whole_is_not_a_reply() {
        for text in [
            "",
            "busy",
            "<Error>",
            "<Error><Code>x</Code>",
            "</Error>",
            "<a>&nope;</a>",
        ] {
            assert_eq!(XmlReply::parse(text), None, "{text}");
        }
    }
}
