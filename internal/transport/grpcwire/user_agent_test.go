// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "testing"

func TestUserAgent(t *testing.T) {
	if got, want := UserAgent("", "1.2.3"), "grpc-go/1.2.3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := UserAgent("my-app/2 (x) ", "1.2.3"), "my-app/2 (x) grpc-go/1.2.3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
