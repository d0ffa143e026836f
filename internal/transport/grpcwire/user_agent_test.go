// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "testing"

func TestUserAgent(t *testing.T) {
	if got, want := UserAgent("", "1.85.0"), "grpc-go/1.85.0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := UserAgent("my-app/2 (x) ", "1.85.0"), "my-app/2 (x) grpc-go/1.85.0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
