// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func TestLease(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	grant, err := cli.Grant(ctx, 60)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cli.Put(ctx, "leased", "1", clientv3.WithLease(grant.ID)); err != nil {
		t.Fatal(err)
	}
	left, err := cli.TimeToLive(ctx, grant.ID, clientv3.WithAttachedKeys())
	if err != nil || left.GrantedTTL != 60 || len(left.Keys) != 1 {
		t.Fatalf("time to live: %+v, %v", left, err)
	}
	w := cli.Watch(ctx, "leased", clientv3.WithCreatedNotify())
	<-w
	if _, err := cli.Revoke(ctx, grant.ID); err != nil {
		t.Fatal(err)
	}
	if e := nextEvents(ctx, t, w)[0]; e.Type != clientv3.EventTypeDelete {
		t.Errorf("on revocation: %s", show(e))
	}
	if _, err := cli.KeepAliveOnce(ctx, grant.ID); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		t.Errorf("keep a revoked lease: %v, want %v", err, rpctypes.ErrLeaseNotFound)
	}
}

// TestLeaseKeptAlive outlives a short lease by a stream of keepalives, then lets it end.
func TestLeaseKeptAlive(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	grant, err := cli.Grant(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cli.Put(ctx, "leased", "1", clientv3.WithLease(grant.ID)); err != nil {
		t.Fatal(err)
	}
	w := cli.Watch(ctx, "leased", clientv3.WithCreatedNotify())
	<-w
	keeping, stop := context.WithCancel(ctx)
	defer stop()
	kept, err := cli.KeepAlive(keeping, grant.ID)
	if err != nil {
		t.Fatal(err)
	}
	// They are a third of the lease's time apart.
	for range 5 {
		if r := <-kept; r == nil || r.TTL != 2 {
			t.Fatalf("keepalive: %v", r)
		}
	}
	wantValue(ctx, t, cli, "leased", "1")
	stop()
	if e := nextEvents(ctx, t, w)[0]; e.Type != clientv3.EventTypeDelete {
		t.Errorf("at the lease's end: %s", show(e))
	}
}

// TestElection elects a leader and, when it resigns, the next.
func TestElection(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	var elections [2]*concurrency.Election
	for i := range elections {
		s, err := concurrency.NewSession(cli)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		elections[i] = concurrency.NewElection(s, "election")
	}
	if err := elections[0].Campaign(ctx, "first"); err != nil {
		t.Fatal(err)
	}
	won := make(chan error, 1)
	go func() { won <- elections[1].Campaign(ctx, "second") }()
	if err := elections[0].Resign(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-won; err != nil {
		t.Fatal(err)
	}
	if r, err := elections[1].Leader(ctx); err != nil || string(r.Kvs[0].Value) != "second" {
		t.Errorf("leader: %v, %v", r, err)
	}
}
