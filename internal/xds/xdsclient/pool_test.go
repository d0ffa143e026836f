// SPDX-License-Identifier: Apache-2.0

package xdsclient

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/stats"
	xdsbootstrap "google.golang.org/grpc/xds/bootstrap"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func parsed(t *testing.T, text string) *bootstrap.Config {
	t.Helper()
	b, err := bootstrap.Parse([]byte(text), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const text = `{"xds_servers":[{"server_uri":"passthrough:///127.0.0.1:1","channel_creds":[{"type":"insecure"}]}]}`

func TestA71Clients(t *testing.T) {
	p := NewPool(Options{Bootstrap: parsed(t, text)})
	a, releaseA, err := p.Client("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, releaseAgain, _ := p.Client("a", nil)
	b, releaseB, _ := p.Client("b", nil)
	if a != again || a == b || len(p.Clients()) != 2 {
		t.Error("the wrong clients are shared")
	}
	releaseA()
	releaseA()
	if len(p.Clients()) != 2 {
		t.Error("a client is gone that somebody uses")
	}
	releaseAgain()
	releaseB()
	if len(p.Clients()) != 0 {
		t.Error("a client stays that nobody uses")
	}
}

func TestNoBootstrap(t *testing.T) {
	p := NewPool(Options{})
	if _, _, err := p.Client("a", nil); !errors.Is(err, bootstrap.ErrNone) {
		t.Error(err)
	}
	p.SetFallback(parsed(t, text))
	c, release, err := p.Client("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Bootstrap().Servers[0].URI != "passthrough:///127.0.0.1:1" {
		t.Error(c.Bootstrap())
	}
	release()
}

// asking are channel credentials whose Build uses the Pool.
type asking struct{ pool *Pool }

func (asking) Name() string { return "asking" }

func (a asking) Build(json.RawMessage) (credentials.Bundle, func(), error) {
	a.pool.Clients()
	return insecure.NewBundle(), func() {}, nil
}

// TestCredentialsAskPool: channel credentials that the program has registered may use the Pool, when a bootstrap
// configuration is read and when a connection is made.
func TestCredentialsAskPool(t *testing.T) {
	defer func(before string) { envconfig.XDSBootstrapConfig = before }(envconfig.XDSBootstrapConfig)
	envconfig.XDSBootstrapConfig = strings.Replace(text, "insecure", "asking", 1)
	p := NewPool(Options{})
	xdsbootstrap.RegisterChannelCredentials(asking{p})
	c, release, err := p.Client("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for range 2 {
		l, err := p.dial(c.Bootstrap().Servers[0])
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if n := p.channels.Len(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// recorder is a stats handler that takes metrics.
type recorder struct {
	stats.Handler
	estats.UnimplementedMetricsRecorder
	mu     sync.Mutex
	counts map[string]int64
}

func (r *recorder) RecordInt64Count(h *estats.Int64CountHandle, n int64, labels ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := h.Descriptor().Name
	for _, l := range labels {
		key += " " + l
	}
	r.counts[key] += n
}

func TestA78Metrics(t *testing.T) {
	m := newMetrics("target")
	r := &recorder{counts: map[string]int64{}}
	stop := m.add([]stats.Handler{r})
	m.count([]estats.MetricsRecorder{r}, 1) // another channel with the same recorder
	m.Updates("server", "type.googleapis.com/envoy.config.listener.v3.Listener", 3, 1)
	m.ServerFailure("server")
	for key, want := range map[string]int64{
		"grpc.xds_client.resource_updates_valid target server envoy.config.listener.v3.Listener":   3,
		"grpc.xds_client.resource_updates_invalid target server envoy.config.listener.v3.Listener": 1,
		"grpc.xds_client.server_failure target server":                                             1,
	} {
		if r.counts[key] != want {
			t.Errorf("%s: %d; have %v", key, r.counts[key], r.counts)
		}
	}
	m.count([]estats.MetricsRecorder{r}, -1)
	stop()
	m.ServerFailure("server")
	if r.counts["grpc.xds_client.server_failure target server"] != 1 {
		t.Error("counted for nobody")
	}
	for want, res := range map[string]client.Resource{
		"requested":                 {},
		"acked":                     {State: client.ACKed, Raw: []byte{}},
		"nacked":                    {State: client.NACKed},
		"nacked_but_cached":         {State: client.NACKed, Raw: []byte{}},
		"does_not_exist_but_cached": {State: client.DoesNotExist, Raw: []byte{}},
		"timeout":                   {State: client.TimedOut},
		"received_error_but_cached": {State: client.ReceivedError, Raw: []byte{}},
	} {
		if got := stateName(&res); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}

// registering is a recorder that calls f when a reporter is registered.
type registering struct {
	recorder
	f func()
}

func (r *registering) RegisterAsyncReporter(estats.AsyncMetricReporter, ...estats.AsyncMetric) func() {
	r.f()
	return func() {}
}

// TestRecorderMayWait: a recorder may wait for somebody who calls the Pool.
func TestRecorderMayWait(t *testing.T) {
	p := NewPool(Options{Bootstrap: parsed(t, text)})
	n := 0
	r := &registering{f: func() { n = len(p.Clients()) }}
	_, release, err := p.Client("a", nil, r)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if n != 1 {
		t.Errorf("%d Clients", n)
	}
}
