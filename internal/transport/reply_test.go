// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
)

// TestIsPlain: headers that another goroutine sends may be refused yet, so nobody is told of the message behind
// them.
func TestIsPlain(t *testing.T) {
	for _, test := range []struct {
		headers headerState
		value   int // bytes of metadata
		want    bool
	}{
		{headersUnsent, 0, true},
		{headersUnsent, plainHeaders / 2, true},
		{headersUnsent, plainHeaders, false},
		{headersGoing, 0, false},
		{headersSent, 0, true},
		{headersSent, plainHeaders, true},
	} {
		var r reply
		if err := r.SetHeader(metadata.Pairs("k", strings.Repeat("v", test.value))); err != nil {
			t.Fatal(err)
		}
		r.headers = test.headers
		if got := r.IsPlain(); got != test.want {
			t.Errorf("%d, %d bytes: %v", test.headers, test.value, got)
		}
		r.finished = true
		if r.IsPlain() {
			t.Errorf("%d, %d bytes: plain although finished", test.headers, test.value)
		}
	}
}
