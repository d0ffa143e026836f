// SPDX-License-Identifier: Apache-2.0
//! The service.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde_json::{json, Value};
use tokio_stream::{Stream, StreamExt};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

use crate::bench::bench_server::{Bench, BenchServer};
use crate::bench::{Message, PublishSummary, PullRequest, PushSummary, State, WatchRequest};
use crate::Result;

static SERVED: AtomicU64 = AtomicU64::new(0);
static ZEROS: [u8; 16 << 20] = [0; 16 << 20];

/// How many calls and messages were answered.
pub fn served() -> u64 {
    SERVED.load(Ordering::Relaxed)
}

/// As many zeros as are asked for, at most 16 MiB.
pub fn payload(size: usize) -> Bytes {
    Bytes::from_static(&ZEROS[..size.min(ZEROS.len())])
}

fn answer(size: u32) -> Message {
    SERVED.fetch_add(1, Ordering::Relaxed);
    Message { payload: payload(size as usize), answer_size: 0 }
}

struct Service;

type Of<T> = Pin<Box<dyn Stream<Item = std::result::Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Bench for Service {
    type ChatStream = Of<Message>;
    type PullStream = Of<Message>;
    type WatchStream = Of<State>;

    async fn echo(&self, request: Request<Message>) -> std::result::Result<Response<Message>, Status> {
        Ok(Response::new(answer(request.get_ref().answer_size)))
    }

    async fn chat(&self, request: Request<Streaming<Message>>) -> std::result::Result<Response<Of<Message>>, Status> {
        Ok(Response::new(Box::pin(request.into_inner().map(|m| m.map(|m| answer(m.answer_size))))))
    }

    async fn pull(&self, request: Request<PullRequest>) -> std::result::Result<Response<Of<Message>>, Status> {
        let PullRequest { size, count } = request.into_inner();
        let count = if count == 0 { u64::MAX } else { count };
        let messages = (0..count).map(move |_| Ok(answer(size)));
        Ok(Response::new(Box::pin(tokio_stream::iter(messages))))
    }

    async fn push(&self, request: Request<Streaming<Message>>) -> std::result::Result<Response<PushSummary>, Status> {
        let (mut messages, mut sum) = (request.into_inner(), PushSummary::default());
        while let Some(m) = messages.message().await? {
            SERVED.fetch_add(1, Ordering::Relaxed);
            sum.messages += 1;
            sum.bytes += m.payload.len() as u64;
        }
        Ok(Response::new(sum))
    }

    async fn watch(&self, _: Request<WatchRequest>) -> std::result::Result<Response<Of<State>>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn publish(&self, _: Request<State>) -> std::result::Result<Response<PublishSummary>, Status> {
        Err(Status::unimplemented(""))
    }
}

/// Begins to serve, and returns how clients reach it.
pub async fn serve(order: &Value) -> Result<Value> {
    if order["Network"] != "tcp" || order["Protocol"] != "grpc" || order["Delay"].as_u64().unwrap_or(0) != 0 {
        return Err("gRPC over TCP alone is measured beside others".into());
    }
    let text = |name: &str| order[name].as_str().unwrap_or_default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let addr = listener.local_addr()?;
    let mut server = Server::builder();
    if order["Security"] == "tls" {
        let identity = Identity::from_pem(text("Cert"), text("Key"));
        server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
    }
    let service = BenchServer::new(Service).max_decoding_message_size(usize::MAX);
    let serving = server
        .add_service(service)
        .serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true)));
    tokio::spawn(async move {
        if let Err(e) = serving.await {
            eprintln!("serving: {e}");
            std::process::exit(1);
        }
    });
    Ok(json!({"Targets": [addr.to_string()], "RootPEM": text("Cert")}))
}
