// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
)

// numberedBundle has other credentials each time.
type numberedBundle struct {
	asked  *atomic.Int32
	shakes chan string // who made a handshake
}

func (b numberedBundle) TransportCredentials() credentials.TransportCredentials {
	return namedCreds{insecure.NewCredentials(), fmt.Sprint("creds ", b.asked.Add(1)), b.shakes}
}

func (b numberedBundle) PerRPCCredentials() credentials.PerRPCCredentials {
	return tokens{name: fmt.Sprint("token-", b.asked.Load())}
}

func (b numberedBundle) NewWithMode(string) (credentials.Bundle, error) { return b, nil }

// TestBundleOfEachConnection: what a bundle says counts for one connection.
func TestBundleOfEachConnection(t *testing.T) {
	for _, of := range []string{"channel", "subchannel"} {
		got := make(chan metadata.MD, 10)
		e := newEcho()
		e.unary = func(ctx context.Context, m *text) (*text, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			got <- md
			return m, nil
		}
		first, second := serve(t, e), serve(t, e)
		b := numberedBundle{new(atomic.Int32), make(chan string, 10)}
		opts := balancer.NewSubConnOptions{}
		creds := []DialOption{WithTransportCredentials(nil), WithCredentialsBundle(b)}
		if of == "subchannel" {
			//lint:ignore SA1019 balancers may still set it
			opts.CredsBundle = b
			creds = nil
		}
		move := make(chan func(), 1) // to the other server
		cc := scriptedChannel(t, first.addr, func(s *scripted, state balancer.ClientConnState) error {
			sc, err := s.subConn(state.ResolverState.Addresses, opts, func(sc balancer.SubConn) balancer.Picker {
				return pickFunc(func(balancer.PickInfo) (balancer.PickResult, error) { return balancer.PickResult{SubConn: sc}, nil })
			})
			//lint:ignore SA1019 balancers may still call it
			move <- func() { s.UpdateAddresses(sc, []resolver.Address{{Addr: second.addr}}) }
			sc.Connect()
			return err
		}, creds...)
		var shakes, sent []string
		for range 2 {
			if err := call(testContext(t), cc, "x", WaitForReady(true)); err != nil {
				t.Fatalf("%s: %v", of, err)
			}
			shakes = append(shakes, <-b.shakes)
			for name := range <-got {
				if strings.HasPrefix(name, "token-") {
					sent = append(sent, name)
				}
			}
			select {
			case f := <-move:
				f()
			default:
			}
		}
		if len(sent) != 2 || shakes[0] == shakes[1] || sent[0] == sent[1] {
			t.Errorf("%s: handshakes by %q, RPCs with %q", of, shakes, sent)
		}
	}
}
