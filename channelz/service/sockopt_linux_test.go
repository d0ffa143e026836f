// SPDX-License-Identifier: Apache-2.0

package service

import (
	"net"
	"slices"
	"testing"
	"time"

	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
)

func TestSystemOptions(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetLinger(7); err != nil {
		t.Fatal(err)
	}
	rc, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range systemOptions(rc) {
		names = append(names, o.GetName())
		value, err := o.GetAdditional().UnmarshalNew()
		if err != nil {
			t.Errorf("%s: %v", o.GetName(), err)
		}
		switch v := value.(type) {
		case *channelzpb.SocketOptionLinger:
			if !v.GetActive() || v.GetDuration().AsDuration() != 7*time.Second {
				t.Errorf("linger: %v", v)
			}
		case *channelzpb.SocketOptionTcpInfo:
			if v.GetTcpiState() != 1 || v.GetTcpiSndMss() == 0 {
				t.Errorf("info: %v", v)
			}
		}
	}
	if want := []string{"SO_LINGER", "SO_RCVTIMEO", "SO_SNDTIMEO", "TCP_INFO"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	_ = conn.Close()
	if o := systemOptions(rc); o != nil {
		t.Errorf("a closed socket has %v", o)
	}
	if o := systemOptions(nil); o != nil {
		t.Errorf("what is no socket has %v", o)
	}
}
