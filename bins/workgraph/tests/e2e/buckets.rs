//! Attachments in a bucket, through the real server and a real server of buckets.
use crate::attachments::{body, fetch, files, head, task, upload};
use crate::bucket_server::BucketServer;
use crate::common::{Folder, Server, WIDE, nodes, pause, run};

/// Returns the settings of a server whose files are in a bucket.
fn settings(bucket: &BucketServer) -> Vec<(&'static str, String)> {
    let wide = WIDE.iter().map(|(key, value)| (*key, (*value).to_owned()));
    wide.chain(bucket.settings()).collect()
}

fn start(folder: &Folder, settings: &[(&'static str, String)]) -> Server {
    let settings: Vec<(&str, &str)> = settings.iter().map(|(k, v)| (*k, v.as_str())).collect();
    Server::start(folder, &settings)
}

/// Waits until the bucket has so many objects and unfinished uploads.
fn await_counts(bucket: &BucketServer, objects: usize, unfinished: usize) {
    for _ in 0..200 {
        if bucket.contents().map(|keys| keys.len()) == [objects, unfinished] {
            return;
        }
        pause(50);
    }
    panic!("{:?}", bucket.contents());
}

/// Makes a backup, which has the database alone, and says so.
fn back_up(folder: &Folder, bucket: &BucketServer) {
    let copy = folder.path().join("copy.db");
    let mut arguments = vec!["backup".to_owned(), copy.to_str().unwrap().to_owned()];
    for (key, value) in bucket.settings() {
        arguments.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = run(folder, &arguments);
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.contains("not copied"),
        "{done:?}"
    );
    assert!(copy.exists() && !folder.path().join("copy.db.attachments").exists());
}

/// S280. S282. S284. S285. S907.
#[test]
fn files_in_a_bucket_come_back_and_nothing_stays_of_what_nobody_owns() {
    let folder = Folder::new("bucket");
    let place = folder.path().join("bucket");
    let Some(bucket) = BucketServer::start("attachments in a bucket", &place) else {
        return;
    };
    let settings = settings(&bucket);
    let mut server = start(&folder, &settings);
    let task = task(&server);
    let content: Vec<u8> = (0..20_000_000u32).map(|n| (n % 251) as u8).collect();
    let large = upload(&server, &task, "large.bin", &content);
    assert_eq!(large.status, 200, "{}", large.text());
    let large = large.json()["data"].clone();
    let small = upload(&server, &task, "small.txt", b"content").json()["data"].clone();
    await_counts(&bucket, 2, 0);
    assert_eq!(files(&folder), Vec::<String>::new());
    let mut connection = server.raw_connection();
    let whole = fetch(&mut connection, "GET", &large["download_url"], "");
    assert_eq!((whole.status, whole.body == content), (200, true));
    let policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'";
    for (name, value) in [
        ("content-disposition", "attachment; filename=\"large.bin\""),
        ("content-type", "application/octet-stream"),
        ("content-security-policy", policy),
    ] {
        assert_eq!(whole.header(name), Some(value), "{name}");
    }
    for (range, start, end) in [
        ("bytes=0-0", 0, 1),
        ("bytes=8388600-8388616", 8_388_600, 8_388_617),
        ("bytes=-5", 19_999_995, 20_000_000),
    ] {
        let headers = format!("Range: {range}\r\n");
        let part = fetch(&mut connection, "GET", &large["download_url"], &headers);
        let same = part.body == content[start..end];
        assert_eq!((part.status, same), (206, true), "{range}");
    }

    // One upload ends in the middle with its client, another with the server.
    let whole = body(&task, "cut.bin", &content);
    let cut = |server: &Server| {
        let mut connection = server.raw_connection();
        connection
            .send(head(server, whole.len()).as_bytes())
            .unwrap();
        connection.send(&whole[..18_000_000]).unwrap();
        await_counts(&bucket, 2, 1);
        connection
    };
    drop(cut(&server));
    await_counts(&bucket, 2, 0);
    // Several nodes keep what another of them began for a day, and their database has backups of its own.
    if nodes() == 1 {
        let _connection = cut(&server);
        server.kill();
        await_counts(&bucket, 2, 1);
        server = start(&folder, &settings);
        await_counts(&bucket, 2, 0);

        // A deletion leaves the file to the sweep of the next start.
        let path = format!("/attachments/{}", large["gid"].as_str().unwrap());
        server.data("DELETE", &path, None);
        await_counts(&bucket, 2, 0);
        server.stop();
        server = start(&folder, &settings);
        await_counts(&bucket, 1, 0);
        back_up(&folder, &bucket);
    }
    let path = format!("/attachments/{}", small["gid"].as_str().unwrap());
    let small = server.data("GET", &path, None);
    let file = fetch(
        &mut server.raw_connection(),
        "GET",
        &small["download_url"],
        "",
    );
    assert_eq!((file.status, &*file.body), (200, &b"content"[..]));

    // Another server does not start with this bucket.
    let other = Folder::new("bucket-other");
    let mut arguments = vec![
        "serve".to_owned(),
        "--listen".to_owned(),
        "127.0.0.1:0".to_owned(),
    ];
    for (key, value) in bucket.settings() {
        arguments.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let refused = run(&other, &arguments);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("another server"),
        "{refused:?}"
    );

    // While the bucket is gone, uploads and downloads fail, and everything else goes on.
    drop(bucket);
    let refused = upload(&server, &task, "late.txt", b"content");
    assert_eq!(refused.status, 500, "{}", refused.text());
    let small = server.data("GET", &path, None);
    let refused = fetch(
        &mut server.raw_connection(),
        "GET",
        &small["download_url"],
        "",
    );
    assert_eq!(refused.status, 503, "{}", refused.text());
}
