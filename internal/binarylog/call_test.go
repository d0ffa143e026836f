// SPDX-License-Identifier: Apache-2.0

package binarylog

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// memory is a Sink.
type memory struct {
	entries []*pb.GrpcLogEntry
	err     error
}

func (m *memory) Write(e *pb.GrpcLogEntry) error {
	m.entries = append(m.entries, e)
	return m.err
}

func (m *memory) Close() error { return nil }

// begin returns the log of a call, and where it goes.
func begin(t *testing.T, side Side, filter string) (*Call, *memory) {
	t.Helper()
	f, err := parseFilter(filter)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{}
	SetSink(m)
	t.Cleanup(func() { SetSink(nil) })
	return newCall(context.Background(), side, "/a.S/M", f, nil), m
}

// want compares the entries, without times and the number of the call, with those in text
// format.
func want(t *testing.T, m *memory, entries ...string) {
	t.Helper()
	if len(m.entries) != len(entries) {
		t.Fatalf("%d entries: %v", len(m.entries), m.entries)
	}
	for i, e := range m.entries {
		if e.CallId == 0 || e.CallId != m.entries[0].CallId || e.SequenceIdWithinCall != uint64(i+1) || e.Timestamp == nil {
			t.Errorf("entry %d: %v", i, e)
		}
		e = proto.CloneOf(e)
		e.CallId, e.SequenceIdWithinCall, e.Timestamp = 0, 0, nil
		wanted := &pb.GrpcLogEntry{}
		if err := prototext.Unmarshal([]byte(entries[i]), wanted); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(e, wanted) {
			t.Errorf("entry %d:\ngot  %v\nwant %v", i, e, wanted)
		}
	}
}

func TestServerCall(t *testing.T) {
	c, m := begin(t, Server, "*")
	peer := &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}
	c.ClientHeader(ClientHeader{
		Method: "/a.S/M", Authority: "host", Timeout: time.Second, Peer: peer,
		Metadata: metadata.MD{
			"k": {"v", "w"}, "bin-bin": {"\x00\xff"}, "grpc-timeout": {"1S"}, "grpc-trace-bin": {"t"},
			"user-agent": {"u"}, ":path": {"p"}, "content-type": {"c"}, "te": {"trailers"}, "lb-token": {"l"},
			"authorization": {"secret"},
		},
	})
	message := []byte("request")
	c.Message(Client, message)
	clear(message) // the caller's own again
	c.HalfClose()
	c.ServerHeader(metadata.MD{"k": {"v"}, "authorization": {"secret"}}, peer)
	c.Message(Server, nil)
	c.Trailer(status.New(codes.NotFound, "gone"), metadata.MD{"k": {"v"}, "authorization": {"secret"}}, peer)
	c.Cancel()
	want(
		t, m,
		`type: EVENT_TYPE_CLIENT_HEADER logger: LOGGER_SERVER peer { type: TYPE_IPV4 address: "1.2.3.4" ip_port: 5 } client_header {
			method_name: "/a.S/M" authority: "host" timeout { seconds: 1 } metadata {
				entry { key: "bin-bin" value: "\000\377" } entry { key: "grpc-trace-bin" value: "t" } entry { key: "k" value: "v" } entry { key: "k" value: "w" }
			} }`,
		`type: EVENT_TYPE_CLIENT_MESSAGE logger: LOGGER_SERVER message { length: 7 data: "request" }`,
		`type: EVENT_TYPE_CLIENT_HALF_CLOSE logger: LOGGER_SERVER`,
		`type: EVENT_TYPE_SERVER_HEADER logger: LOGGER_SERVER server_header { metadata { entry { key: "k" value: "v" } } }`,
		`type: EVENT_TYPE_SERVER_MESSAGE logger: LOGGER_SERVER message {}`,
		`type: EVENT_TYPE_SERVER_TRAILER logger: LOGGER_SERVER trailer { status_code: 5 status_message: "gone" metadata { entry { key: "k" value: "v" } } }`,
		`type: EVENT_TYPE_CANCEL logger: LOGGER_SERVER`,
	)
}

// TestTrailersOnly: a client learns the peer from whatever comes first.
func TestTrailersOnly(t *testing.T) {
	c, m := begin(t, Client, "a.S/M{h}")
	c.ClientHeader(ClientHeader{Method: "/a.S/M"})
	c.Message(Client, []byte("abc"))
	c.Trailer(nil, nil, &net.UnixAddr{Name: "/x", Net: "unix"})
	want(
		t, m,
		`type: EVENT_TYPE_CLIENT_HEADER logger: LOGGER_CLIENT client_header { method_name: "/a.S/M" metadata {} }`,
		`type: EVENT_TYPE_CLIENT_MESSAGE logger: LOGGER_CLIENT payload_truncated: true message { length: 3 }`,
		`type: EVENT_TYPE_SERVER_TRAILER logger: LOGGER_CLIENT peer { type: TYPE_UNIX address: "/x" } trailer { metadata {} }`,
	)
}

func TestLimits(t *testing.T) {
	c, m := begin(t, Client, "*{h:10;m:4}")
	md := metadata.MD{"aa": {"12345678"}, "b": {"1", ""}, "grpc-trace-bin": {"not counted, and never cut"}}
	c.ServerHeader(md, nil)
	c.Message(Server, []byte("1234"))
	c.Message(Server, []byte("12345"))
	want(
		t, m,
		`type: EVENT_TYPE_SERVER_HEADER logger: LOGGER_CLIENT payload_truncated: true server_header { metadata {
			entry { key: "aa" value: "12345678" } entry { key: "grpc-trace-bin" value: "not counted, and never cut" } } }`,
		`type: EVENT_TYPE_SERVER_MESSAGE logger: LOGGER_CLIENT message { length: 4 data: "1234" }`,
		`type: EVENT_TYPE_SERVER_MESSAGE logger: LOGGER_CLIENT payload_truncated: true message { length: 5 data: "1234" }`,
	)
}

func TestStatusDetails(t *testing.T) {
	s, err := status.New(codes.Aborted, "x").WithDetails(durationpb.New(1))
	if err != nil {
		t.Fatal(err)
	}
	c, m := begin(t, Client, "*")
	c.Trailer(s, nil, nil)
	encoded, err := proto.Marshal(s.Proto())
	if err != nil {
		t.Fatal(err)
	}
	if got := m.entries[0].GetTrailer().StatusDetails; string(got) != string(encoded) {
		t.Errorf("%q", got)
	}
}

func TestNotLogged(t *testing.T) {
	if c, _ := begin(t, Client, "b.S/*"); c != nil {
		t.Error("another service")
	}
	c, _ := begin(t, Client, "*")
	SetSink(nil)
	filter := &Filter{all: &Limits{}}
	if newCall(context.Background(), Client, "/a.S/M", filter, nil) != nil {
		t.Error("no sink")
	}
	if c == nil {
		t.Error("no log")
	}
	if NewCall(context.Background(), Client, "/a.S/M", nil) != nil {
		t.Error("no filter in the environment")
	}
	allocs := testing.AllocsPerRun(100, func() {
		c := NewCall(context.Background(), Client, "/a.S/M", nil)
		c.ClientHeader(ClientHeader{})
		c.ServerHeader(nil, nil)
		c.Message(Client, nil)
		c.HalfClose()
		c.Cancel()
		c.Trailer(nil, nil, nil)
	})
	if allocs != 0 {
		t.Errorf("%v allocations for what is not logged", allocs)
	}
}

// TestSinkFails: the RPC does not notice. Nothing follows the end of a client's RPC.
func TestSinkFails(t *testing.T) {
	c, m := begin(t, Client, "*")
	m.err = errors.New("full")
	c.Message(Client, nil)
	c.Cancel()
	c.Message(Server, nil) // received after the end
	if len(m.entries) != 2 {
		t.Errorf("%v", m.entries)
	}
}

func TestAddresses(t *testing.T) {
	for want, a := range map[string]net.Addr{
		`type:TYPE_IPV6 address:"::1" ip_port:2`:  &net.TCPAddr{IP: net.IPv6loopback, Port: 2, Zone: "eth0"},
		`type:TYPE_UNIX address:"@x"`:             &net.UnixAddr{Name: "@x", Net: "unix"},
		`type:TYPE_UNKNOWN address:"203.0.113.9"`: &net.IPAddr{IP: net.IPv4(203, 0, 113, 9)},
	} {
		expected := &pb.Address{}
		if err := prototext.Unmarshal([]byte(want), expected); err != nil {
			t.Fatal(err)
		}
		if got := addressOf(a); !proto.Equal(got, expected) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// one is a Logger of the method /a.S/M, with two entries' contexts.
type one struct {
	*TruncatingMethodLogger
	entries  []*pb.GrpcLogEntry
	contexts []context.Context
}

func (o *one) GetMethodLogger(method string) MethodLogger {
	if method != "/a.S/M" {
		return nil
	}
	o.TruncatingMethodLogger = NewTruncatingMethodLogger(3, 4)
	return o
}

func (o *one) Log(ctx context.Context, c LogEntryConfig) {
	o.entries = append(o.entries, o.Build(c))
	o.contexts = append(o.contexts, ctx)
}

// TestLogger: a Logger gets all entries with the RPC's context, cut by its own limits,
// beside the sink's, which has its own.
func TestLogger(t *testing.T) {
	f, err := parseFilter("*")
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{}
	SetSink(m)
	defer SetSink(nil)
	o := &one{}
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "v")
	c := newCall(context.Background(), Client, "/a.S/M", f, o)
	c.In(ctx)
	md := metadata.MD{"a": {"1"}, "b": {"22"}}
	message := []byte("12345")
	c.ClientHeader(ClientHeader{Method: "/a.S/M", Metadata: md})
	c.Message(Client, message)
	c.ServerHeader(md, nil)
	c.Trailer(nil, md, nil)
	clear(message)
	cut := `metadata { entry { key: "a" value: "1" } } }`
	want(
		t, &memory{entries: o.entries},
		`type: EVENT_TYPE_CLIENT_HEADER logger: LOGGER_CLIENT payload_truncated: true client_header { method_name: "/a.S/M" `+cut,
		`type: EVENT_TYPE_CLIENT_MESSAGE logger: LOGGER_CLIENT payload_truncated: true message { length: 5 data: "1234" }`,
		`type: EVENT_TYPE_SERVER_HEADER logger: LOGGER_CLIENT payload_truncated: true server_header { `+cut,
		`type: EVENT_TYPE_SERVER_TRAILER logger: LOGGER_CLIENT payload_truncated: true trailer { `+cut,
	)
	for i, e := range m.entries {
		if e.PayloadTruncated || e.CallId == o.entries[i].CallId || e.SequenceIdWithinCall != uint64(i+1) {
			t.Errorf("to the sink: %v", e)
		}
	}
	for _, got := range o.contexts {
		if got != ctx {
			t.Errorf("context %v", got)
		}
	}
	if newCall(ctx, Server, "/a.S/Other", nil, o) != nil {
		t.Error("a method is logged that neither wants")
	}
	NewTruncatingMethodLogger(0, 0).Log(ctx, &entry{whole: &pb.GrpcLogEntry{}}) // there is a sink
	SetSink(nil)
	NewTruncatingMethodLogger(0, 0).Log(ctx, &entry{whole: &pb.GrpcLogEntry{}}) // goes nowhere
	if len(m.entries) != 5 {
		t.Errorf("%d entries in the sink, want 5", len(m.entries))
	}
}

// TestEntriesKeepNoMore: a sink that keeps cut entries keeps nothing of what was cut off.
func TestEntriesKeepNoMore(t *testing.T) {
	const calls, pad = 100, 20 << 10
	before := liveHeap()
	var kept [][]*pb.GrpcLogEntry
	for range calls {
		c, m := begin(t, Server, "*{h:10;m:4}")
		md := metadata.MD{"aa": {"12345678"}, "pad": {strings.Repeat("p", pad)}}
		c.ClientHeader(ClientHeader{Method: "/a.S/M", Authority: "a", Metadata: md})
		c.Message(Client, make([]byte, pad))
		c.ServerHeader(md, nil)
		c.Trailer(status.New(codes.Aborted, "text"), md, nil)
		kept = append(kept, m.entries)
	}
	if each := (liveHeap() - before) / calls; each > 4<<10 {
		t.Errorf("the four entries of a call keep %d bytes", each)
	}
	runtime.KeepAlive(kept)
}

func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What does not fit is not copied either: a log that keeps ten bytes of the metadata costs about as much
// for values of a MiB as for short ones.
func TestValuesThatDoNotFitAreNotCopied(t *testing.T) {
	const calls = 20
	c, _ := begin(t, Server, "*{h:10;m:4}")
	md := metadata.MD{"pad": {strings.Repeat("p", 1<<20)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		c.ClientHeader(ClientHeader{Method: "/a.S/M", Authority: "a", Metadata: md})
		c.ServerHeader(md, nil)
		c.Trailer(status.New(codes.Aborted, "text"), md, nil)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / calls; each > 64<<10 {
		t.Errorf("three entries cost %d bytes", each)
	}
}

// A peer may send any bytes where entries have text.
func TestEntriesOfAnyBytes(t *testing.T) {
	c, m := begin(t, Server, "*")
	c.ClientHeader(ClientHeader{Method: "/s/\xff", Authority: "a\xff", Peer: &net.UnixAddr{Name: "\xff", Net: "unix"}})
	c.Trailer(status.New(codes.NotFound, "\xff"), nil, nil)
	detailed, err := status.New(codes.NotFound, "\xff").WithDetails(&pb.Message{Length: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.Trailer(detailed, nil, nil)
	for _, e := range m.entries {
		if _, err := proto.Marshal(e); err != nil {
			t.Errorf("%v: %v", e.Type, err)
		}
	}
	if len(m.entries) != 3 || len(m.entries[2].GetTrailer().GetStatusDetails()) == 0 {
		t.Errorf("%v", m.entries)
	}
}

// TestNoHalfCloseAfterTheEnd: the half-close of another goroutine is not logged after the end.
func TestNoHalfCloseAfterTheEnd(t *testing.T) {
	for _, end := range []func(*Call){(*Call).Cancel, func(c *Call) { c.Trailer(nil, nil, nil) }} {
		c, m := begin(t, Server, "*")
		end(c)
		c.HalfClose()
		if len(m.entries) != 1 {
			t.Error(m.entries)
		}
	}
}
