// SPDX-License-Identifier: Apache-2.0
//! Generates code from the benchmarks' proto. Payloads are `Bytes`: what is sent again and again
//! is not copied before it is encoded.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protos = "../../../proto";
    let mut config = tonic_prost_build::Config::new();
    config.protoc_executable(protoc_bin_vendored::protoc_bin_path()?);
    config.bytes(["."]);
    tonic_prost_build::configure().compile_with_config(
        config,
        &[format!("{protos}/grpc/benchmark/bench.proto")],
        &[protos.to_string()],
    )?;
    Ok(())
}
