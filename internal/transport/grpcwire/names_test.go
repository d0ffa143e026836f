// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "testing"

func TestNames(t *testing.T) {
	tests := []struct {
		name             string
		reserved, hidden bool
	}{
		{":authority", true, false},
		{":path", true, true},
		{":method", true, true},
		{":scheme", true, true},
		{":status", true, true},
		{":protocol", true, true},
		{"te", true, true},
		{"content-type", true, false},
		{"user-agent", true, false},
		{"grpc-accept-encoding", false, false},
		{"grpc-timeout", true, true},
		{"grpc-encoding", true, true},
		{"grpc-message-type", true, true},
		{"grpc-status", true, true},
		{"grpc-message", true, true},
		{"grpc-status-details-bin", false, false},
		{"grpc-previous-rpc-attempts", false, false},
		{"grpc-retry-pushback-ms", false, false},
		{"grpc-trace-bin", false, false},
		{"grpc-", false, false},
		{"grpc", false, false},
		{"connection", true, false},
		{"transfer-encoding", true, false},
		{"host", true, false},
		{"content-length", true, false},
		{"authorization", false, false},
		{"", false, false},
	}
	for _, tt := range tests {
		if got := IsReserved(tt.name); got != tt.reserved {
			t.Errorf("IsReserved(%q) = %v", tt.name, got)
		}
		if got := IsHidden(tt.name); got != tt.hidden {
			t.Errorf("IsHidden(%q) = %v", tt.name, got)
		}
	}
}
