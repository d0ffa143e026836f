// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net/http"
	"unsafe"

	istatus "google.golang.org/grpc/internal/status"
	"google.golang.org/grpc/status"
)

// refusal answers a request that no handler may see.
type refusal struct {
	httpStatus string
	status     *status.Status
	// The answer to a request that is not of gRPC has a text, except for HEAD. The answer to one of gRPC is
	// trailers only.
	contentType string
	text        string
	foreign     bool // the request is not of gRPC at all
}

// memory returns about how many bytes of memory r takes: its texts quote what the peer sent.
func (r *refusal) memory() int {
	return int(unsafe.Sizeof(*r)) + istatus.Memory(r.status) + len(r.text)
}

// hint ends the text of every refusal: it tells a person with curl what this port speaks.
const hint = "\nThis port speaks gRPC (https://grpc.io): HTTP/2, the method POST, a content-type of application/grpc.\n"

const textPlain = "text/plain; charset=utf-8"

// refused returns the answer to a client of gRPC: trailers only.
func refused(code int, st *status.Status) *refusal {
	return &refusal{httpStatus: itoa(code), status: st}
}

// expiredRefusal answers a call whose deadline has passed before its handler begins.
var expiredRefusal = refused(http.StatusOK, status.FromContextError(context.DeadlineExceeded))
