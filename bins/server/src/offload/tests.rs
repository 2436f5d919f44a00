use super::*;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use tokio::sync::oneshot;
use workgraph_core::{Interrupt, Interrupted};

const LONG: Duration = Duration::from_secs(60);

fn name() -> Option<String> {
    std::thread::current().name().map(str::to_owned)
}

/// Takes steps until it is stopped, and gives the reason.
fn endless(watch: &Watch) -> Interrupted {
    loop {
        if let Err(why) = watch.check(4_096) {
            return why;
        }
        std::thread::yield_now();
    }
}

async fn allowed(watch: &Watch) {
    std::future::poll_fn(|_| watch.poll_allowed()).await;
}

/// S101.
#[tokio::test]
async fn short_work_stays_where_it_is_and_long_work_goes_on_elsewhere_and_comes_back() {
    let offload = Offload::start(1, LONG).unwrap();
    let here = name();
    let short = offload.offloaded(1, None, |_| Box::pin(async { name() }));
    assert_eq!(short.await, here);
    let (go, told) = oneshot::channel::<()>();
    let long = offload.offloaded(1, None, |watch| {
        Box::pin(async move {
            let first = name();
            assert_eq!(endless(&watch), Interrupted::Allowance);
            allowed(&watch).await;
            let second = name();
            // Waiting is not done there.
            told.await.unwrap();
            (first, second, name())
        })
    });
    let long = tokio::spawn(long);
    tokio::task::yield_now().await;
    go.send(()).unwrap();
    let (first, second, third) = long.await.unwrap();
    assert_eq!((&first, second.as_deref()), (&here, Some("long-0")));
    assert!(third == here || third.as_deref() == Some("long-0"));
}

/// S100.
#[tokio::test]
async fn long_work_is_stopped_at_its_deadline() {
    let offload = Offload::start(1, Duration::ZERO).unwrap();
    let late = offload.offloaded(1, None, |watch| {
        Box::pin(async move {
            assert_eq!(endless(&watch), Interrupted::Allowance);
            allowed(&watch).await;
            endless(&watch)
        })
    });
    assert_eq!(late.await, Interrupted::Deadline);
}

/// S103.
#[tokio::test]
async fn dropped_work_stops_at_its_next_check_and_what_waits_is_dropped_at_once() {
    let offload = Offload::start(1, LONG).unwrap();
    let (began, begun) = oneshot::channel();
    let (ended, end) = mpsc::channel();
    let mut running = offload.offloaded(1, None, |watch| {
        Box::pin(async move {
            endless(&watch);
            allowed(&watch).await;
            began.send(()).unwrap();
            ended.send(endless(&watch)).unwrap();
        })
    });
    assert!(once(&mut running).await.is_pending());
    begun.await.unwrap();
    // The only thread is busy, so this one waits.
    let (holds, held) = oneshot::channel::<()>();
    let mut waiting = offload.offloaded(2, None, |watch| {
        Box::pin(async move {
            let _holds = holds;
            endless(&watch);
            allowed(&watch).await;
            endless(&watch);
        })
    });
    assert!(once(&mut waiting).await.is_pending());
    drop(waiting);
    assert!(held.await.is_err(), "what it held is free");
    drop(running);
    assert_eq!(end.recv(), Ok(Interrupted::Abandoned));
}

/// S102.
#[tokio::test]
async fn a_token_with_much_long_work_leaves_others_their_turns() {
    let offload = Offload::start(1, LONG).unwrap();
    let open = Arc::new(AtomicBool::new(false));
    let (done, order) = mpsc::channel();
    let mut all = Vec::new();
    let mut add = |key: u64, first: bool| {
        let (done, open) = (done.clone(), Arc::clone(&open));
        let work = offload.offloaded(key, None, |watch| {
            Box::pin(async move {
                endless(&watch);
                allowed(&watch).await;
                while first && !open.load(SeqCst) {
                    std::thread::yield_now();
                }
                done.send(key).unwrap();
            })
        });
        all.push(work);
    };
    add(1, true);
    for _ in 0..5 {
        add(1, false);
    }
    for key in [2, 3] {
        add(key, false);
    }
    for work in &mut all {
        assert!(once(work).await.is_pending());
    }
    open.store(true, SeqCst);
    for work in all {
        work.await;
    }
    let order: Vec<u64> = order.try_iter().collect();
    let at = |key| order.iter().position(|k| *k == key).unwrap();
    assert!(at(2) <= 3 && at(3) <= 3, "{order:?}");
}

#[tokio::test]
async fn what_is_too_much_is_refused_and_a_panic_is_the_callers() {
    let offload = Offload::start(1, LONG).unwrap();
    let (began, begun) = oneshot::channel();
    let mut running = offload.offloaded(1, Some(|| "refused"), |watch| {
        Box::pin(async move {
            endless(&watch);
            allowed(&watch).await;
            began.send(()).unwrap();
            endless(&watch);
            "done"
        })
    });
    assert!(once(&mut running).await.is_pending());
    begun.await.unwrap();
    let work = |watch: Arc<Watch>| -> Boxed<&'static str> {
        Box::pin(async move {
            endless(&watch);
            allowed(&watch).await;
            "done"
        })
    };
    let mut waiting = Vec::new();
    for _ in 0..WAITING_MAX {
        let mut one = offload.offloaded(2, Some(|| "refused"), work);
        assert!(once(&mut one).await.is_pending());
        waiting.push(one);
    }
    let refused = offload.offloaded(3, Some(|| "refused"), work);
    assert_eq!(refused.await, "refused");
    let mut never_refused = offload.offloaded(3, None, work);
    assert!(once(&mut never_refused).await.is_pending());
    drop(running);
    drop(waiting);
    assert_eq!(never_refused.await, "done");

    let panics = offload.offloaded(1, None, |watch| {
        Box::pin(async move {
            endless(&watch);
            allowed(&watch).await;
            if std::hint::black_box(true) {
                panic!("on purpose");
            }
        })
    });
    assert!(tokio::spawn(panics).await.is_err());
    let next = offload.offloaded(1, None, work);
    assert_eq!(next.await, "done", "its thread goes on");
}

/// Polls once.
async fn once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}
