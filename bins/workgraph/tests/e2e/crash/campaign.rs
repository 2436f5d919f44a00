//! Kills at random instants, and the conditions that must hold after each.
use super::comparison::Rest;
use super::*;
use crate::common::is_about_one_node;

/// Counts over all kills.
#[derive(Debug, Default)]
struct Sum {
    acknowledged: usize,
    under_way: usize,
    took_effect: usize,
}

/// Lets the writers write and ends the server at a moment that the seed decides.
fn strike(
    scene: &Scene,
    diaries: &mut [Diary],
    random: &mut Seeded,
    label: &str,
    end: impl FnOnce(),
) {
    let (acks, heard) = mpsc::channel();
    let (moment, spins) = (1 + random.below(60), random.below(40_000));
    let hands: Vec<_> = diaries
        .iter_mut()
        .enumerate()
        .map(|(number, diary)| {
            let (scene, diary, acks) = (scene.clone(), std::mem::take(diary), acks.clone());
            let (random, label) = (Seeded(random.next()), format!("{label}-{number}"));
            thread::spawn(move || scene.write(diary, random, &label, usize::MAX, &acks))
        })
        .collect();
    drop(acks);
    // This ends early only if every writer met something unexpected, which join reports.
    let _acknowledged = heard.iter().take(moment).count();
    let spun = Arc::new(AtomicU32::new(0));
    for _ in 0..spins {
        spun.fetch_add(1, Ordering::Relaxed);
    }
    end();
    for (diary, hand) in diaries.iter_mut().zip(hands) {
        *diary = hand.join().unwrap();
    }
}

/// Kills a server on one folder the given number of times.
fn campaign(seed: u64, first: usize, points: usize, sum: &mut Sum) {
    let folder = Folder::new("crash");
    let settings = [WIDE, &[("walk_cap", "0"), ("http.drain_timeout", "1s")]].concat();
    let mut server = Server::start(&folder, &settings);
    let mut past: Vec<(Scene, Vec<Diary>)> = Vec::new();
    let mut scene = Scene::new(&server, "Kill 0");
    let mut diaries = vec![Diary::default(); WRITERS];
    for point in first..first + points {
        let mut random = Seeded(seed.wrapping_mul(1_000_003).wrapping_add(point as u64));
        if point > first && (point - first).is_multiple_of(PER_PROJECT) {
            let next = Scene::new(&server, &format!("Kill {point}"));
            past.push((
                std::mem::replace(&mut scene, next),
                std::mem::replace(&mut diaries, vec![Diary::default(); WRITERS]),
            ));
        }
        for task in diaries.iter_mut().flat_map(|d| &mut d.tasks) {
            task.touched = false;
        }
        strike(
            &scene,
            &mut diaries,
            &mut random,
            &point.to_string(),
            || server.kill(),
        );
        let check = run(&folder, &["check"]);
        assert!(
            check.status.success(),
            "seed {seed}, kill {point}: check: {check:?}"
        );
        server = Server::start(&folder, &settings);
        scene.port = server.port;
        let mut rest = Rest::read(&scene);
        for diary in &mut diaries {
            sum.acknowledged += std::mem::take(&mut diary.acknowledged);
            sum.under_way += usize::from(diary.open.is_some());
            sum.took_effect += usize::from(rest.settle(diary));
        }
        rest.compare_all(&diaries);
        fail(seed, point, &rest.complaints);
    }
    past.push((scene, diaries));
    for (mut scene, mut diaries) in past {
        scene.port = server.port;
        for task in diaries.iter_mut().flat_map(|d| &mut d.tasks) {
            task.touched = true;
        }
        let mut rest = Rest::read(&scene);
        rest.compare_all(&diaries);
        fail(seed, first + points, &rest.complaints);
    }
    assert_eq!(
        server.stop(),
        Some(0),
        "the server ends by itself in the end"
    );
    let check = run(&folder, &["check"]);
    assert!(
        check.status.success(),
        "seed {seed}: check in the end: {check:?}"
    );
}

fn fail(seed: u64, point: usize, complaints: &[String]) {
    if !complaints.is_empty() {
        let list = complaints.iter().fold(String::new(), |mut out, c| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {c}");
            out
        });
        panic!(
            "seed {seed}, kill {point}: {} writes are lost or half applied:\n{list}",
            complaints.len()
        );
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |v| {
        v.parse()
            .unwrap_or_else(|_| panic!("{name}: not a number: {v}"))
    })
}

/// B67. An object is there with its history and its places, or not at all.
#[test]
fn acknowledged_writes_survive_sigkill_and_no_change_is_half_applied() {
    if is_about_one_node("the file of SQLite after SIGKILL; PostgreSQL keeps its own") {
        return;
    }
    let seed = setting("WORKGRAPH_KILL_SEED", 1);
    let points = usize::try_from(setting("WORKGRAPH_KILL_POINTS", 12)).unwrap();
    let (began, mut sum) = (clock(), Sum::default());
    for first in (0..points).step_by(PER_FOLDER) {
        campaign(seed, first, PER_FOLDER.min(points - first), &mut sum);
        // Not through a macro, whose output would only be seen of a failed test.
        let _shown = writeln!(
            std::io::stderr(),
            "seed {seed}: {} of {points} kills, {} writes acknowledged, 0 lost; {} under way, {} of them there as a whole, none in part; {:.1} s",
            (first + PER_FOLDER).min(points),
            sum.acknowledged,
            sum.under_way,
            sum.took_effect,
            began.elapsed().as_secs_f64(),
        );
    }
    assert!(sum.acknowledged >= points, "{sum:?}");
}

#[test]
fn a_stop_answers_what_was_begun() {
    if is_about_one_node("the end of one process") {
        return;
    }
    let folder = Folder::new("stop");
    let mut server = Server::start(&folder, WIDE);
    let mut scene = Scene::new(&server, "Stop");
    for round in 0..3 {
        let mut diaries = vec![Diary::default(); WRITERS];
        let mut code = None;
        strike(
            &scene,
            &mut diaries,
            &mut Seeded(round),
            &round.to_string(),
            || code = server.stop(),
        );
        assert_eq!(code, Some(0), "round {round}: {}", folder.log());
        server = Server::start(&folder, WIDE);
        scene.port = server.port;
        let mut rest = Rest::read(&scene);
        for diary in &mut diaries {
            // Bytes that were sent when the connection was closed were not read, so they have no effect.
            assert!(
                !rest.settle(diary),
                "round {round}: a write took effect and was not answered"
            );
        }
        rest.compare_all(&diaries);
        fail(round, 0, &rest.complaints);
        scene = Scene::new(&server, "Stop again");
    }
}

#[test]
fn a_first_start_that_was_killed_is_whole_or_refused() {
    if is_about_one_node("the files of a first start") {
        return;
    }
    let (mut whole, mut refused) = (0, 0);
    for round in 0..8u64 {
        let folder = Folder::new("first");
        let mut child = Server::spawn(command(&binary()), &folder, WIDE);
        pause(Seeded(round).next() % 150);
        child.kill().unwrap();
        child.wait().unwrap();
        let second = Server::spawn(command(&binary()), &folder, WIDE);
        match Server::wait(second, &folder) {
            Ok(mut server) => {
                let path = format!("/projects?workspace={}", server.workspace("paid"));
                assert_eq!(
                    server.data("GET", &path, None).as_array().unwrap().len(),
                    2,
                    "round {round}"
                );
                assert!(
                    server.token().len() > 20 && server.demo("/free_token").len() > 20,
                    "round {round}"
                );
                assert_eq!(server.stop(), Some(0));
                let check = run(&folder, &["check"]);
                assert!(check.status.success(), "round {round}: {check:?}");
                whole += 1;
            }
            Err(status) => {
                assert_eq!(status.code(), Some(1), "round {round}: {}", folder.log());
                assert!(
                    folder.log().contains("broken off"),
                    "round {round}: {}",
                    folder.log()
                );
                refused += 1;
            }
        }
    }
    assert_eq!(whole + refused, 8);
}

/// A flaw: its name, the number of the task, and the change that makes it.
type Flaw = (&'static str, usize, fn(&mut Task));

#[test]
fn the_comparison_notices_whatever_is_lost_or_half_applied() {
    let folder = Folder::new("twin");
    let server = Server::start(&folder, WIDE);
    let scene = Scene::new(&server, "Twin");
    let (acks, _heard) = mpsc::channel();
    let diary = scene.write(Diary::default(), Seeded(3), "twin", 60, &acks);
    assert_eq!(diary.acknowledged, 60);
    let complaints = |diary: Diary| {
        let mut rest = Rest::read(&scene);
        rest.compare_all(&[diary]);
        rest.complaints.len()
    };
    assert_eq!(complaints(diary.clone()), 0, "what was written is there");
    let at = diary
        .tasks
        .iter()
        .position(|t| !t.deleted && !t.comments.is_empty())
        .unwrap();
    let gone = diary.tasks.iter().position(|t| t.deleted).unwrap();
    let flaws: &[Flaw] = &[
        ("a lost task", at, |t| t.gid.push('1')),
        ("a lost name", at, |t| t.name.push('x')),
        ("lost notes", at, |t| t.notes.push('x')),
        ("a lost date", at, |t| t.due_on.push('x')),
        ("a lost completion", at, |t| t.completed = !t.completed),
        ("a lost move", at, |t| t.section.push('1')),
        ("a lost comment", at, |t| t.comments.push("lost".to_owned())),
        ("half a comment", at, |t| t.comments.clear()),
        ("a name without its story", at, |t| t.stories.renamed += 1),
        ("notes without their story", at, |t| {
            t.stories.described += 1
        }),
        ("a date without its story", at, |t| t.stories.dated += 1),
        ("a completion without its story", at, |t| {
            t.stories.marked += 1
        }),
        ("a lost deletion", at, |t| t.deleted = true),
        ("a deletion too many", gone, |t| t.deleted = false),
    ];
    for (flaw, at, change) in flaws {
        let mut flawed = diary.clone();
        change(&mut flawed.tasks[*at]);
        assert!(complaints(flawed) > 0, "{flaw} is not noticed");
    }
    let mut flawed = diary;
    flawed.tasks.remove(at);
    assert!(
        complaints(flawed) > 0,
        "a task that nobody made is not noticed"
    );
}
