// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"strconv"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
)

// checkTrailers checks the trailers of a request by the rules for all field blocks, and by
// their own: "Trailers MUST NOT include pseudo-header fields", RFC 9113 section 8.1.
func checkTrailers(b *h2.HeaderBlock) error {
	if b.Memo() != nil {
		return malformed("the trailers are headers of a request")
	}
	for i := range b.Len() {
		kind := b.Kind(i)
		if isPseudo(kind) || kind == kindMalformed || kind == kindConnection || b.Flawed(i) {
			return malformed("header field " + strconv.Quote(grpcwire.Quoted(b.Name(i))) + " in trailers")
		}
	}
	return nil
}
