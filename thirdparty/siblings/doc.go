// SPDX-License-Identifier: Apache-2.0

// Package siblings uses modules that are released beside google.golang.org/grpc, and that
// import internal packages of it: security/advancedtls and stats/opencensus. It has tests
// only.
package siblings
