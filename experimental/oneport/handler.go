// SPDX-License-Identifier: Apache-2.0

package oneport

import "net/http"

// Handler returns a handler for the http.Server of a [Port], to which a client may send both kinds of
// requests on one connection. It passes gRPC requests that come over HTTP/2 to rpc, which is a
// grpc.Server, and all others to web.
func Handler(rpc, web http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && kindOf(r.Header.Get("Content-Type")) == forGRPC {
			rpc.ServeHTTP(w, r)
			return
		}
		web.ServeHTTP(w, r)
	})
}
