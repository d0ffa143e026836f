// SPDX-License-Identifier: Apache-2.0

package main

import "net/http"

// The paths of the service's methods.
const (
	echo = "/grpc.benchmark.Bench/Echo"
	chat = "/grpc.benchmark.Bench/Chat"
	pull = "/grpc.benchmark.Bench/Pull"
	push = "/grpc.benchmark.Bench/Push"
)

// protocols are HTTP/2 alone, with TLS or without.
func protocols(secure bool) *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP2(secure)
	p.SetUnencryptedHTTP2(!secure)
	return p
}
