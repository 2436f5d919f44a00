//! Values that tests read from pages.

/// Returns the hidden fields of a page's forms.
pub(crate) fn hidden(page: &str) -> Vec<(String, String)> {
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
        let value = rest.split('"').next()?;
        let plain = [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&amp;", "&"),
        ];
        Some(
            plain
                .iter()
                .fold(value.to_owned(), |text, (from, to)| text.replace(from, to)),
        )
    };
    page.split("<input")
        .skip(1)
        .filter_map(|rest| rest.split('>').next())
        .filter(|tag| tag.contains("type=\"hidden\""))
        .map(|tag| {
            (
                attribute(tag, "name").unwrap(),
                attribute(tag, "value").unwrap_or_default(),
            )
        })
        .collect()
}

/// Returns the value of a metric.
pub(crate) fn metric(page: &str, name: &str) -> u64 {
    let mut lines = page.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value
        .unwrap_or_else(|| panic!("no {name} in {page}"))
        .parse()
        .unwrap()
}
