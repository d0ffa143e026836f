// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// patience bounds all waiting.
const patience = 30 * time.Second

// serverConfig returns a configuration of a cluster of one, on free ports of the loopback.
func serverConfig(t *testing.T, scheme string) *embed.Config {
	t.Helper()
	c := embed.NewConfig()
	c.Dir = t.TempDir()
	// Its end alone has it log errors.
	c.LogLevel = "fatal"
	// A leader is elected as soon as that.
	c.TickMs, c.ElectionMs = 50, 250
	c.UnsafeNoFsync = true
	c.ListenClientUrls = []url.URL{{Scheme: scheme, Host: freeAddr(t)}}
	c.AdvertiseClientUrls = c.ListenClientUrls
	c.ListenPeerUrls = []url.URL{{Scheme: "http", Host: freeAddr(t)}}
	c.AdvertisePeerUrls = c.ListenPeerUrls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	return c
}

// freeAddr returns an address that nobody listened on a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}

// member is a running server.
type member struct {
	*embed.Etcd
	// Close may be called again, unlike etcd's own.
	Close func()
}

// start runs servers until the test ends, and waits until each of them serves.
func start(t *testing.T, configs ...*embed.Config) []member {
	t.Helper()
	type started struct {
		n      int
		server *embed.Etcd
		err    error
	}
	// Members of a cluster start when there are enough of them.
	results := make(chan started)
	for n, c := range configs {
		go func() {
			s, err := embed.StartEtcd(c)
			results <- started{n, s, err}
		}()
	}
	servers := make([]member, len(configs))
	for range configs {
		r := <-results
		if r.err != nil {
			t.Errorf("server %d does not start: %v", r.n, r.err)
			continue
		}
		servers[r.n] = member{r.server, sync.OnceFunc(r.server.Close)}
		t.Cleanup(servers[r.n].Close)
	}
	if t.Failed() {
		t.FailNow()
	}
	for n, s := range servers {
		select {
		case <-s.Server.ReadyNotify():
		case err := <-s.Err():
			t.Fatalf("server %d: %v", n, err)
		case <-time.After(patience):
			t.Fatalf("server %d is not ready", n)
		}
	}
	return servers
}

func endpoints(configs ...*embed.Config) []string {
	var list []string
	for _, c := range configs {
		list = append(list, c.ListenClientUrls[0].String())
	}
	return list
}

// dial returns a client that is closed when the test ends.
func dial(t *testing.T, c clientv3.Config) *clientv3.Client {
	t.Helper()
	c.DialTimeout = patience
	c.Logger = zap.NewNop()
	cli, err := clientv3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cli.Close() })
	return cli
}

// single returns a client of a server of its own.
func single(t *testing.T) *clientv3.Client {
	t.Helper()
	c := serverConfig(t, "http")
	start(t, c)
	return dial(t, clientv3.Config{Endpoints: endpoints(c)})
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func put(ctx context.Context, t *testing.T, kv clientv3.KV, key, value string) {
	t.Helper()
	if _, err := kv.Put(ctx, key, value); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// wantValue compares a key's value, "" for a key that there is not.
func wantValue(ctx context.Context, t *testing.T, kv clientv3.KV, key, want string) {
	t.Helper()
	r, err := kv.Get(ctx, key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	got := ""
	if len(r.Kvs) > 0 {
		got = string(r.Kvs[0].Value)
	}
	if got != want {
		t.Fatalf("%s is %.20q, want %.20q", key, got, want)
	}
}

// nextEvents returns the events of the watch's next response that has any.
func nextEvents(ctx context.Context, t *testing.T, w clientv3.WatchChan) []*clientv3.Event {
	t.Helper()
	for {
		select {
		case r, ok := <-w:
			if !ok {
				t.Fatal("the watch has ended")
			}
			if err := r.Err(); err != nil {
				t.Fatalf("watch: %v", err)
			}
			if len(r.Events) > 0 {
				return r.Events
			}
		case <-ctx.Done():
			t.Fatalf("no event: %v", ctx.Err())
		}
	}
}

func show(e *clientv3.Event) string {
	return fmt.Sprintf("%s %s=%s", strings.ToLower(e.Type.String()), e.Kv.Key, e.Kv.Value)
}
