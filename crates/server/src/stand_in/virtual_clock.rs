//! The clock of a test world: it is frozen until a test moves it, or runs on from the time that it shows.
use crate::adapters::system_clock::WallClock;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_api::Clock;

/// Clock that a test moves. It never goes back.
pub(crate) struct VirtualClock {
    /// Clock of the machine, which measures how far a running clock has come.
    machine: Arc<WallClock>,
    state: Mutex<VirtualTime>,
}

#[derive(Clone, Copy)]
struct VirtualTime {
    /// Time that the clock showed when it was last moved, started or stopped.
    shown: SystemTime,
    /// Time of the machine's clock at that moment, if the clock runs.
    running_since: Option<Duration>,
}

impl VirtualTime {
    fn now(&self, uptime: Duration) -> SystemTime {
        let since = self.running_since;
        let ran = since.map_or(Duration::ZERO, |since| uptime.saturating_sub(since));
        self.shown.checked_add(ran).unwrap_or(self.shown)
    }
}

impl VirtualClock {
    /// Returns a frozen clock that shows a time.
    pub(crate) fn new(machine: Arc<WallClock>, shown: SystemTime) -> Self {
        Self {
            machine,
            state: Mutex::new(VirtualTime {
                shown,
                running_since: None,
            }),
        }
    }

    /// Returns true if the clock runs.
    pub(crate) fn is_running(&self) -> bool {
        self.state.lock().running_since.is_some()
    }

    /// Returns the name of its mode.
    pub(crate) fn mode(&self) -> &'static str {
        if self.is_running() {
            "running"
        } else {
            "frozen"
        }
    }

    /// Starts the clock, or freezes it.
    pub(crate) fn set_running(&self, is_running: bool) {
        let uptime = self.machine.uptime();
        let mut state = self.state.lock();
        *state = VirtualTime {
            shown: state.now(uptime),
            running_since: is_running.then_some(uptime),
        };
    }

    /// Moves the clock forward to a time; an earlier one changes nothing.
    pub(crate) fn move_to(&self, time: SystemTime) {
        let uptime = self.machine.uptime();
        let mut state = self.state.lock();
        if time > state.now(uptime) {
            let running_since = state.running_since.map(|_| uptime);
            *state = VirtualTime {
                shown: time,
                running_since,
            };
        }
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> SystemTime {
        let state = *self.state.lock();
        match state.running_since {
            None => state.shown,
            Some(_) => state.now(self.machine.uptime()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn a_clock_moves_only_forward_and_only_if_it_is_moved_or_runs() {
        let start = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let clock = VirtualClock::new(Arc::new(WallClock::start()), start);
        assert_eq!((clock.now(), clock.is_running()), (start, false));
        let later = start + Duration::from_secs(90_000);
        clock.move_to(later);
        clock.move_to(start);
        assert_eq!(clock.now(), later);
        clock.set_running(true);
        let first = clock.now();
        assert!(clock.is_running() && first >= later);
        clock.move_to(later + Duration::from_secs(3600));
        assert!(clock.is_running() && clock.now() >= later + Duration::from_secs(3600));
        clock.set_running(false);
        assert_eq!(clock.now(), clock.now());
    }
}
