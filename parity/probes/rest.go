// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/weightedtarget" // that is looked at
	"google.golang.org/grpc/credentials/alts"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
)

// altsInfo is what ALTS knows of a peer: its account.
type altsInfo struct {
	alts.AuthInfo
	account string
}

func (altsInfo) AuthType() string             { return "alts" }
func (i altsInfo) PeerServiceAccount() string { return i.account }

// restProbes are of targets, accounts and configurations.
var restProbes = []probe.Probe{
	{Name: "accounts of ALTS", Run: func(p *probe.P) {
		for _, account := range []string{"", "a@x", "A@x", "a@X", "b@x"} {
			ctx := peer.NewContext(context.Background(), &peer.Peer{AuthInfo: altsInfo{account: account}})
			for _, wanted := range [][]string{nil, {"a@x"}, {"b", "A@X"}, {""}} {
				p.Printf("%q of %q: %s", account, wanted, rig.Err(alts.ClientAuthorizationCheck(ctx, wanted)))
			}
		}
		p.Printf("%s", rig.Err(alts.ClientAuthorizationCheck(context.Background(), nil)))
	}},
	{Name: "targets of weighted_target", Run: func(p *probe.P) {
		parser, ok := balancer.Get("weighted_target_experimental").(balancer.ConfigParser)
		p.Printf("%v", ok)
		for _, text := range []string{
			`{"targets":{"a":{"weight":1}}}`, `{"targets":{"a":{}}}`, `{}`, `{"targets":null}`,
			`{"targets":{"a":{"weight":1,"childPolicy":[{"round_robin":{}}]}}}`,
		} {
			_, err := parser.ParseConfig([]byte(text))
			p.Printf("%s: %v", text, err == nil)
		}
	}},
	{Name: "what dialers are given", Run: func(p *probe.P) {
		for _, target := range []string{
			"unix-abstract:a", "unix-abstract:///a", "unix-abstract:a/b", "unix:a", "unix:///a", "unix:a/b", "passthrough:///a", "127.0.0.1:1",
		} {
			addrs := make(chan string, 10)
			cc := channelTo(p, target, grpc.WithContextDialer(func(_ context.Context, addr string) (net.Conn, error) {
				addrs <- strings.Replace(addr, "\x00", "NUL", 1)
				return nil, errors.New("refused")
			}))
			err := cc.Invoke(p.Context(), rig.Unary, rig.M("q"), new(rig.Msg))
			p.Printf("%s: %q %s", target, <-addrs, rig.Err(err))
		}
	}},
}
