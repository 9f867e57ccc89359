//! The thread that owns sessions and answers one call after the other.
//!
//! An opened session cannot move between threads, and nothing below a server has to know of async: requests wait for
//! their turn here.

use std::sync::mpsc;

use anyhow::{Context, anyhow};
use tokio::sync::oneshot;

type Call<S> = Box<dyn FnOnce(&mut S) + Send>;

/// A handle on the thread, which owns an `S`. The thread ends with its last handle.
pub(crate) struct SessionThread<S> {
    calls: mpsc::Sender<Call<S>>,
}

impl<S> Clone for SessionThread<S> {
    fn clone(&self) -> Self {
        Self { calls: self.calls.clone() }
    }
}

impl<S: 'static> SessionThread<S> {
    /// Starts the thread, which makes what it owns by `open`, and waits for that. The other thing that `open` gives is
    /// for the caller.
    pub(crate) fn start<T: Send + 'static>(
        open: impl FnOnce() -> anyhow::Result<(S, T)> + Send + 'static,
    ) -> anyhow::Result<(Self, T)> {
        let (calls, received) = mpsc::channel::<Call<S>>();
        let (opened, opening) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let (mut owned, made) = match open() {
                Ok(both) => both,
                Err(error) => {
                    let _ = opened.send(Err(error));
                    return;
                }
            };
            let _ = opened.send(Ok(made));
            for call in received {
                call(&mut owned);
            }
        });
        let made = opening.recv().context("the session could not be opened; this is a bug")??;
        Ok((Self { calls }, made))
    }

    /// Has the thread run `call` when its turn comes, and waits for the answer.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut S) -> anyhow::Result<R> + Send + 'static,
    ) -> anyhow::Result<R> {
        let (reply, answer) = oneshot::channel();
        // Whoever asked may be gone.
        let call: Call<S> = Box::new(move |owned| drop(reply.send(call(owned))));
        self.calls.send(call).map_err(|_| anyhow!("the session was closed"))?;
        answer.await.context("the question ended its thread; this is a bug")?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn calls_change_what_the_thread_owns_one_after_the_other() {
        // `Rc` stands for a session: it cannot move to another thread.
        let (thread, made) = SessionThread::start(|| Ok((Rc::new(1), "made"))).unwrap();
        assert_eq!(made, "made");
        let double = |owned: &mut Rc<i32>| {
            *owned = Rc::new(**owned * 2);
            Ok(**owned)
        };
        let other = thread.clone();
        assert_eq!(block_on(async { (thread.ask(double).await.unwrap(), other.ask(double).await.unwrap()) }), (2, 4));
    }

    #[test]
    fn failures_reach_the_caller() {
        let failed = SessionThread::<()>::start(|| Err::<((), ()), _>(anyhow!("no such session")));
        assert_eq!(failed.err().unwrap().to_string(), "no such session");
        let (thread, ()) = SessionThread::start(|| Ok(((), ()))).unwrap();
        let wrong = block_on(thread.ask(|()| Err::<(), _>(anyhow!("no such span"))));
        assert_eq!(wrong.unwrap_err().to_string(), "no such span");
        let ended = block_on(thread.ask(|()| -> anyhow::Result<()> { panic!("on purpose") }));
        assert!(ended.unwrap_err().to_string().contains("this is a bug"));
    }
}
