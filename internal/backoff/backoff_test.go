// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/backoff"
	internal "google.golang.org/grpc/internal/backoff"
)

func TestExponential(t *testing.T) {
	config := backoff.Config{BaseDelay: time.Second, Multiplier: 2, Jitter: 0.5, MaxDelay: 10 * time.Second}
	for _, tt := range []struct {
		retries int
		random  float64
		want    time.Duration
	}{
		{-1, 0, time.Second},
		{0, 0, time.Second},
		{1, 0.5, 2 * time.Second},
		{1, 0, time.Second},
		{2, 0.75, 5 * time.Second},
		{3, 0.5, 8 * time.Second},
		{4, 0.5, 10 * time.Second},
		{4, 1, 15 * time.Second}, // jitter goes past the bound
		{math.MaxInt, 0.5, 10 * time.Second},
	} {
		e := internal.Exponential{Config: config, Random: func() float64 { return tt.random }}
		if got := e.Backoff(tt.retries); got != tt.want {
			t.Errorf("after %d retries with %v: %v, want %v", tt.retries, tt.random, got, tt.want)
		}
	}
}

func TestDefault(t *testing.T) {
	for retries, want := range []time.Duration{time.Second, 1600 * time.Millisecond, 2560 * time.Millisecond} {
		for range 100 {
			got := internal.Default.Backoff(retries)
			if f := float64(got) / float64(want); f < 0.8 || f > 1.2 {
				t.Fatalf("after %d retries: %v, want %v give or take 20 %%", retries, got, want)
			}
		}
	}
	if got := internal.Default.Backoff(1000); got > 144*time.Second {
		t.Errorf("after 1000 retries: %v", got)
	}
}

func TestSane(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		config backoff.Config
		want   [4]time.Duration
	}{
		{backoff.Config{}, [4]time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms}},
		{backoff.Config{BaseDelay: 100 * ms, MaxDelay: 300 * ms}, [4]time.Duration{100 * ms, 160 * ms, 256 * ms, 300 * ms}},
		{backoff.Config{BaseDelay: 100 * ms, Multiplier: 2}, [4]time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms}},
		{backoff.Config{BaseDelay: 100 * ms, Multiplier: 0.1, MaxDelay: time.Hour}, [4]time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms}},
		{backoff.Config{MaxDelay: time.Second, Multiplier: 2}, [4]time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms}},
		{backoff.Config{BaseDelay: 1, MaxDelay: 1, Multiplier: math.NaN(), Jitter: math.NaN()}, [4]time.Duration{ms, ms, ms, ms}},
		{backoff.Config{BaseDelay: -1, MaxDelay: -1, Multiplier: -1, Jitter: -1}, [4]time.Duration{100 * ms, 100 * ms, 100 * ms, 100 * ms}},
		{backoff.Config{BaseDelay: 5 * ms, MaxDelay: time.Second, Multiplier: 3}, [4]time.Duration{5 * ms, 15 * ms, 45 * ms, 135 * ms}},
	} {
		e := internal.Exponential{Config: internal.Sane(tt.config)}
		for i, want := range tt.want {
			if got := e.Backoff(i).Round(ms); got != want {
				t.Errorf("%+v, %d retries: %v, want %v", tt.config, i, got, want)
			}
		}
	}
	if d := internal.Sane(backoff.DefaultConfig); d != backoff.DefaultConfig {
		t.Errorf("the default becomes %+v", d)
	}
}

func TestNonsense(t *testing.T) {
	for _, c := range []backoff.Config{
		{},
		{BaseDelay: -1, Multiplier: 2, MaxDelay: 1},
		{BaseDelay: 1, Multiplier: -2, MaxDelay: time.Hour},
		{BaseDelay: math.MaxInt64, Multiplier: 10, Jitter: 10, MaxDelay: math.MaxInt64},
		{Multiplier: math.Inf(1), MaxDelay: 1},
		{BaseDelay: 1, Multiplier: math.NaN(), MaxDelay: 1},
	} {
		e := internal.Exponential{Config: c}
		for retries := range 5 {
			if got := e.Backoff(retries); got < 0 {
				t.Errorf("%+v, %d retries: %v", c, retries, got)
			}
		}
	}
}
