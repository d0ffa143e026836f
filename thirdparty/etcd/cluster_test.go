// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

// TestTLS uses the server behind net/http, which is how it serves gRPC over TLS, and with a
// listener for gRPC alone.
func TestTLS(t *testing.T) {
	t.Run("shared", func(t *testing.T) { testTLS(t, false) })
	t.Run("split", func(t *testing.T) { testTLS(t, true) })
}

func testTLS(t *testing.T, split bool) {
	c := serverConfig(t, "https")
	c.ClientAutoTLS = true
	if split {
		c.ListenClientHttpUrls = serverConfig(t, "https").ListenClientUrls
	}
	start(t, c)
	ctx := testContext(t)
	cli := dial(t, clientv3.Config{
		Endpoints: endpoints(c),
		TLS:       &tls.Config{InsecureSkipVerify: true}, // The certificate is made up by the server.
	})
	w := cli.Watch(ctx, "a", clientv3.WithCreatedNotify())
	<-w
	value := strings.Repeat("x", 1<<20)
	put(ctx, t, cli, "a", value)
	wantValue(ctx, t, cli, "a", value)
	if e := nextEvents(ctx, t, w)[0]; string(e.Kv.Value) != value {
		t.Errorf("the watch sees another value, of %d bytes", len(e.Kv.Value))
	}
}

// TestRestart stops the server and starts it again: the client and a watch go on.
func TestRestart(t *testing.T) {
	c := serverConfig(t, "http")
	first := start(t, c)[0]
	cli, ctx := dial(t, clientv3.Config{Endpoints: endpoints(c)}), testContext(t)
	w := cli.Watch(ctx, "a", clientv3.WithCreatedNotify())
	<-w
	put(ctx, t, cli, "a", "1")
	if e := nextEvents(ctx, t, w)[0]; show(e) != "put a=1" {
		t.Fatalf("before: %s", show(e))
	}
	first.Close()

	start(t, c)
	wantValue(ctx, t, cli, "a", "1")
	put(ctx, t, cli, "a", "2")
	if e := nextEvents(ctx, t, w)[0]; show(e) != "put a=2" {
		t.Errorf("after: %s", show(e))
	}
}

// TestCluster stops one of three members while callers read and write: not one of them sees
// an error of a read, and the cluster goes on.
func TestCluster(t *testing.T) {
	var configs []*embed.Config
	var members []string
	for i := range 3 {
		c := serverConfig(t, "http")
		c.Name = fmt.Sprintf("member%d", i)
		configs = append(configs, c)
		members = append(members, c.InitialClusterFromName(c.Name))
	}
	for _, c := range configs {
		c.InitialCluster = strings.Join(members, ",")
	}
	servers := start(t, configs...)
	cli, ctx := dial(t, clientv3.Config{Endpoints: endpoints(configs...)}), testContext(t)
	put(ctx, t, cli, "a", "1")

	// A follower is stopped, as without a leader nobody can answer for a while.
	stopped := 0
	for servers[stopped].Server.Leader() == servers[stopped].Server.MemberID() {
		stopped++
	}
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	var wg sync.WaitGroup
	reads := make(chan struct{})
	for range 20 {
		wg.Go(func() {
			for reading.Err() == nil {
				_, err := cli.Get(reading, "a", clientv3.WithSerializable())
				if err != nil && reading.Err() == nil {
					t.Errorf("read: %v", err)
					return
				}
				select {
				case reads <- struct{}{}:
				case <-reading.Done():
				}
			}
		})
	}
	wait := func(n int) {
		t.Helper()
		for range n {
			select {
			case <-reads:
			case <-time.After(patience):
				t.Fatal("no reads")
			}
		}
	}
	wait(500)
	closed := make(chan struct{})
	go func() {
		servers[stopped].Close()
		close(closed)
	}()
	for open := true; open; {
		select {
		case <-reads:
		case <-closed:
			open = false
		}
	}
	wait(500)
	stopReading()
	wg.Wait()
	put(ctx, t, cli, "a", "2")
	wantValue(ctx, t, cli, "a", "2")
}
