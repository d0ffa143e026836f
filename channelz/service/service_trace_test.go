// SPDX-License-Identifier: Apache-2.0

package service

import (
	"slices"
	"testing"

	"google.golang.org/grpc"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// TestServiceConfigTrace: a channel's trace tells each change of its service config, and nothing where an answer of
// the resolver brings the same again (gRFC A3).
func TestServiceConfigTrace(t *testing.T) {
	r := manual.NewBuilderWithScheme("trace")
	cc := must(grpc.NewClient("trace:///x", grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	defer cc.Close()
	r.InitialState(resolver.State{})
	cc.Connect()

	var s server
	changes := func() (n int) {
		page := must(s.GetTopChannels(t.Context(), &channelzpb.GetTopChannelsRequest{}))(t)
		i := slices.IndexFunc(page.Channel, func(c *channelzpb.Channel) bool { return c.Data.Target == "trace:///x" })
		for _, e := range page.Channel[i].Data.Trace.Events {
			if e.Description == "Service config changed" {
				n++
			}
		}
		return n
	}
	if n := changes(); n != 0 {
		t.Errorf("without a service config: %d changes", n)
	}
	for i, js := range []string{`{}`, `{}`, `{"methodConfig":[]}`, `{"methodConfig":[]}`} {
		_ = r.CC().UpdateState(resolver.State{ServiceConfig: r.CC().ParseServiceConfig(js)}) // which has no address
		if n := changes(); n != 1+i/2 {
			t.Errorf("after %d answers: %d changes, want %d", i+1, n, 1+i/2)
		}
	}
}
