// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"

	"google.golang.org/grpc/status"
)

// maxQuoted is how many bytes of a body are quoted that is not of gRPC.
const maxQuoted = 1024

// foreign is what something answered that is no gRPC server, such as a proxy: the status
// that this comes to, and the beginning of the body, which tells people why.
type foreign struct {
	verdict *status.Status
	body    []byte
}

// space is where the next bytes of the body go, at most n.
func (f *foreign) space(n int) []byte {
	if f.body == nil {
		f.body = make([]byte, 0, maxQuoted)
	}
	if f.full() {
		return make([]byte, min(n, maxQuoted)) // it is over
	}
	return f.body[len(f.body):cap(f.body)][:min(n, cap(f.body)-len(f.body))]
}

func (f *foreign) filled(n int) {
	if !f.full() {
		f.body = f.body[:len(f.body)+n]
	}
}

func (f *foreign) full() bool { return len(f.body) == maxQuoted }

func (f *foreign) status() *status.Status {
	if len(f.body) == 0 {
		return f.verdict
	}
	return status.New(f.verdict.Code(), fmt.Sprintf("%s\ndata: %q", f.verdict.Message(), f.body))
}
