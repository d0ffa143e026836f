// SPDX-License-Identifier: Apache-2.0
//! What client and server have in common.

pub mod testing {
    tonic::include_proto!("grpc.testing");
}

pub const ECHO_INITIAL: &str = "x-grpc-test-echo-initial";
pub const ECHO_TRAILING: &str = "x-grpc-test-echo-trailing-bin";

pub fn payload(size: usize) -> Option<testing::Payload> {
    Some(testing::Payload { r#type: 0, body: vec![0; size] })
}

/// The value after a flag.
pub fn flag(name: &str) -> Option<String> {
    let mut args = std::env::args().skip_while(|a| a != name);
    args.next()?;
    args.next()
}
