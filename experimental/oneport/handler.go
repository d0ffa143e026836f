// SPDX-License-Identifier: Apache-2.0

package oneport

import "net/http"

// Handler passes requests of gRPC that come over HTTP/2 to rpc, which is a grpc.Server, and
// all others to web. It is for the http.Server of a [Port], as a client may send both kinds
// on one connection.
func Handler(rpc, web http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && kindOf(r.Header.Get("Content-Type")) == forGRPC {
			rpc.ServeHTTP(w, r)
			return
		}
		web.ServeHTTP(w, r)
	})
}
