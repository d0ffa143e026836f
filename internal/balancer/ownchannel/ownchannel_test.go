// SPDX-License-Identifier: Apache-2.0

package ownchannel

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
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
