// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/metadata"
)

type taggedMethod struct{ path, tag string }

func (m *taggedMethod) Path() string { return m.path }

// Connections of two servers, whose clients send the same octets for requests that differ by what
// is in their tables, or by the server.
func TestAttackNothingLeaks(t *testing.T) {
	const conns, rounds = 24, 60
	type seen struct{ server, method, token, path string }
	var mu sync.Mutex
	got := map[*Server][]seen{}
	var all []*attacker
	var servers []*testServer
	for _, tag := range []string{"one", "two"} {
		list := uint32(400)
		cfg := ServerConfig{Policy: oftenPings, Known: func(p []byte) Method {
			if string(p) == "/test.Echo/Any" || string(p) == "lax" {
				return &taggedMethod{string(p), tag}
			}
			return nil
		}}
		if tag == "two" {
			cfg.MaxHeaderListSize = &list
		}
		s := startServer(t, "unix", cfg, func(s *ServerStream) {
			m, _ := s.Known().(*taggedMethod)
			r := seen{server: tag, path: s.Method()}
			if m != nil {
				r.method = m.tag
			}
			if v := s.IncomingHeader()["token"]; len(v) == 1 {
				r.token = v[0]
			}
			mu.Lock()
			got[s.Server()] = append(got[s.Server()], r)
			mu.Unlock()
			_ = s.SendHeader(metadata.Pairs("you", r.token))
			_ = s.Finish(nil)
		})
		s.cfg.LaxPath = tag == "two"
		servers = append(servers, s)
	}
	lax := append([]string{}, requestFields...)
	lax[5] = "lax"
	_, refs := tableBlock(requestWith("token", "tok-00")...)
	for i := range conns {
		fields := requestWith("token", fmt.Sprintf("tok-%02d", i/4))
		if i%8 >= 6 {
			fields = append(append([]string{}, lax...), "token", fmt.Sprintf("tok-%02d", i/4))
		}
		insert, r := tableBlock(fields...)
		if string(r) != string(refs) {
			t.Fatal("the blocks differ")
		}
		a := parkable(t, servers[i%2])
		a.headers(1, insert, true)
		a.settle()
		all = append(all, a)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	sent := make([]int, conns)
	for round := range rounds {
		var wg sync.WaitGroup
		for i, a := range all {
			if rnd.IntN(3) == 0 {
				continue
			}
			sent[i]++
			id := uint32(1 + 2*sent[i])
			wg.Go(func() { a.headers(id, refs, true); a.settle() })
		}
		wg.Wait()
		if round%2 == 0 {
			waitFor(t, "all to park", func() bool { return park.ReadStats().Parked == conns })
		}
	}
	waitFor(t, "all to park", func() bool { return park.ReadStats().Parked == conns })
	mu.Lock()
	defer mu.Unlock()
	total := 0
	for c, l := range got {
		for _, r := range l {
			total++
			if r.token != l[0].token || r.path != l[0].path || r.method != r.server || r.server != l[0].server {
				t.Errorf("%p: %+v, and before %+v", c, r, l[0])
			}
			if r.path == "lax" && r.server == "one" {
				t.Errorf("a call without a slash on a strict server: %+v", r)
			}
		}
	}
	t.Log(total, "calls,", len(got), "connections")
}

// The same of clients: their servers answer with the same octets.
func TestAttackNothingLeaksToClients(t *testing.T) {
	needsParking(t)
	const conns, rounds = 24, 40
	s := startServer(t, "unix", ServerConfig{}, func(s *ServerStream) {
		token := s.IncomingHeader()["token"][0]
		_ = s.SendHeader(metadata.Pairs("you", token))
		echoUnary(s)
	})
	call := func(c *Client, token string) error {
		p := payload([]byte(token))
		st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Unary", MaxRecvMsgSize: 1 << 20, Auth: []string{"token", token}}, &p, true)
		if err != nil {
			return err
		}
		st.AwaitEnd()
		m, err := st.Recv()
		if err != nil {
			return err
		}
		defer m.Data.Free()
		if you := st.Header()["you"]; string(m.Data.ReadOnlyData()) != token || !slices.Equal(you, []string{token}) {
			return fmt.Errorf("%s and %q for %s", m.Data.ReadOnlyData(), you, token)
		}
		if err := take(st); err != io.EOF { // there is one message
			return fmt.Errorf("the end is %w", err)
		}
		return nil
	}
	all := s.dialMany(conns)
	for range rounds {
		var wg sync.WaitGroup
		for i, c := range all {
			wg.Go(func() {
				if err := call(c, fmt.Sprintf("tok-%02d", i/2)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		waitParked(t, 2*conns)
	}
}
