// SPDX-License-Identifier: Apache-2.0
//! Channels, and loads on them: a task for each caller.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{json, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

use crate::bench::bench_client::BenchClient;
use crate::bench::{Message, PullRequest};
use crate::{sample, server, Result};

const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const ENDING: u8 = 2;

fn request(size: usize) -> Message {
    Message { payload: server::payload(size), answer_size: size as u32 }
}

fn check(answer: Option<Message>, size: usize) -> Result<()> {
    match answer {
        Some(m) if m.payload.len() == size => Ok(()),
        Some(m) => Err(format!("a message has {} bytes, want {size}", m.payload.len()).into()),
        None => Err("the stream has ended".into()),
    }
}

async fn echo(client: &mut BenchClient<Channel>, size: usize) -> Result<()> {
    check(Some(client.echo(request(size)).await?.into_inner()), size)
}

fn number(order: &Value, name: &str) -> u64 {
    order[name].as_u64().unwrap_or(0)
}

/// A caller counts its steps while they are to be counted.
struct Caller {
    phase: Arc<AtomicU8>,
    took: Vec<u64>,
}

impl Caller {
    /// Counts a step, and says whether there is to be another.
    fn ends(&mut self, start: Instant) -> bool {
        let phase = self.phase.load(Ordering::Relaxed);
        if phase == MEASURING {
            self.took.push(start.elapsed().as_nanos() as u64);
        }
        phase != ENDING
    }

    async fn unary(mut self, mut client: BenchClient<Channel>, size: usize) -> Result<Vec<u64>> {
        loop {
            let start = Instant::now();
            echo(&mut client, size).await?;
            if !self.ends(start) {
                return Ok(self.took);
            }
        }
    }

    async fn chat(mut self, mut client: BenchClient<Channel>, size: usize) -> Result<Vec<u64>> {
        let (to, from) = mpsc::channel(1);
        let mut stream = client.chat(ReceiverStream::new(from)).await?.into_inner();
        loop {
            let start = Instant::now();
            to.send(request(size)).await?;
            check(stream.message().await?, size)?;
            if !self.ends(start) {
                return Ok(self.took);
            }
        }
    }

    async fn pull(mut self, mut client: BenchClient<Channel>, size: usize) -> Result<Vec<u64>> {
        let mut stream = client.pull(PullRequest { size: size as u32, count: 0 }).await?.into_inner();
        loop {
            let start = Instant::now();
            check(stream.message().await?, size)?;
            if !self.ends(start) {
                return Ok(self.took);
            }
        }
    }

    async fn push(mut self, mut client: BenchClient<Channel>, size: usize) -> Result<Vec<u64>> {
        let (to, from) = mpsc::channel(1);
        let answer = tokio::spawn(async move { client.push(ReceiverStream::new(from)).await });
        loop {
            let start = Instant::now();
            to.send(request(size)).await?;
            if !self.ends(start) {
                break;
            }
        }
        drop(to);
        answer.await??;
        Ok(self.took)
    }
}

/// A load in progress.
struct Run {
    phase: Arc<AtomicU8>,
    callers: JoinSet<Result<Vec<u64>>>,
}

#[derive(Default)]
pub struct Client {
    clients: Vec<BenchClient<Channel>>,
    run: Option<Run>,
}

impl Client {
    /// Opens channels, each with a connection of its own, and calls on them.
    pub async fn open(&mut self, order: &Value) -> Result<Value> {
        let start = Instant::now();
        let targets = order["Targets"].as_array().ok_or("there is no server")?;
        for i in 0..number(order, "Connections") as usize {
            let addr = targets[i % targets.len()].as_str().unwrap_or_default();
            let endpoint = if order["Security"] == "tls" {
                let root = Certificate::from_pem(order["RootPEM"].as_str().unwrap_or_default());
                let tls = ClientTlsConfig::new().ca_certificate(root).domain_name("bench.test");
                Endpoint::from_shared(format!("https://{addr}"))?.tls_config(tls)?
            } else {
                Endpoint::from_shared(format!("http://{addr}"))?
            };
            let mut client = BenchClient::new(endpoint.connect().await?).max_decoding_message_size(usize::MAX);
            for _ in 0..number(order, "Calls") {
                echo(&mut client, number(order, "MessageSize") as usize).await?;
            }
            self.clients.push(client);
        }
        Ok(json!({"Connections": self.clients.len(), "Took": start.elapsed().as_nanos() as u64}))
    }

    /// Calls on all channels, one after the other.
    pub async fn call_all(&mut self) -> Result<Value> {
        let mut took = Vec::new();
        for client in &mut self.clients {
            let start = Instant::now();
            echo(client, 128).await?;
            took.push(start.elapsed().as_nanos() as u64);
        }
        Ok(json!({"Calls": took.len(), "Latency": sample::summary(took)}))
    }

    pub async fn load(&mut self, order: &Value) -> Result<Value> {
        let (kind, size) = (order["Kind"].as_str().unwrap_or_default(), number(order, "Size") as usize);
        let mut run = Run { phase: Arc::new(AtomicU8::new(WARMING)), callers: JoinSet::new() };
        if self.clients.is_empty() {
            return Err("there is no channel".into());
        }
        for i in 0..number(order, "Callers") as usize {
            let client = self.clients[i % self.clients.len()].clone();
            let caller = Caller { phase: run.phase.clone(), took: Vec::new() };
            match kind {
                "unary" => run.callers.spawn(caller.unary(client, size)),
                "chat" => run.callers.spawn(caller.chat(client, size)),
                "pull" => run.callers.spawn(caller.pull(client, size)),
                "push" => run.callers.spawn(caller.push(client, size)),
                _ => return Err(format!("unknown kind of load {kind}").into()),
            };
        }
        tokio::time::sleep(Duration::from_nanos(number(order, "Warmup"))).await;
        self.run = Some(run);
        Ok(json!({}))
    }

    /// Measures a load for a time, then ends it.
    pub async fn window(&mut self, order: &Value) -> Result<Value> {
        let mut run = self.run.take().ok_or("no load began")?;
        let (cpu, start) = (sample::cpu(), Instant::now());
        run.phase.store(MEASURING, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_nanos(number(order, "Duration"))).await;
        run.phase.store(ENDING, Ordering::Relaxed);
        let (took, used) = (start.elapsed().as_nanos() as u64, sample::cpu() - cpu);
        let mut all = Vec::new();
        let end = async {
            while let Some(ended) = run.callers.join_next().await {
                all.extend(ended??);
            }
            Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
        };
        tokio::time::timeout(Duration::from_secs(10), end).await??;
        if all.is_empty() {
            return Err("nothing was answered in time".into());
        }
        Ok(json!({
            "Calls": all.len(), "Took": took, "Latency": sample::summary(all), "Used": sample::counters(0, used),
        }))
    }
}
