//! Connections: as many at once, as long, and with as much in a request as is bounded here.

use crate::exporter::answer::Exporter;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

/// Others wait until the system has them connected.
const CONNECTIONS_MAX: u32 = 32;
/// Whoever sends a request or takes an answer slower than this is not waited for.
const REQUEST_MAX: Duration = Duration::from_secs(5);
const CONNECTION_MAX: Duration = Duration::from_secs(60);
/// Of a request without its body, which nobody reads; the least that the library can do with.
const REQUEST_BYTES_MAX: usize = 8192;
/// What is being answered at the end may take so long: a scrape and some more.
const LAST_MAX: Duration = Duration::from_secs(8);

/// Until `ended` says so.
pub async fn serve(listener: TcpListener, exporter: Exporter, ended: impl Future<Output = ()>) {
    let exporter = Arc::new(exporter);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let (end, is_over) = watch::channel(());
    tokio::select! {
        () = accept(listener, exporter, room.clone(), is_over) => {}
        () = ended => {}
    }
    drop(end);
    let _ = timeout(LAST_MAX, room.acquire_many(CONNECTIONS_MAX)).await;
}

async fn accept(
    listener: TcpListener,
    exporter: Arc<Exporter>,
    room: Arc<Semaphore>,
    is_over: watch::Receiver<()>,
) {
    while let Ok(place) = room.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // One that has gone, or there are no files left: others may end soon.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (exporter, is_over) = (exporter.clone(), is_over.clone());
        tokio::spawn(async move {
            let _ = timeout(CONNECTION_MAX, connection(stream, exporter, is_over)).await;
            drop(place);
        });
    }
}

/// One request. What goes wrong is the other side's, which has gone then or is told by the library.
/// Who has not asked yet at the end is not waited for.
async fn connection(stream: TcpStream, exporter: Arc<Exporter>, mut is_over: watch::Receiver<()>) {
    let service = service_fn(|request| {
        let exporter = exporter.clone();
        async move { exporter.answer(request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_MAX)
        .max_buf_size(REQUEST_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = is_over.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
