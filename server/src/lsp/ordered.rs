//! Order. The service of the protocol library starts a handler only when its future is polled, and polls many at once;
//! two edits could then be taken up in the wrong order. This layer polls each handler once inside `call`, which runs in
//! wire order, and the handlers do not wait before they have put their work into the owner's queue.

use futures::future::BoxFuture;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tower::Service;

#[derive(Debug)]
pub(super) struct Ordered<S> {
    inner: S,
}

impl<S> Ordered<S> {
    pub(super) fn new(inner: S) -> Self {
        Ordered { inner }
    }
}

impl<S, R> Service<R> for Ordered<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let mut future: Pin<Box<S::Future>> = Box::pin(self.inner.call(request));
        // Whoever awaits the future polls it again with a waker of its own.
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(outcome) => Box::pin(std::future::ready(outcome)),
            Poll::Pending => future,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<u32>>>);

    impl Service<u32> for Recorder {
        type Response = ();
        type Error = ();
        type Future = BoxFuture<'static, Result<(), ()>>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, number: u32) -> Self::Future {
            let seen = self.0.clone();
            Box::pin(async move {
                if let Ok(mut seen) = seen.lock() {
                    seen.push(number);
                }
                tokio::task::yield_now().await;
                Ok(())
            })
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn handlers_begin_in_the_order_of_calls() {
        let recorder = Recorder::default();
        let mut service = Ordered::new(recorder.clone());
        let futures: Vec<_> = (0..100).map(|number| service.call(number)).collect();
        for future in futures.into_iter().rev() {
            assert!(future.await.is_ok());
        }
        let seen = recorder
            .0
            .lock()
            .map(|seen| seen.clone())
            .unwrap_or_default();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }
}
