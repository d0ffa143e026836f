// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestKV(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	put(ctx, t, cli, "a", "1")
	wantValue(ctx, t, cli, "a", "1")

	r, err := cli.Txn(ctx).
		If(clientv3.Compare(clientv3.Value("a"), "=", "1")).
		Then(clientv3.OpPut("a", "2"), clientv3.OpPut("b", "3")).
		Else(clientv3.OpGet("a")).
		Commit()
	if err != nil || !r.Succeeded {
		t.Fatalf("transaction: %v, %v", r, err)
	}
	wantValue(ctx, t, cli, "a", "2")
	wantValue(ctx, t, cli, "b", "3")

	d, err := cli.Delete(ctx, "a", clientv3.WithPrevKV())
	if err != nil || d.Deleted != 1 || string(d.PrevKvs[0].Value) != "2" {
		t.Fatalf("delete: %v, %v", d, err)
	}
	wantValue(ctx, t, cli, "a", "")
}

// TestLargeValue sends what is larger than a frame and a window.
func TestLargeValue(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	value := strings.Repeat("0123456789abcdef", 1<<16)
	for i := range 8 {
		put(ctx, t, cli, fmt.Sprintf("large/%d", i), value)
	}
	r, err := cli.Get(ctx, "large/", clientv3.WithPrefix())
	if err != nil || len(r.Kvs) != 8 {
		t.Fatalf("%d values, %v", len(r.Kvs), err)
	}
	for _, kv := range r.Kvs {
		if string(kv.Value) != value {
			t.Errorf("%s is changed", kv.Key)
		}
	}

	_, err = cli.Put(ctx, "larger", strings.Repeat("x", 7<<18))
	if !errors.Is(err, rpctypes.ErrRequestTooLarge) {
		t.Errorf("a request over the server's limit: %v, want %v", err, rpctypes.ErrRequestTooLarge)
	}
	_, err = cli.Put(ctx, "largest", strings.Repeat(value, 2))
	if got := status.Code(err); got != codes.ResourceExhausted {
		t.Errorf("a request over the client's limit: %v, want %v", err, codes.ResourceExhausted)
	}
}

func TestManyCallers(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 20 {
				key := fmt.Sprintf("%d/%d", i, j)
				if _, err := cli.Put(ctx, key, key); err != nil {
					t.Errorf("put: %v", err)
				}
				if r, err := cli.Get(ctx, key); err != nil || len(r.Kvs) != 1 || string(r.Kvs[0].Value) != key {
					t.Errorf("get: %v, %v", r, err)
				}
			}
		})
	}
	wg.Wait()
	r, err := cli.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || r.Count != 1000 {
		t.Errorf("%d keys, %v; want 1000", r.Count, err)
	}
}

// TestSnapshot reads the database as a stream.
func TestSnapshot(t *testing.T) {
	cli, ctx := single(t), testContext(t)
	for i := range 16 {
		put(ctx, t, cli, fmt.Sprint(i), strings.Repeat("x", 1<<18))
	}
	r, err := cli.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := io.Copy(io.Discard, r); err != nil || n < 16<<18 {
		t.Errorf("%d bytes, %v; want at least %d", n, err, 16<<18)
	}
}

// TestAuth uses credentials per RPC: the client sends a token that it has for a password.
func TestAuth(t *testing.T) {
	c := serverConfig(t, "http")
	start(t, c)
	admin, ctx := dial(t, clientv3.Config{Endpoints: endpoints(c)}), testContext(t)
	for _, do := range []func() error{
		func() error { _, err := admin.RoleAdd(ctx, "root"); return err },
		func() error { _, err := admin.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := admin.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := admin.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.Put(ctx, "a", "1"); !errors.Is(err, rpctypes.ErrUserEmpty) {
		t.Errorf("without a user: %v, want %v", err, rpctypes.ErrUserEmpty)
	}
	root := dial(t, clientv3.Config{Endpoints: endpoints(c), Username: "root", Password: "secret"})
	put(ctx, t, root, "a", "1")
	wantValue(ctx, t, root, "a", "1")

	_, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints(c), Username: "root", Password: "guess", DialTimeout: patience, Logger: zap.NewNop(),
	})
	if !errors.Is(err, rpctypes.ErrAuthFailed) {
		t.Errorf("with a wrong password: %v, want %v", err, rpctypes.ErrAuthFailed)
	}
}

// TestGateway asks the server in JSON; grpc-gateway asks it again in gRPC.
func TestGateway(t *testing.T) {
	c := serverConfig(t, "http")
	start(t, c)
	cli, ctx := dial(t, clientv3.Config{Endpoints: endpoints(c)}), testContext(t)
	put(ctx, t, cli, "a", "1")
	body := []byte(`{"key": "YQ=="}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoints(c)[0]+"/v3/kv/range", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Kvs []struct{ Key, Value []byte } }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || len(answer.Kvs) != 1 || string(answer.Kvs[0].Value) != "1" {
		t.Errorf("%s, %+v", resp.Status, answer)
	}
}
