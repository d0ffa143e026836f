// SPDX-License-Identifier: Apache-2.0
//! The interoperability cases with tonic.
//!
//!     client --addr HOST:PORT [--ca FILE --server-name NAME] [--case a,b | --load SECONDS]
//!
//! Prints a line a case, "ok|FAIL<tab>name<tab>detail", or after a load a line for each kind
//! of outcome, "load<tab>count<tab>kind".

mod common;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::testing::test_service_client::TestServiceClient;
use common::testing::unimplemented_service_client::UnimplementedServiceClient;
use common::testing::*;
use common::{flag, payload, ECHO_INITIAL, ECHO_TRAILING};
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status, Streaming};

const REQUEST_SIZES: [usize; 4] = [27182, 8, 1828, 45904];
const RESPONSE_SIZES: [usize; 4] = [31415, 9, 2653, 58979];
const LARGE_REQUEST: usize = 271828;
const LARGE_RESPONSE: usize = 314159;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
type Client = TestServiceClient<Channel>;

fn large_call() -> SimpleRequest {
    SimpleRequest { response_size: LARGE_RESPONSE as i32, payload: payload(LARGE_REQUEST), ..Default::default() }
}

fn output(sizes: &[usize], request: usize) -> StreamingOutputCallRequest {
    StreamingOutputCallRequest {
        response_parameters: sizes
            .iter()
            .map(|&n| ResponseParameters { size: n as i32, ..Default::default() })
            .collect(),
        payload: payload(request),
        ..Default::default()
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(got: T, want: T) -> Result<()> {
    if got != want {
        return Err(format!("{got:?}, want {want:?}").into());
    }
    Ok(())
}

fn expect_size(p: Option<Payload>, want: usize) -> Result<()> {
    expect(p.map_or(0, |p| p.body.len()), want)
}

fn expect_status<T>(got: std::result::Result<T, Status>, code: Code, message: Option<&str>) -> Result<()> {
    let Err(status) = got else {
        return Err(format!("succeeds, want {code:?}").into());
    };
    if status.code() != code || message.is_some_and(|m| m != status.message()) {
        return Err(format!("{status:?}, want {code:?} {message:?}").into());
    }
    Ok(())
}

async fn sizes(mut stream: Streaming<StreamingOutputCallResponse>) -> std::result::Result<Vec<usize>, Status> {
    let mut sizes = Vec::new();
    while let Some(reply) = stream.message().await? {
        sizes.push(reply.payload.map_or(0, |p| p.body.len()));
    }
    Ok(sizes)
}

async fn empty_unary(mut c: Client) -> Result<()> {
    expect(c.empty_call(Empty {}).await?.into_inner(), Empty {})
}

async fn large_unary(mut c: Client) -> Result<()> {
    expect_size(c.unary_call(large_call()).await?.into_inner().payload, LARGE_RESPONSE)
}

async fn client_compressed_unary(mut c: Client) -> Result<()> {
    let wish = |value| SimpleRequest { expect_compressed: Some(BoolValue { value }), ..large_call() };
    expect_status(c.unary_call(wish(true)).await, Code::InvalidArgument, None)?;
    // Servers answer in the encoding of the request.
    let mut compressing =
        c.clone().send_compressed(CompressionEncoding::Gzip).accept_compressed(CompressionEncoding::Gzip);
    expect_size(compressing.unary_call(wish(true)).await?.into_inner().payload, LARGE_RESPONSE)?;
    expect_size(c.unary_call(wish(false)).await?.into_inner().payload, LARGE_RESPONSE)
}

async fn server_compressed_unary(c: Client) -> Result<()> {
    let mut c = c.accept_compressed(CompressionEncoding::Gzip);
    for value in [true, false] {
        let request = SimpleRequest { response_compressed: Some(BoolValue { value }), ..large_call() };
        expect_size(c.unary_call(request).await?.into_inner().payload, LARGE_RESPONSE)?;
    }
    Ok(())
}

async fn client_streaming(mut c: Client) -> Result<()> {
    let requests = REQUEST_SIZES.map(|n| StreamingInputCallRequest { payload: payload(n), ..Default::default() });
    let reply = c.streaming_input_call(tokio_stream::iter(requests)).await?.into_inner();
    expect(reply.aggregated_payload_size as usize, REQUEST_SIZES.iter().sum())
}

async fn server_streaming(mut c: Client) -> Result<()> {
    let stream = c.streaming_output_call(output(&RESPONSE_SIZES, 0)).await?.into_inner();
    expect(sizes(stream).await?, RESPONSE_SIZES.to_vec())
}

async fn server_compressed_streaming(c: Client) -> Result<()> {
    let mut c = c.accept_compressed(CompressionEncoding::Gzip);
    let mut request = output(&[31415, 2653], 0);
    for (p, value) in request.response_parameters.iter_mut().zip([true, false]) {
        p.compressed = Some(BoolValue { value });
    }
    let stream = c.streaming_output_call(request).await?.into_inner();
    expect(sizes(stream).await?, vec![31415, 2653])
}

async fn ping_pong(mut c: Client) -> Result<()> {
    let (to, from) = tokio::sync::mpsc::channel(1);
    to.send(output(&[RESPONSE_SIZES[0]], REQUEST_SIZES[0])).await?;
    let mut stream = c.full_duplex_call(ReceiverStream::new(from)).await?.into_inner();
    for (n, &size) in RESPONSE_SIZES.iter().enumerate() {
        if n > 0 {
            to.send(output(&[size], REQUEST_SIZES[n])).await?;
        }
        expect_size(stream.message().await?.and_then(|m| m.payload), size)?;
    }
    drop(to);
    expect(stream.message().await?, None)
}

async fn empty_stream(mut c: Client) -> Result<()> {
    let stream = c.full_duplex_call(tokio_stream::empty()).await?.into_inner();
    expect(sizes(stream).await?, vec![])
}

async fn custom_metadata(mut c: Client) -> Result<()> {
    let trailing = MetadataValue::from_bytes(b"\xab\xab\xab");
    let check = |header: &MetadataMap, trailer: &MetadataMap| {
        expect(header.get(ECHO_INITIAL).map(|v| v.as_bytes()), Some(b"test_initial_metadata_value".as_slice()))?;
        expect(trailer.get_bin(ECHO_TRAILING), Some(&trailing))
    };
    let mut request = Request::new(large_call());
    request.metadata_mut().insert(ECHO_INITIAL, "test_initial_metadata_value".parse()?);
    request.metadata_mut().insert_bin(ECHO_TRAILING, trailing.clone());
    let metadata = request.metadata().clone();
    // A unary reply has headers and trailers in one map.
    let reply = c.unary_call(request).await?;
    check(reply.metadata(), reply.metadata())?;

    let mut request = Request::new(tokio_stream::iter([output(&[LARGE_RESPONSE], LARGE_REQUEST)]));
    *request.metadata_mut() = metadata;
    let reply = c.full_duplex_call(request).await?;
    let header = reply.metadata().clone();
    let mut stream = reply.into_inner();
    expect_size(stream.message().await?.and_then(|m| m.payload), LARGE_RESPONSE)?;
    let trailer = stream.trailers().await?.unwrap_or_default();
    check(&header, &trailer)
}

async fn status_code_and_message(mut c: Client) -> Result<()> {
    let message = "test status message";
    let status = Some(EchoStatus { code: 2, message: message.into() });
    let request = SimpleRequest { response_status: status.clone(), ..Default::default() };
    expect_status(c.unary_call(request).await, Code::Unknown, Some(message))?;
    let request = StreamingOutputCallRequest { response_status: status, ..Default::default() };
    let got = match c.full_duplex_call(tokio_stream::iter([request])).await {
        Ok(reply) => sizes(reply.into_inner()).await,
        Err(status) => Err(status),
    };
    expect_status(got, Code::Unknown, Some(message))
}

async fn special_status_message(mut c: Client) -> Result<()> {
    let message = "\t\ntest with whitespace\r\nand Unicode BMP \u{263a} and non-BMP \u{1f608}\t\n";
    let status = Some(EchoStatus { code: 2, message: message.into() });
    let request = SimpleRequest { response_status: status, ..Default::default() };
    expect_status(c.unary_call(request).await, Code::Unknown, Some(message))
}

async fn unimplemented_method(mut c: Client) -> Result<()> {
    expect_status(c.unimplemented_call(Empty {}).await, Code::Unimplemented, None)
}

/// A call that is dropped is cancelled; another one shows that the connection goes on.
async fn cancel_after_begin(mut c: Client) -> Result<()> {
    let (_to, from) = tokio::sync::mpsc::channel(1);
    let mut other = c.clone();
    tokio::select! {
        reply = other.streaming_input_call(ReceiverStream::new(from)) => {
            return Err(format!("ends with {reply:?}").into());
        }
        () = tokio::time::sleep(Duration::from_millis(20)) => {}
    }
    expect(c.empty_call(Empty {}).await?.into_inner(), Empty {})
}

async fn cancel_after_first_response(mut c: Client) -> Result<()> {
    let (to, from) = tokio::sync::mpsc::channel(1);
    to.send(output(&[RESPONSE_SIZES[0]], REQUEST_SIZES[0])).await?;
    let mut stream = c.full_duplex_call(ReceiverStream::new(from)).await?.into_inner();
    expect_size(stream.message().await?.and_then(|m| m.payload), RESPONSE_SIZES[0])?;
    drop(stream);
    expect(c.empty_call(Empty {}).await?.into_inner(), Empty {})
}

async fn timeout_on_sleeping_server(mut c: Client) -> Result<()> {
    let (to, from) = tokio::sync::mpsc::channel(1);
    to.send(output(&[], REQUEST_SIZES[0])).await?;
    let mut request = Request::new(ReceiverStream::new(from));
    request.set_timeout(Duration::from_millis(1));
    let got = match c.full_duplex_call(request).await {
        Ok(reply) => sizes(reply.into_inner()).await.map(|_| ()),
        Err(status) => Err(status),
    };
    match got {
        // The library's own clock says so as Cancelled.
        Err(s) if matches!(s.code(), Code::DeadlineExceeded | Code::Cancelled) => Ok(()),
        other => Err(format!("{other:?}, want {:?}", Code::DeadlineExceeded).into()),
    }
}

type Run = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

fn cases(c: &Client, mut other: UnimplementedServiceClient<Channel>) -> Vec<(&'static str, Run)> {
    macro_rules! list {
        ($($name:ident),*) => { vec![$((stringify!($name), Box::pin($name(c.clone())) as Run)),*] };
    }
    let mut all = list![
        empty_unary, large_unary, client_compressed_unary, server_compressed_unary, client_streaming,
        server_streaming, server_compressed_streaming, ping_pong, empty_stream, custom_metadata,
        status_code_and_message, special_status_message, unimplemented_method, cancel_after_begin,
        cancel_after_first_response, timeout_on_sleeping_server
    ];
    all.push((
        "unimplemented_service",
        Box::pin(async move { expect_status(other.unimplemented_call(Empty {}).await, Code::Unimplemented, None) }),
    ));
    all
}

/// Eight calls at a time, half of them of streams.
async fn load(c: Client, time: Duration) -> Result<()> {
    let outcomes = Arc::new(Mutex::new(HashMap::<String, u64>::new()));
    let until = Instant::now() + time;
    let mut tasks = Vec::new();
    for n in 0..8 {
        let (mut c, outcomes) = (c.clone(), outcomes.clone());
        tasks.push(tokio::spawn(async move {
            while Instant::now() < until {
                let got = if n % 2 == 1 {
                    let request =
                        SimpleRequest { response_size: 1000, payload: payload(1000), ..Default::default() };
                    c.unary_call(request).await.map(|_| ())
                } else {
                    match c.streaming_output_call(output(&[1000; 10], 0)).await {
                        Ok(reply) => sizes(reply.into_inner()).await.map(|_| ()),
                        Err(status) => Err(status),
                    }
                };
                let kind = match &got {
                    Ok(()) => "OK".to_string(),
                    Err(s) => format!("{:?} {}{}", s.code(), s.message(), causes(s)).replace('\n', " "),
                };
                *outcomes.lock().unwrap().entry(kind).or_default() += 1;
                if got.is_err() {
                    // There is no waiting for a connection.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }));
    }
    for task in tasks {
        task.await?;
    }
    for (kind, n) in outcomes.lock().unwrap().iter() {
        println!("load\t{n}\t{kind}");
    }
    Ok(())
}

fn causes(s: &Status) -> String {
    let mut text = String::new();
    let mut cause = std::error::Error::source(s);
    while let Some(e) = cause {
        text.push_str(&format!(": {e}"));
        cause = e.source();
    }
    text
}

async fn connect() -> Result<Channel> {
    let addr = flag("--addr").ok_or("no --addr")?;
    let Some(ca) = flag("--ca") else {
        return Ok(Endpoint::from_shared(format!("http://{addr}"))?.connect_lazy());
    };
    let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(std::fs::read(ca)?));
    if let Some(name) = flag("--server-name") {
        tls = tls.domain_name(name);
    }
    Ok(Endpoint::from_shared(format!("https://{addr}"))?.tls_config(tls)?.connect_lazy())
}

#[tokio::main]
async fn main() -> Result<()> {
    let channel = connect().await?;
    let client = TestServiceClient::new(channel.clone()).max_decoding_message_size(usize::MAX);
    if let Some(seconds) = flag("--load") {
        return load(client, Duration::from_secs_f64(seconds.parse()?)).await;
    }
    let wanted = flag("--case").unwrap_or_else(|| "all".into());
    let mut failed = 0;
    for (name, run) in cases(&client, UnimplementedServiceClient::new(channel)) {
        if wanted != "all" && !wanted.split(',').any(|w| w == name) {
            continue;
        }
        let began = Instant::now();
        match tokio::time::timeout(Duration::from_secs(20), run).await {
            Ok(Ok(())) => println!("ok\t{name}\t{:?}", began.elapsed()),
            Ok(Err(e)) => {
                failed = 1;
                println!("FAIL\t{name}\t{}", e.to_string().replace('\n', " "));
            }
            Err(_) => {
                failed = 1;
                println!("FAIL\t{name}\ttook too long");
            }
        }
    }
    std::process::exit(failed);
}
