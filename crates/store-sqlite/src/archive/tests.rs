use super::names::ArchiveFile;

#[test]
fn names_are_read_as_they_are_written_and_sort_by_generation_and_number() {
    let (generation, number, at) = (1_700_000_000_000, 7, 1_700_000_000_123);
    let files = [
        ArchiveFile::Segment { generation, number },
        ArchiveFile::Snapshot {
            generation,
            number,
            at,
        },
        ArchiveFile::Database {
            generation,
            number,
            at,
        },
    ];
    for file in files {
        assert_eq!(ArchiveFile::parse(&file.name()), Some(file));
    }
    let later = ArchiveFile::Segment {
        generation,
        number: 10,
    };
    assert!(files[0].name() < later.name());
    for other in [
        "",
        "x/y",
        "1/2",
        "000000000000001/lost+found",
        "1/2.segment",
        "1/2.snapshot.json",
    ] {
        assert_eq!(ArchiveFile::parse(other), None, "{other}");
    }
}
