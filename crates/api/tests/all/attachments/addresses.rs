//! Signed addresses of files: for whom and how long they are good.
use super::{file_part, parent, upload};
use crate::world::{KINDS, Kind, World};
use serde_json::json;

/// Returns the path below that of all files, and the query, of the address of a file.
fn parts(url: &serde_json::Value) -> (String, String) {
    let url = url.as_str().unwrap();
    let below = url.strip_prefix("https://work.test/-/attachments/");
    let (path, query) = below.unwrap().split_once('?').unwrap();
    (path.to_owned(), query.to_owned())
}

/// S243.
#[test]
fn an_address_is_good_for_two_minutes_and_for_its_file_and_name_alone() {
    let world = World::new(Kind::Memory);
    let attached = |name: &str| {
        let answer = world.send(upload(
            &world,
            &[parent(&world), file_part(name, "content")],
        ));
        answer.json["data"].clone()
    };
    let (page, image) = (attached("page.html"), attached("image.png"));
    assert_eq!(page["view_url"], json!(null));
    let admit = |(path, query): &(String, String)| world.api.admit_attachment_download(path, query);
    let (download, view) = (parts(&page["download_url"]), parts(&image["view_url"]));
    let admitted = admit(&download).unwrap();
    assert_eq!(admitted.file.to_string(), page["gid"]);
    assert_eq!(admitted.media_type, "application/octet-stream");
    assert_eq!(
        admitted.content_disposition,
        "attachment; filename=\"page.html\""
    );
    let shown = admit(&view).unwrap();
    assert_eq!(shown.media_type, "image/png");
    assert_eq!(shown.content_disposition, "inline; filename=\"image.png\"");
    let ticket = download.1.strip_prefix("ticket=").unwrap();
    for (path, query) in [
        (view.0.clone(), download.1.clone()),
        (download.0.replace("html", "png"), download.1.clone()),
        (download.0.clone(), format!("view={ticket}")),
        (download.0.clone(), String::new()),
        (download.0.clone(), "ticket=".to_owned()),
        (download.0.clone(), format!("ticket={ticket}&x=1")),
        // For another user, or another attachment.
        (download.0.clone(), format!("ticket=1{ticket}")),
        (
            download.0.clone(),
            format!("ticket={}", ticket.replacen("-0.", "-1.", 1)),
        ),
        (page["gid"].as_str().unwrap().to_owned(), download.1.clone()),
    ] {
        assert!(admit(&(path.clone(), query)).is_err(), "{path}");
    }
    world.advance(119);
    assert!(admit(&download).is_ok());
    world.advance(1);
    assert!(admit(&download).is_err());
    let again = world.get(
        "ada",
        &format!("/attachments/{}", page["gid"].as_str().unwrap()),
    );
    assert!(admit(&parts(&again.json["data"]["download_url"])).is_ok());
}

/// S243. An address lives for minutes; what it leads to may not.
#[test]
fn an_address_leads_nowhere_once_its_viewer_does_not_see_the_attachment() {
    let world = World::new(Kind::Memory);
    let made = world.send(upload(
        &world,
        &[parent(&world), file_part("a.txt", "content")],
    ));
    let can_see = || {
        let shown = world.get("ada", &format!("/attachments/{}", made.gid()));
        let (path, query) = parts(&shown.json["data"]["download_url"]);
        world.api.admit_attachment_download(&path, &query).unwrap()
    };
    let admitted = can_see();
    let still = || world.run(world.api.can_still_see(&admitted)).unwrap();
    assert!(still());
    let path = format!("/attachments/{}", made.gid());
    let deleted = world.call("ada", "DELETE", &path, &json!(null));
    assert_eq!(deleted.status, 200);
    assert!(!still());
}

/// S243.
#[test]
fn an_address_of_a_disabled_account_leads_nowhere() {
    for kind in KINDS {
        let world = World::new(kind);
        let made = world.send(upload(
            &world,
            &[parent(&world), file_part("a.txt", "content")],
        ));
        let see = |reader: &str| {
            let shown = world.get(reader, &format!("/attachments/{}", made.gid()));
            let (path, query) = parts(&shown.json["data"]["download_url"]);
            world.api.admit_attachment_download(&path, &query).unwrap()
        };
        let (adas, mels, robots) = (see("ada"), see("mel"), see("robot"));
        let still = |admitted| world.run(world.api.can_still_see(admitted)).unwrap();
        assert!(still(&adas) && still(&mels) && still(&robots));
        let disable = |name: &str| {
            let (user, now) = (world.gid(name).get(), world.now());
            world
                .run(world.tokens.set_disabled(user, true, now))
                .unwrap();
        };
        disable("mel");
        assert!(still(&adas) && !still(&mels) && still(&robots));
        disable("robot");
        assert!(still(&adas) && !still(&robots));
    }
}
