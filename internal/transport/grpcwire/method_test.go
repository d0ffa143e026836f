// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "testing"

func TestSplitPath(t *testing.T) {
	tests := []struct {
		path, service, method string
		ok                    bool
	}{
		{"/grpc.testing.TestService/EmptyCall", "grpc.testing.TestService", "EmptyCall", true},
		{"/a/b/c", "a/b", "c", true},
		{"/a/", "a", "", true},
		{"//b", "", "b", true},
		{"//", "", "", true},
		{"/a", "", "", false},
		{"/", "", "", false},
		{"", "", "", false},
		{"a/b", "", "", false},
		{"grpc.testing.TestService/EmptyCall", "", "", false},
	}
	for _, tt := range tests {
		service, method, ok := SplitPath(tt.path)
		if service != tt.service || method != tt.method || ok != tt.ok {
			t.Errorf("SplitPath(%q) = %q, %q, %v", tt.path, service, method, ok)
		}
	}
}
