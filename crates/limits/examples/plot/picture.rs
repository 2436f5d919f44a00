//! The plot: admissions of four clients over five minutes, each with a quota of 150 a minute.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_limits::laws::{LawLimiter, LawRequest, LawSettings, RateQuota, RequestClass};

const MINUTES: u64 = 5;
const QUOTA: u32 = 150;

/// Maximum number of admitted requests of a client.
const MOST: u64 = MINUTES * QUOTA as u64;

/// The drawing area, in pixels.
const LEFT: u64 = 60;
const TOP: u64 = 50;
const WIDTH: u64 = 540;
const HEIGHT: u64 = 300;

/// Habit of a client: the times of its requests.
#[derive(Clone, Copy)]
enum Habit {
    /// As fast as it can, every 10 ms; when refused, it waits as long as the refusal says.
    Obeys,
    /// A request each time this many milliseconds have passed, whatever the answer.
    Every(u64),
}

const CLIENTS: [(Habit, &str, &str); 4] = [
    (Habit::Obeys, "#1a7f37", "waits as Retry-After says"),
    (Habit::Every(400), "#0969da", "one request every 400 ms"),
    (Habit::Every(200), "#bc4c00", "five a second, never waits"),
    (Habit::Every(20), "#a40e26", "fifty a second, never waits"),
];

/// Returns the plot, as an SVG document.
pub(crate) fn svg() -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 410\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"860\" height=\"410\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"16\" fill=\"#1f2328\">\
         Requests admitted, with a quota of {QUOTA} a minute</text>\n"
    );
    // Writing to a String cannot fail.
    for minute in 0..=MINUTES {
        let (x, bottom) = (across(minute * 60_000), TOP + HEIGHT);
        let _ = writeln!(
            out,
            "<path d=\"M{x} {TOP}V{bottom}\" stroke=\"#d0d7de\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#59636e\">{minute} min</text>",
            bottom + 20
        );
    }
    for count in (0..=MOST).step_by(QUOTA as usize) {
        let y = down(count);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {y}H{}\" stroke=\"#d0d7de\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#59636e\">{count}</text>",
            LEFT + WIDTH,
            LEFT - 8,
            y + 4
        );
    }
    let mut label = TOP;
    for (number, (habit, colour, name)) in CLIENTS.into_iter().enumerate() {
        let admitted = admissions(habit);
        let mut path = format!("M{LEFT} {}", down(0));
        let mut drawn = (LEFT, down(0));
        for (count, at) in (1..).zip(&admitted) {
            let point = (across(*at), down(count));
            if point != drawn {
                let _ = write!(path, "H{}V{}", point.0, point.1);
                drawn = point;
            }
        }
        let total = admitted.len() as u64;
        // Equal totals would be written over each other.
        let y = down(total).max(label);
        label = y + 34;
        let _ = writeln!(
            out,
            "<path d=\"{path}H{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{}/>\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}:<tspan x=\"{}\" dy=\"16\">{total} admitted</tspan></text>",
            LEFT + WIDTH,
            // The last two curves overlap.
            if number == 3 {
                " stroke-dasharray=\"6 6\""
            } else {
                ""
            },
            LEFT + WIDTH + 10,
            y + 4,
            LEFT + WIDTH + 10,
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Returns the times at which a client's requests are admitted, in milliseconds from its start.
fn admissions(habit: Habit) -> Vec<u64> {
    let limiter = LawLimiter::new(LawSettings::default());
    let request = LawRequest {
        key: [1; 16],
        class: RequestClass::Read,
        rate: RateQuota::Standard { quota: QUOTA },
        weight: 1,
    };
    let (mut now, mut admitted) = (0, Vec::new());
    while now < MINUTES * 60_000 {
        match (limiter.admit(&request, time(now)).map(drop), habit) {
            (Ok(()), _) => {
                admitted.push(now);
                now += if let Habit::Every(pause) = habit {
                    pause
                } else {
                    10
                };
            }
            (Err(refusal), Habit::Obeys) => now += refusal.retry_after * 1_000,
            (Err(_), Habit::Every(pause)) => now += pause,
        }
    }
    admitted
}

fn time(now: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(now)
}

fn across(now: u64) -> u64 {
    LEFT + now * WIDTH / (MINUTES * 60_000)
}

fn down(count: u64) -> u64 {
    TOP + HEIGHT - count * HEIGHT / MOST
}
