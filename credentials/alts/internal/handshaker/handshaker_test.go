// SPDX-License-Identifier: Apache-2.0

package handshaker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
	"google.golang.org/grpc/internal/altsconn"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/status"
)

// records returns p as the records that the other side would send.
func records(t testing.TB, side altsconn.Side, p []byte) []byte {
	t.Helper()
	out := &feed{}
	c, err := altsconn.New(readyreader.NewSocket(out), altsconn.Config{Side: side, Protocol: altsconn.AES128GCMRekey, Key: result().GetKeyData()[:44]})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(p); err != nil {
		t.Fatal(err)
	}
	return out.written
}

// wordService understands a handshake of lines: it consumes whole lines (all bytes if
// it keeps what is unfinished), answers each with "ok", and is done with "done".
func wordService(keeps bool) *fakeService {
	kept := ""
	return &fakeService{answer: func(req *altspb.HandshakerReq) (*altspb.HandshakerResp, error) {
		in := string(req.GetNext().GetInBytes()) + string(req.GetServerStart().GetInBytes())
		resp := &altspb.HandshakerResp{}
		if req.GetClientStart() != nil {
			resp.OutFrames = []byte("hello\n")
		}
		all, off := kept+in, 0
		for {
			i := strings.IndexByte(all[off:], '\n')
			if i < 0 {
				break
			}
			line := all[off : off+i]
			off += i + 1
			if line == "done" {
				resp.Result = result()
				resp.BytesConsumed = uint32(off - len(kept))
				return resp, nil
			}
			resp.OutFrames = append(resp.OutFrames, "ok\n"...)
		}
		if keeps {
			kept = all[off:]
			resp.BytesConsumed = uint32(len(in))
		} else {
			resp.BytesConsumed = uint32(off)
		}
		return resp, nil
	}}
}

// The handshake works at every split of what the peer sends, and what follows it
// reaches the record connection.
func TestEverySplit(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		for _, side := range []altsconn.Side{altsconn.Client, altsconn.Server} {
			stream := append([]byte("first\nsecond\ndone\n"), records(t, side^1, []byte("application data"))...)
			for cut := 1; cut < len(stream); cut++ {
				for step := 1; step <= len(stream); step *= 7 {
					peer := &feed{chunks: [][]byte{stream[:cut]}}
					for rest := stream[cut:]; len(rest) > 0; {
						n := min(step, len(rest))
						peer.chunks = append(peer.chunks, rest[:n])
						rest = rest[n:]
					}
					c, info, err := run(t.Context(), peer, &Config{Service: wordService(keeps)}, side)
					if err != nil {
						t.Fatalf("keeps %t, side %d, cut %d, step %d: %v", keeps, side, cut, step, err)
					}
					got, err := io.ReadAll(c)
					if string(got) != "application data" || err != nil {
						t.Fatalf("cut %d, step %d: read %q, %v", cut, step, got, err)
					}
					if info.PeerServiceAccount() != "a" {
						t.Error("the info is not the result's")
					}
					if want := "ok\nok\n"; !strings.HasSuffix(string(peer.written), want) {
						t.Errorf("the peer got %q", peer.written)
					}
				}
			}
		}
	}
}

// TestLastErrorIsKept: an error that comes with the last bytes that the handshake reads is returned after them: by the
// record connection, or by the handshake if it needs more.
func TestLastErrorIsKept(t *testing.T) {
	reset := errors.New("reset")
	for _, side := range []altsconn.Side{altsconn.Client, altsconn.Server} {
		data := records(t, side^1, []byte("data"))
		for _, more := range [][]byte{nil, data} {
			peer := &feed{chunks: [][]byte{append([]byte("first\ndone\n"), more...)}, last: reset}
			c, _, err := run(t.Context(), peer, &Config{Service: wordService(true)}, side)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(c); len(got) != len("data")*min(1, len(more)) || err != reset {
				t.Errorf("side %v: read %q, %v", side, got, err)
			}
		}
		peer := &feed{chunks: [][]byte{[]byte("first\ndo")}, last: reset}
		if _, _, err := run(t.Context(), peer, &Config{Service: wordService(true)}, side); !errors.Is(err, reset) {
			t.Errorf("side %v: the handshake fails with %v", side, err)
		}
	}
}

func TestStartRequests(t *testing.T) {
	for side, check := range map[altsconn.Side]func(*altspb.HandshakerReq) bool{
		altsconn.Client: func(r *altspb.HandshakerReq) bool {
			s := r.GetClientStart()
			ids := s.GetTargetIdentities()
			return s.GetHandshakeSecurityProtocol() == altspb.HandshakeProtocol_ALTS &&
				len(s.GetApplicationProtocols()) == 1 && s.GetApplicationProtocols()[0] == "grpc" &&
				len(s.GetRecordProtocols()) == 1 && s.GetRecordProtocols()[0] == "ALTSRP_GCM_AES128_REKEY" &&
				s.GetTargetName() == "name" && s.GetMaxFrameSize() == 12345 &&
				len(ids) == 2 && ids[1].GetServiceAccount() == "two" &&
				s.GetRpcVersions().GetMaxRpcVersion().GetMinor() == 1 && s.GetRpcVersions().GetMinRpcVersion().GetMajor() == 2
		},
		altsconn.Server: func(r *altspb.HandshakerReq) bool {
			s := r.GetServerStart()
			p := s.GetHandshakeParameters()[2]
			return len(s.GetApplicationProtocols()) == 1 && s.GetApplicationProtocols()[0] == "grpc" &&
				len(p.GetRecordProtocols()) == 1 && p.GetRecordProtocols()[0] == "ALTSRP_GCM_AES128_REKEY" &&
				string(s.GetInBytes()) == "in" && s.GetMaxFrameSize() == 12345 &&
				s.GetRpcVersions().GetMaxRpcVersion().GetMajor() == 2
		},
	} {
		s := &fakeService{answer: func(req *altspb.HandshakerReq) (*altspb.HandshakerResp, error) {
			if !check(req) {
				t.Errorf("side %d: %v", side, req)
			}
			return &altspb.HandshakerResp{Result: result()}, nil
		}}
		_, _, err := run(t.Context(), &feed{chunks: [][]byte{[]byte("in")}}, &Config{
			Service: s, TargetName: "name", TargetServiceAccounts: []string{"one", "two"}, MaxRecord: 12345,
		}, side)
		if err != nil {
			t.Error(err)
		}
		if s.ctx.Err() == nil {
			t.Error("the stream's context goes on after the handshake")
		}
	}
}

func TestFailures(t *testing.T) {
	answer := func(r *altspb.HandshakerResp) *fakeService {
		return &fakeService{answer: func(*altspb.HandshakerReq) (*altspb.HandshakerResp, error) { return r, nil }}
	}
	broken := errors.New("the service is broken")
	for name, tt := range map[string]struct {
		service *fakeService
		want    string
		check   func(error) bool
	}{
		"no stream":     {&fakeService{}, "no stream", nil},
		"service fails": {&fakeService{answer: func(*altspb.HandshakerReq) (*altspb.HandshakerResp, error) { return nil, broken }}, "", func(err error) bool { return errors.Is(err, broken) }},
		"service ends":  {&fakeService{answer: func(*altspb.HandshakerReq) (*altspb.HandshakerResp, error) { return nil, io.EOF }}, "EOF", nil},
		"rejected": {
			answer(&altspb.HandshakerResp{OutFrames: []byte("alert"), Status: &altspb.HandshakerStatus{Code: 7, Details: "who are you"}}), "who are you",
			func(err error) bool { return status.Code(errors.Unwrap(err)) == codes.PermissionDenied },
		},
		"consumes more than there is": {answer(&altspb.HandshakerResp{BytesConsumed: 3}), "consumed", nil},
		"consumes 2 GiB":              {answer(&altspb.HandshakerResp{BytesConsumed: 1 << 31}), "consumed 2147483648 bytes of 1", nil},
		"consumes 4 GiB":              {answer(&altspb.HandshakerResp{BytesConsumed: 1<<32 - 1}), "consumed", nil},
		"peer hangs up":               {answer(&altspb.HandshakerResp{}), "EOF", nil},
	} {
		peer := &feed{chunks: [][]byte{[]byte("x")}}
		_, _, err := run(t.Context(), peer, &Config{Service: tt.service}, altsconn.Server)
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.check != nil && !tt.check(err) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "rejected" && string(peer.written) != "alert" {
			t.Errorf("the peer got %q", peer.written)
		}
	}
}

// Clients that begin a handshake and stall leave a server's places to others.
func TestStalledClients(t *testing.T) {
	for _, begin := range []string{"x", "first\n"} {
		synctest.Test(t, func(t *testing.T) {
			slots := NewSlots(1)
			ctx, cancel := context.WithCancel(t.Context())
			var stalled sync.WaitGroup
			for range 3 {
				near, far := net.Pipe()
				defer far.Close()
				go io.Copy(io.Discard, far)
				stalled.Go(func() {
					if _, _, err := run(ctx, near, &Config{Service: wordService(true), Slots: slots}, altsconn.Server); !errors.Is(err, context.Canceled) {
						t.Errorf("a stalled handshake ended with %v", err)
					}
					near.Close()
				})
				far.Write([]byte(begin))
			}
			synctest.Wait()
			soon, stop := context.WithTimeout(ctx, time.Second)
			defer stop()
			peer := &feed{chunks: [][]byte{[]byte("first\n"), []byte("done\n")}}
			if _, _, err := run(soon, peer, &Config{Service: wordService(true), Slots: slots}, altsconn.Server); err != nil {
				t.Error(err)
			}
			cancel()
			stalled.Wait()
			if len(slots) != 0 {
				t.Errorf("%d places are still taken", len(slots))
			}
		})
	}
}

// A peer that sends without end does not fill the memory.
func TestTooMuch(t *testing.T) {
	calls := 0
	s := &fakeService{answer: func(*altspb.HandshakerReq) (*altspb.HandshakerResp, error) {
		calls++
		return &altspb.HandshakerResp{}, nil
	}}
	_, _, err := run(t.Context(), &feed{chunks: [][]byte{make([]byte, 1<<20)}}, &Config{Service: s}, altsconn.Server)
	if err == nil || calls > maxPending/readSize+1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestCheck(t *testing.T) {
	for name, change := range map[string]func(*altspb.HandshakerResult){
		"application protocol": func(r *altspb.HandshakerResult) { r.ApplicationProtocol = "http" },
		"record protocol":      func(r *altspb.HandshakerResult) { r.RecordProtocol = "ALTSRP_X" },
		"short key":            func(r *altspb.HandshakerResult) { r.KeyData = r.KeyData[:43] },
		"no key":               func(r *altspb.HandshakerResult) { r.KeyData = nil },
		"no peer":              func(r *altspb.HandshakerResult) { r.PeerIdentity = nil },
		"no local":             func(r *altspb.HandshakerResult) { r.LocalIdentity = nil },
		"no versions":          func(r *altspb.HandshakerResult) { r.PeerRpcVersions = nil },
		"old versions":         func(r *altspb.HandshakerResult) { r.PeerRpcVersions = versions(1, 0, 2, 0) },
	} {
		r := result()
		change(r)
		if check(r) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for n, protocol := range map[int]string{16: altsconn.AES128GCM, 44: altsconn.AES128GCMRekey} {
		r := result()
		r.RecordProtocol, r.KeyData = protocol, r.KeyData[:n]
		if err := check(r); err != nil {
			t.Errorf("%s: %v", protocol, err)
		}
	}
}

// versions are those from a.b to c.d.
func versions(a, b, c, d uint32) *altspb.RpcProtocolVersions {
	return &altspb.RpcProtocolVersions{MinRpcVersion: &version{Major: a, Minor: b}, MaxRpcVersion: &version{Major: c, Minor: d}}
}

func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		a, b *altspb.RpcProtocolVersions
		want bool
	}{
		{versions(2, 1, 2, 1), versions(2, 1, 2, 1), true},
		{versions(1, 0, 2, 1), versions(2, 1, 3, 0), true},
		{versions(1, 0, 2, 1), versions(2, 2, 3, 0), false},
		{versions(1, 0, 2, 9), versions(3, 0, 4, 0), false},
		{versions(2, 0, 2, 9), versions(1, 5, 2, 3), true},
		{versions(2, 4, 2, 9), versions(1, 5, 2, 3), false},
		{versions(2, 1, 2, 1), nil, false},
	} {
		for _, pair := range [][2]*altspb.RpcProtocolVersions{{tt.a, tt.b}, {tt.b, tt.a}} {
			if err := checkVersions(pair[0], pair[1]); (err == nil) != tt.want {
				t.Errorf("%v and %v: %v", pair[0], pair[1], err)
			}
		}
	}
}

func TestNegotiate(t *testing.T) {
	for _, tt := range []struct {
		own  int
		peer uint32
		want int
	}{
		{1 << 20, 0, 16 << 10},
		{8 << 10, 0, 8 << 10},
		{1 << 20, 1 << 20, 1 << 20},
		{1 << 20, 128 << 10, 128 << 10},
		{64 << 10, 128 << 10, 64 << 10},
		{1 << 20, 4 << 10, 4 << 10},
		{1 << 20, 1, 4 << 10},
		{1 << 20, 1<<32 - 1, 1 << 20},
	} {
		if got := negotiate(tt.own, tt.peer); got != tt.want {
			t.Errorf("%d and %d: %d, want %d", tt.own, tt.peer, got, tt.want)
		}
	}
}

// Fuzz plays a service and a peer that send anything.
func FuzzHandshake(f *testing.F) {
	f.Add([]byte("first\ndone\nrest"), []byte{6, 0, 11, 9}, true)
	f.Add([]byte("first\ndone\nrest"), []byte{1, 1, 9, 9, 2, 0, 0xff}, false)
	f.Add(bytes.Repeat([]byte("x"), 200), []byte{0, 0, 0, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, stream, script []byte, server bool) {
		peer := &feed{chunks: [][]byte{stream}}
		calls := 0
		s := &fakeService{answer: func(*altspb.HandshakerReq) (*altspb.HandshakerResp, error) {
			if calls++; calls > len(script) {
				return nil, net.ErrClosed
			}
			c := script[calls-1]
			resp := &altspb.HandshakerResp{BytesConsumed: uint32(c >> 2), OutFrames: script[:c&1]}
			if c&2 != 0 {
				resp.Result = result()
				resp.Result.KeyData = resp.Result.KeyData[:c>>1]
			}
			return resp, nil
		}}
		side := altsconn.Client
		if server {
			side = altsconn.Server
		}
		c, info, err := run(t.Context(), peer, &Config{Service: s}, side)
		if (err == nil) != (c != nil) || (err == nil) != (info != nil) {
			t.Fatalf("%v, %v, %v", c, info, err)
		}
		if err == nil {
			io.Copy(io.Discard, c)
			c.Close()
		}
	})
}
