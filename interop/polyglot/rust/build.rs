// SPDX-License-Identifier: Apache-2.0
//! Generates code from the protos in the folder that POLYGLOT_PROTO names.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-env-changed=POLYGLOT_PROTO");
    let protos = std::env::var("POLYGLOT_PROTO")?;
    let mut config = tonic_prost_build::Config::new();
    config.protoc_executable(protoc_bin_vendored::protoc_bin_path()?);
    tonic_prost_build::configure().compile_with_config(
        config,
        &[format!("{protos}/grpc/testing/test.proto")],
        &[protos],
    )?;
    Ok(())
}
