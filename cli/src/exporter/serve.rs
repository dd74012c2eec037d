//! Connections: as many at once, as long, and with as much in a request as is bounded here.

use crate::exporter::answer::Exporter;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Others wait until the system has them connected.
const CONNECTIONS_MAX: u32 = 32;
/// Whoever sends a request or takes an answer slower than this is not waited for.
const REQUEST_MAX: Duration = Duration::from_secs(5);
const CONNECTION_MAX: Duration = Duration::from_secs(60);
/// Of a request without its body, which nobody reads; the least that the library can do with.
const REQUEST_BYTES_MAX: usize = 8192;
/// What is being answered at the end may take so long.
const LAST_MAX: Duration = Duration::from_secs(2);

/// Until `ended` says so.
pub async fn serve(listener: TcpListener, exporter: Exporter, ended: impl Future<Output = ()>) {
    let exporter = Arc::new(exporter);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    tokio::select! {
        () = accept(listener, exporter, room.clone()) => {}
        () = ended => {}
    }
    let _ = timeout(LAST_MAX, room.acquire_many(CONNECTIONS_MAX)).await;
}

async fn accept(listener: TcpListener, exporter: Arc<Exporter>, room: Arc<Semaphore>) {
    while let Ok(place) = room.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // One that has gone, or there are no files left: others may end soon.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let exporter = exporter.clone();
        tokio::spawn(async move {
            let _ = timeout(CONNECTION_MAX, connection(stream, exporter)).await;
            drop(place);
        });
    }
}

/// One request. What goes wrong is the other side's, which has gone then or is told by the library.
async fn connection(stream: TcpStream, exporter: Arc<Exporter>) {
    let service = service_fn(|request| {
        let exporter = exporter.clone();
        async move { exporter.answer(request).await }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_MAX)
        .max_buf_size(REQUEST_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    drop(served);
}
