use super::*;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use tokio::sync::oneshot;
use workgraph_core::{Interrupt, InterruptReason};

const LONG: Duration = Duration::from_secs(60);

fn name() -> Option<String> {
    std::thread::current().name().map(str::to_owned)
}

/// Takes steps until it is stopped, and returns the reason.
fn endless(watch: &WorkInterrupt) -> InterruptReason {
    loop {
        if let Err(reason) = watch.check(4_096) {
            return reason;
        }
        std::thread::yield_now();
    }
}

async fn allowed(watch: &WorkInterrupt) {
    std::future::poll_fn(|_| watch.poll_allowed()).await;
}

/// Waits until the caller polls a second time, which this future requests.
async fn wait_once() {
    let mut waited = false;
    std::future::poll_fn(|cx| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// S101.
#[tokio::test]
async fn short_work_stays_where_it_is_and_long_work_goes_on_elsewhere_and_comes_back() {
    let offload = Offload::start(1, LONG).unwrap();
    let here = name();
    let short = offload.offloaded(OffloadFlow::Token(1), None, |_| Box::pin(async { name() }));
    assert_eq!(short.await, here);
    let long = offload.offloaded(OffloadFlow::Token(1), None, |watch| {
        Box::pin(async move {
            let first = name();
            assert_eq!(endless(&watch), InterruptReason::AllowanceSpent);
            allowed(&watch).await;
            let second = name();
            // The wait itself does not happen there.
            wait_once().await;
            (first, second, name())
        })
    });
    let (first, second, third) = long.await;
    assert_eq!((&first, second.as_deref()), (&here, Some("long-0")));
    assert_eq!(third, here);
}

#[tokio::test]
async fn long_work_of_a_request_is_known_by_its_id_wherever_it_goes_on() {
    use crate::log::request_id::RequestId;
    use crate::log::request_scope::{RequestScope, current_request, in_current_request};
    let offload = Offload::start(1, LONG).unwrap();
    let request = RequestId::given("01234567-89ab-7cde-8f01-23456789abcd");
    let long = offload.offloaded(OffloadFlow::Token(1), None, |watch| {
        let _scope = RequestScope::enter(request);
        Box::pin(in_current_request(async move {
            let first = current_request();
            assert_eq!(endless(&watch), InterruptReason::AllowanceSpent);
            allowed(&watch).await;
            let second = (name(), current_request());
            wait_once().await;
            (first, second, current_request())
        }))
    });
    let (first, second, third) = long.await;
    assert_eq!(second, (Some("long-0".to_owned()), request));
    assert_eq!((first, third), (request, request));
    assert_eq!(current_request(), None);
}

/// S100.
#[tokio::test]
async fn long_work_is_stopped_at_its_deadline() {
    let offload = Offload::start(1, Duration::ZERO).unwrap();
    let late = offload.offloaded(OffloadFlow::Token(1), None, |watch| {
        Box::pin(async move {
            assert_eq!(endless(&watch), InterruptReason::AllowanceSpent);
            allowed(&watch).await;
            endless(&watch)
        })
    });
    assert_eq!(late.await, InterruptReason::Deadline);
}

/// S103.
#[tokio::test]
async fn dropped_work_stops_at_its_next_check_and_what_waits_is_dropped_at_once() {
    let offload = Offload::start(1, LONG).unwrap();
    let (began, begun) = oneshot::channel();
    let (ended, end) = mpsc::channel();
    let mut running = offload.offloaded(OffloadFlow::Token(1), None, |watch| {
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
    let (holds, freed) = oneshot::channel::<()>();
    let mut waiting = offload.offloaded(OffloadFlow::Token(2), None, |watch| {
        Box::pin(async move {
            let _holds = holds;
            endless(&watch);
            allowed(&watch).await;
            endless(&watch);
        })
    });
    assert!(once(&mut waiting).await.is_pending());
    drop(waiting);
    assert!(freed.await.is_err(), "what it held is free");
    drop(running);
    assert_eq!(end.recv(), Ok(InterruptReason::Abandoned));
}

/// S102. A token with much long work does not take the turns of other tokens.
#[tokio::test]
async fn a_token_with_much_long_work_leaves_others_their_turns() {
    let offload = Offload::start(1, LONG).unwrap();
    let open = Arc::new(AtomicBool::new(false));
    let (done, order) = mpsc::channel();
    let mut all = Vec::new();
    let mut add = |key: u64, first: bool| {
        let (done, open) = (done.clone(), Arc::clone(&open));
        let work = offload.offloaded(OffloadFlow::Token(key), None, |watch| {
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

/// S102. A user with many tokens has as many turns as a user with one token.
#[tokio::test]
async fn users_have_the_same_turns_however_many_tokens_they_have() {
    const TOKENS: u64 = 50;
    let offload = Offload::start(1, LONG).unwrap();
    let open = Arc::new(AtomicBool::new(false));
    let (done, order) = mpsc::channel();
    let mut all = Vec::new();
    let mut add = |user: u64, token: u64, first: bool| {
        let (done, open) = (done.clone(), Arc::clone(&open));
        let work = offload.offloaded(OffloadFlow::Token(token), None, |watch| {
            Box::pin(async move {
                watch.note_user(user);
                endless(&watch);
                allowed(&watch).await;
                while first && !open.load(SeqCst) {
                    std::thread::yield_now();
                }
                done.send((user, token)).unwrap();
            })
        });
        all.push(work);
    };
    // The first one occupies the only thread until the others wait.
    add(1, 0, true);
    for token in 0..TOKENS {
        add(1, token, false);
        add(1, token, false);
    }
    for user in [2, 3] {
        for _ in 0..3 {
            add(user, 1_000 + user, false);
        }
    }
    for work in &mut all {
        assert!(once(work).await.is_pending());
    }
    open.store(true, SeqCst);
    for work in all {
        work.await;
    }
    let order: Vec<(u64, u64)> = order.try_iter().collect();
    let last_of = |user| order.iter().rposition(|(of, _)| *of == user).unwrap();
    // Three rounds of three users, after the one that ran first.
    assert!(last_of(2) <= 9 && last_of(3) <= 9, "{order:?}");
}

/// Returns work that occupies the only thread until it is dropped.
async fn occupied(offload: &Arc<Offload>, flow: OffloadFlow) -> Offloaded<&'static str> {
    let (began, begun) = oneshot::channel();
    let mut running = offload.offloaded(flow, None, |watch| {
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
    running
}

/// S102.
#[tokio::test]
async fn a_user_fills_no_more_than_a_share_of_the_queue_however_many_tokens_they_have() {
    let offload = Offload::start(1, LONG).unwrap();
    let running = occupied(&offload, OffloadFlow::Job(1)).await;
    let read = |user: u64, token: u64| {
        let work = move |watch: Arc<WorkInterrupt>| -> BoxFuture<&'static str> {
            Box::pin(async move {
                watch.note_user(user);
                endless(&watch);
                allowed(&watch).await;
                "done"
            })
        };
        offload.offloaded(OffloadFlow::Token(token), Some(|| "refused"), work)
    };
    let mut waiting = Vec::new();
    for number in 0..OWNER_MAX {
        let mut one = read(1, number as u64);
        assert!(once(&mut one).await.is_pending());
        waiting.push(one);
    }
    assert_eq!(read(1, 9_999).await, "refused");
    let mut of_another = read(2, 10_000);
    assert!(once(&mut of_another).await.is_pending());
    drop((running, waiting));
    assert_eq!(of_another.await, "done");
}

#[tokio::test]
async fn what_is_too_much_is_refused_and_a_panic_is_the_callers() {
    let offload = Offload::start(1, LONG).unwrap();
    let running = occupied(&offload, OffloadFlow::Token(1)).await;
    let work = |watch: Arc<WorkInterrupt>| -> BoxFuture<&'static str> {
        Box::pin(async move {
            endless(&watch);
            allowed(&watch).await;
            "done"
        })
    };
    let mut waiting = Vec::new();
    for _ in 0..FLOW_MAX {
        let mut one = offload.offloaded(OffloadFlow::Token(2), Some(|| "refused"), work);
        assert!(once(&mut one).await.is_pending());
        waiting.push(one);
    }
    let refused = offload.offloaded(OffloadFlow::Token(2), Some(|| "refused"), work);
    assert_eq!(refused.await, "refused");
    let mut of_another = offload.offloaded(OffloadFlow::Token(3), Some(|| "refused"), work);
    assert!(once(&mut of_another).await.is_pending());
    let mut never_refused = offload.offloaded(OffloadFlow::Token(2), None, work);
    assert!(once(&mut never_refused).await.is_pending());
    drop(running);
    drop(waiting);
    assert_eq!(never_refused.await, "done");
    assert_eq!(of_another.await, "done");

    let panics = offload.offloaded(OffloadFlow::Token(1), None, |watch| {
        Box::pin(async move {
            endless(&watch);
            allowed(&watch).await;
            if std::hint::black_box(true) {
                panic!("on purpose");
            }
        })
    });
    assert!(tokio::spawn(panics).await.is_err());
    let next = offload.offloaded(OffloadFlow::Token(1), None, work);
    assert_eq!(next.await, "done", "its thread goes on");
}

#[tokio::test]
async fn abandoned_work_does_not_count_as_waiting() {
    let offload = Offload::start(1, LONG).unwrap();
    let work = |watch: Arc<WorkInterrupt>| -> BoxFuture<&'static str> {
        Box::pin(async move {
            endless(&watch);
            allowed(&watch).await;
            endless(&watch);
            "done"
        })
    };
    // The first one occupies the only thread, so the others wait.
    let mut running = offload.offloaded(OffloadFlow::Token(1), None, work);
    assert!(once(&mut running).await.is_pending());
    for _ in 0..3 * FLOW_MAX {
        let mut abandoned = offload.offloaded(OffloadFlow::Token(2), Some(|| "refused"), work);
        assert!(once(&mut abandoned).await.is_pending());
    }
    assert_eq!(
        offload.shared.state.lock().queue.len_of(
            FlowOwner::Unknown(OffloadFlow::Token(2)),
            OffloadFlow::Token(2)
        ),
        0
    );
}

async fn once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}
