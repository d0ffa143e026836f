// SPDX-License-Identifier: Apache-2.0

package altstest

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
)

func newParty(t testing.TB, hold bool) *party {
	t.Helper()
	s, err := newSession()
	if err != nil {
		t.Fatal(err)
	}
	return &party{session: s, hold: hold}
}

func clientStart(accounts ...string) *altspb.HandshakerReq {
	r := &altspb.StartClientHandshakeReq{ApplicationProtocols: []string{"grpc"}, RecordProtocols: []string{"R"}, MaxFrameSize: 7}
	for _, a := range accounts {
		r.TargetIdentities = append(r.TargetIdentities, identityOr(nil, a))
	}
	return &altspb.HandshakerReq{ReqOneof: &altspb.HandshakerReq_ClientStart{ClientStart: r}}
}

func serverStart(in []byte) *altspb.HandshakerReq {
	return &altspb.HandshakerReq{ReqOneof: &altspb.HandshakerReq_ServerStart{ServerStart: &altspb.StartServerHandshakeReq{
		ApplicationProtocols: []string{"grpc"},
		HandshakeParameters:  map[int32]*altspb.ServerHandshakeParameters{2: {RecordProtocols: []string{"Q", "R"}}},
		InBytes:              in,
		MaxFrameSize:         9,
	}}}
}

func next(in []byte) *altspb.HandshakerReq {
	return &altspb.HandshakerReq{ReqOneof: &altspb.HandshakerReq_Next{Next: &altspb.NextHandshakeMessageReq{InBytes: in}}}
}

// ok returns the response's frames.
func ok(t *testing.T, r *altspb.HandshakerResp) []byte {
	t.Helper()
	if r.GetStatus().GetCode() != 0 {
		t.Fatalf("%v", r.GetStatus())
	}
	return r.GetOutFrames()
}

// The two sides end up with one key, byte by byte too, whoever keeps what is
// unfinished. What follows the handshake is not consumed.
func TestExchange(t *testing.T) {
	for _, hold := range []bool{false, true} {
		c, s := newParty(t, hold), newParty(t, hold)
		hello := ok(t, c.handle(clientStart()))
		var reply []byte
		pending := hello[:1]
		resp := s.handle(serverStart(pending))
		for i := 1; ; i++ {
			reply = append(reply, ok(t, resp)...)
			pending = pending[resp.GetBytesConsumed():]
			if i == len(hello) {
				break
			}
			pending = append(bytes.Clone(pending), hello[i])
			resp = s.handle(next(pending))
		}
		resp = c.handle(next(append(reply, "data"...)))
		finished := ok(t, resp)
		if resp.GetBytesConsumed() != uint32(len(reply)) {
			t.Errorf("the client consumed %d of %d bytes", resp.GetBytesConsumed(), len(reply))
		}
		atClient := resp.GetResult()
		resp = s.handle(next(append(finished, "data"...)))
		ok(t, resp)
		if resp.GetBytesConsumed() != uint32(len(finished)) {
			t.Errorf("the server consumed %d of %d bytes", resp.GetBytesConsumed(), len(finished))
		}
		atServer := resp.GetResult()
		if len(atClient.GetKeyData()) != keyDataSize || !bytes.Equal(atClient.GetKeyData(), atServer.GetKeyData()) {
			t.Error("the keys differ")
		}
		if atClient.GetRecordProtocol() != "R" || atServer.GetMaxFrameSize() != 7 || atClient.GetMaxFrameSize() != 9 ||
			atClient.GetPeerIdentity().GetServiceAccount() != ServerAccount || atServer.GetPeerIdentity().GetServiceAccount() != ClientAccount {
			t.Errorf("results: %v, %v", atClient, atServer)
		}
	}
}

func TestRejections(t *testing.T) {
	hello := ok(t, newParty(t, false).handle(clientStart()))
	c := newParty(t, false)
	own := ok(t, c.handle(clientStart("somebody else")))
	reply := ok(t, newParty(t, false).handle(serverStart(own)))
	bad := bytes.Clone(reply)
	bad[len(bad)-1] ^= 1
	for name, tt := range map[string]struct {
		resp *altspb.HandshakerResp
		want codes.Code
	}{
		"empty":            {newParty(t, false).handle(&altspb.HandshakerReq{}), codes.InvalidArgument},
		"next first":       {newParty(t, false).handle(next(nil)), codes.FailedPrecondition},
		"wrong account":    {c.handle(next(reply)), codes.PermissionDenied},
		"unknown frame":    {newParty(t, false).handle(serverStart(appendFrame(nil, 9, nil))), codes.InvalidArgument},
		"wrong frame":      {newParty(t, false).handle(serverStart(reply)), codes.InvalidArgument},
		"alert":            {newParty(t, false).handle(serverStart(alertFrame(errors.New("no")))), codes.Aborted},
		"huge frame":       {newParty(t, false).handle(serverStart([]byte{0, 0, 1, 0})), codes.InvalidArgument},
		"short hello":      {newParty(t, false).handle(serverStart(appendFrame(nil, clientInit, hello[8:20]))), codes.InvalidArgument},
		"a server's hello": {newParty(t, false).handle(clientStart()), codes.OK},
	} {
		if got := codes.Code(tt.resp.GetStatus().GetCode()); got != tt.want {
			t.Errorf("%s: %v, want %v", name, tt.resp.GetStatus(), tt.want)
		}
		if tt.want != codes.OK && len(tt.resp.GetOutFrames()) == 0 {
			t.Errorf("%s: the peer is not told", name)
		}
	}
	c = newParty(t, false)
	s := newParty(t, false)
	bad = ok(t, s.handle(serverStart(ok(t, c.handle(clientStart())))))
	bad[len(bad)-1] ^= 1
	if got := codes.Code(c.handle(next(bad)).GetStatus().GetCode()); got != codes.Unauthenticated {
		t.Errorf("a wrong MAC: %v", got)
	}
	if got := codes.Code(s.handle(next(appendFrame(nil, clientFinished, []byte("x")))).GetStatus().GetCode()); got != codes.Unauthenticated {
		t.Errorf("a wrong MAC of the client: %v", got)
	}
}

// FuzzFrames feeds anything to the sides of a handshake.
func FuzzFrames(f *testing.F) {
	s, err := newSession()
	if err != nil {
		f.Fatal(err)
	}
	p := &party{session: s}
	hello := p.handle(clientStart()).GetOutFrames()
	f.Add(hello, uint8(3), true)
	f.Add(append(bytes.Clone(hello), "more"...), uint8(0), false)
	f.Add(alertFrame(errors.New("no")), uint8(1), true)
	f.Add([]byte{4, 0, 0, 0, 1, 0, 0, 0}, uint8(8), false)
	f.Fuzz(func(t *testing.T, in []byte, cut uint8, hold bool) {
		n := min(int(cut), len(in))
		p := newParty(t, hold)
		resp := p.handle(serverStart(in[:n]))
		if int(resp.GetBytesConsumed()) > n {
			t.Fatalf("consumed %d of %d bytes", resp.GetBytesConsumed(), n)
		}
		rest := in[resp.GetBytesConsumed():]
		if resp = p.handle(next(rest)); int(resp.GetBytesConsumed()) > len(rest) {
			t.Fatalf("consumed %d of %d bytes", resp.GetBytesConsumed(), len(rest))
		}
		typ, body, size, err := cutFrame(in)
		if err == nil && size > 0 && !bytes.Equal(appendFrame(nil, typ, body), in[:size]) {
			t.Fatal("the frame changed")
		}
	})
}
