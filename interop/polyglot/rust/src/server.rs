// SPDX-License-Identifier: Apache-2.0
//! The test service with tonic.
//!
//!     server [--port N] [--cert FILE --key FILE]
//!
//! Prints "listening on ADDRESS", and stops when its input ends.

mod common;

use std::pin::Pin;
use std::time::Duration;

use common::testing::test_service_server::{TestService, TestServiceServer};
use common::testing::*;
use common::{flag, payload, ECHO_INITIAL, ECHO_TRAILING};
use tokio::io::AsyncReadExt;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt};
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Code, Request, Response, Status, Streaming};

/// The service. tonic sends trailers with an error only, so that it can't echo them.
struct Service;

type Replies = Pin<Box<dyn Stream<Item = Result<StreamingOutputCallResponse, Status>> + Send>>;

fn echo<T>(from: &MetadataMap, message: T) -> Response<T> {
    let mut response = Response::new(message);
    if let Some(v) = from.get(ECHO_INITIAL) {
        response.metadata_mut().insert(ECHO_INITIAL, v.clone());
    }
    response
}

fn wanted(status: &Option<EchoStatus>, from: &MetadataMap) -> Result<(), Status> {
    match status {
        Some(s) if s.code != 0 => {
            let mut status = Status::new(Code::from(s.code), s.message.clone());
            if let Some(v) = from.get_bin(ECHO_TRAILING) {
                status.metadata_mut().insert_bin(ECHO_TRAILING, v.clone());
            }
            Err(status)
        }
        _ => Ok(()),
    }
}

/// Sends the replies that a request orders.
async fn serve(
    to: &tokio::sync::mpsc::Sender<Result<StreamingOutputCallResponse, Status>>,
    request: StreamingOutputCallRequest,
    metadata: &MetadataMap,
) -> bool {
    if let Err(status) = wanted(&request.response_status, metadata) {
        let _ = to.send(Err(status)).await;
        return false;
    }
    for p in request.response_parameters {
        if p.interval_us > 0 {
            tokio::time::sleep(Duration::from_micros(p.interval_us as u64)).await;
        }
        let reply = StreamingOutputCallResponse { payload: payload(p.size as usize) };
        if to.send(Ok(reply)).await.is_err() {
            return false;
        }
    }
    true
}

#[tonic::async_trait]
impl TestService for Service {
    type StreamingOutputCallStream = Replies;
    type FullDuplexCallStream = Replies;
    type HalfDuplexCallStream = Replies;

    async fn empty_call(&self, request: Request<Empty>) -> Result<Response<Empty>, Status> {
        Ok(echo(request.metadata(), Empty {}))
    }

    async fn unary_call(&self, request: Request<SimpleRequest>) -> Result<Response<SimpleResponse>, Status> {
        let (metadata, _, message) = request.into_parts();
        wanted(&message.response_status, &metadata)?;
        let reply = SimpleResponse { payload: payload(message.response_size as usize), ..Default::default() };
        Ok(echo(&metadata, reply))
    }

    async fn cacheable_unary_call(&self, r: Request<SimpleRequest>) -> Result<Response<SimpleResponse>, Status> {
        self.unary_call(r).await
    }

    async fn streaming_input_call(
        &self,
        request: Request<Streaming<StreamingInputCallRequest>>,
    ) -> Result<Response<StreamingInputCallResponse>, Status> {
        let mut stream = request.into_inner();
        let mut size = 0;
        while let Some(message) = stream.next().await {
            size += message?.payload.map_or(0, |p| p.body.len());
        }
        Ok(Response::new(StreamingInputCallResponse { aggregated_payload_size: size as i32 }))
    }

    async fn streaming_output_call(
        &self,
        request: Request<StreamingOutputCallRequest>,
    ) -> Result<Response<Replies>, Status> {
        let (metadata, _, message) = request.into_parts();
        let response = echo(&metadata, ());
        let (to, from) = tokio::sync::mpsc::channel(1);
        tokio::spawn(async move { serve(&to, message, &metadata).await });
        Ok(response.map(|()| Box::pin(ReceiverStream::new(from)) as Replies))
    }

    async fn full_duplex_call(
        &self,
        request: Request<Streaming<StreamingOutputCallRequest>>,
    ) -> Result<Response<Replies>, Status> {
        let (metadata, _, mut stream) = request.into_parts();
        let response = echo(&metadata, ());
        let (to, from) = tokio::sync::mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                if !serve(&to, message, &metadata).await {
                    return;
                }
            }
        });
        Ok(response.map(|()| Box::pin(ReceiverStream::new(from)) as Replies))
    }

    async fn half_duplex_call(
        &self,
        request: Request<Streaming<StreamingOutputCallRequest>>,
    ) -> Result<Response<Replies>, Status> {
        self.full_duplex_call(request).await
    }

    async fn unimplemented_call(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented(""))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = flag("--port").unwrap_or_else(|| "0".into());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    println!("listening on {}", listener.local_addr()?);
    let mut server = Server::builder();
    if let (Some(cert), Some(key)) = (flag("--cert"), flag("--key")) {
        let identity = Identity::from_pem(std::fs::read(cert)?, std::fs::read(key)?);
        server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
    }
    let service = TestServiceServer::new(Service)
        .accept_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(usize::MAX);
    let end = async {
        let mut nothing = Vec::new();
        let _ = tokio::io::stdin().read_to_end(&mut nothing).await;
    };
    server
        .add_service(service)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), end)
        .await?;
    // The thread that reads the input can't be ended otherwise.
    std::process::exit(0);
}
