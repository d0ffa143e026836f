// SPDX-License-Identifier: Apache-2.0
//! A worker of the benchmarks with tonic, client and server: see `bench peers`. Orders come, and
//! answers go, as a JSON value a line.

mod client;
mod sample;
mod server;

use std::error::Error;

use serde_json::{json, Value};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

pub mod bench {
    tonic::include_proto!("grpc.benchmark");
}

pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

async fn obey(client: &mut client::Client, op: &str, args: &Value) -> Result<Value> {
    match op {
        "serve" => server::serve(args).await,
        "open" => client.open(args).await,
        "call-all" => client.call_all().await,
        "load" => client.load(args).await,
        "window" => client.window(args).await,
        "settle" => sample::settled(),
        "resident" => sample::resident(),
        "counters" => Ok(sample::counters(server::served(), sample::cpu())),
        _ => Err(format!("unknown operation {op}").into()),
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    // An interrupt ends the program that started this one, and so the input.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let mut client = client::Client::default();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut out = tokio::io::stdout();
    while let Some(line) = lines.next_line().await? {
        let order: Value = serde_json::from_str(&line)?;
        let answer = match obey(&mut client, order["op"].as_str().unwrap_or_default(), &order["args"]).await {
            Ok(result) => json!({"done": true, "result": result}),
            Err(e) => json!({"done": true, "error": e.to_string()}),
        };
        out.write_all(format!("{answer}\n").as_bytes()).await?;
        out.flush().await?;
    }
    std::process::exit(0); // calls may still be open
}
