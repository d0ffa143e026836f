// SPDX-License-Identifier: Apache-2.0

package ownchannel

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestChannelzParent(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	parent := channelz.NewNode(nil, channelz.Channel, "parent")
	defer parent.Close()
	cc, err := grpc.NewClient("passthrough:///own", Options(balancer.BuildOptions{ChannelzParent: parent}, nil)...)
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	top, _ := channelz.TopChannels(channelz.Page{})
	if len(top) != 1 || top[0].Name != "parent" || len(top[0].Children) != 1 {
		t.Errorf("channels at the top: %+v", top)
	}
}

// emptyBundle has no credentials at all, and no modes.
type emptyBundle struct{ credentials.Bundle }

func (emptyBundle) TransportCredentials() credentials.TransportCredentials { return nil }

// TestBundleOfChannel: without a bundle of its own, the balancer's channel has that of the channel that it is for. It is not
// insecure because a bundle's channel tells no transport credentials.
func TestBundleOfChannel(t *testing.T) {
	cc, err := grpc.NewClient("passthrough:///own", Options(balancer.BuildOptions{CredsBundle: emptyBundle{}}, nil)...)
	if err == nil || !strings.Contains(err.Error(), "must return non-nil transport credentials") {
		t.Errorf("%v, %v", cc, err)
	}
}
