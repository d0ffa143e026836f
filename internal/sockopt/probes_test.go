// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"net"
	"testing"
	"time"
)

func TestProbesEnd(t *testing.T) {
	for _, tt := range []struct {
		cfg  net.KeepAliveConfig
		want time.Duration
	}{
		{net.KeepAliveConfig{}, 0},
		{net.KeepAliveConfig{Idle: time.Second, Interval: time.Second, Count: 1}, 0},
		{net.KeepAliveConfig{Enable: true}, 15*time.Second + 9*15*time.Second - 7500*time.Millisecond},
		{net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 10 * time.Second, Count: 3}, 85 * time.Second},
		{net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: 100 * time.Millisecond, Count: 9}, 9500 * time.Millisecond}, // the system counts seconds
		{net.KeepAliveConfig{Enable: true, Idle: -1, Interval: time.Second, Count: 1}, 0},
		{net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: -1, Count: 1}, 0},
		{net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: -1}, 0},
	} {
		if got := ProbesEnd(tt.cfg); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.cfg, got, tt.want)
		}
	}
}
