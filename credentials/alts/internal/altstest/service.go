// SPDX-License-Identifier: Apache-2.0

// Package altstest is a handshaker service for tests: a gRPC server that does the
// handshake for both parties, or for one party while another such server does it for
// the peer. The key agreement is real, but the service believes every identity.
package altstest

import (
	"errors"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
	"google.golang.org/grpc/status"
)

// The service accounts of a client and a server whose requests don't name any.
const (
	ClientAccount = "client@altstest.example.com"
	ServerAccount = "server@altstest.example.com"
)

// Service implements HandshakerService. The zero value is ready for use. The exported
// fields must be set before the first handshake.
type Service struct {
	altspb.UnimplementedHandshakerServiceServer

	// HoldPartial says that the service does not consume the bytes of an incomplete frame:
	// the party has to send them again. Without it the service consumes and keeps them.
	HoldPartial bool
	// Observe, if set, is called with every request. Several handshakes may call it at
	// the same time.
	Observe func(*altspb.HandshakerReq)
	// Amend, if set, changes a result before it is sent.
	Amend func(*altspb.HandshakerResult)

	mu     sync.Mutex
	active int // guarded by mu
	most   int
}

// Serve serves s on lis until the caller calls stop, which returns when the server has ended.
func Serve(lis net.Listener, s *Service) (stop func()) {
	srv := grpc.NewServer()
	altspb.RegisterHandshakerServiceServer(srv, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(lis) // returns when stop is called
	}()
	return func() {
		srv.Stop()
		<-done
	}
}

// Most returns the greatest number of handshakes that ran at the same time.
func (s *Service) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Active returns how many handshakes are running.
func (s *Service) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// DoHandshake implements the service.
func (s *Service) DoHandshake(stream altspb.HandshakerService_DoHandshakeServer) error {
	s.count(1)
	defer s.count(-1)
	ses, err := newSession()
	if err != nil {
		return err
	}
	p := party{session: ses, hold: s.HoldPartial}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if s.Observe != nil {
			s.Observe(req)
		}
		resp := p.handle(req)
		if r := resp.GetResult(); r != nil && s.Amend != nil {
			s.Amend(r)
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

func (s *Service) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active += n
	s.most = max(s.most, s.active)
}

// party is a session and the bytes that came from the party whose session it is.
type party struct {
	*session
	hold   bool
	server *altspb.StartServerHandshakeReq // nil if the party is a client
	begun  bool
	done   bool
	in     []byte // an incomplete frame
}

// handle answers a request.
func (p *party) handle(req *altspb.HandshakerReq) *altspb.HandshakerResp {
	var in, out []byte
	var err error
	switch r := req.GetReqOneof().(type) {
	case *altspb.HandshakerReq_ClientStart:
		if p.begun {
			return failed(0, status.Error(codes.FailedPrecondition, "a second start"))
		}
		out, err = p.clientInit(r.ClientStart, ClientAccount)
	case *altspb.HandshakerReq_ServerStart:
		if p.begun {
			return failed(0, status.Error(codes.FailedPrecondition, "a second start"))
		}
		p.server, in = r.ServerStart, r.ServerStart.GetInBytes()
	case *altspb.HandshakerReq_Next:
		if !p.begun || p.done {
			return failed(0, status.Error(codes.FailedPrecondition, "not in a handshake"))
		}
		in = r.Next.GetInBytes()
	default:
		return failed(0, status.Error(codes.InvalidArgument, "an empty request"))
	}
	p.begun = true
	if err != nil {
		return failed(0, err)
	}
	consumed, frames, err := p.feed(in)
	if err != nil {
		return failed(consumed, err)
	}
	resp := &altspb.HandshakerResp{
		OutFrames: append(out, frames...), BytesConsumed: uint32(consumed), Status: &altspb.HandshakerStatus{},
	}
	if p.done {
		resp.Result = p.result
	}
	return resp
}

// feed handles the frames in the bytes in, until the handshake is done. It returns how many of
// these bytes it has consumed, and the frames to send.
func (p *party) feed(in []byte) (consumed int, out []byte, err error) {
	held := len(p.in)
	all := append(p.in, in...)
	off := 0
	for !p.done {
		typ, body, n, err := cutFrame(all[off:])
		if err != nil {
			return off - held, nil, status.Error(codes.InvalidArgument, err.Error())
		}
		if n == 0 {
			break
		}
		off += n
		reply, err := p.frame(typ, body)
		if err != nil {
			return max(off-held, 0), nil, err
		}
		out = append(out, reply...)
	}
	if !p.done && !p.hold {
		p.in = all[off:]
		return len(in), out, nil
	}
	p.in = nil
	return off - held, out, nil
}

// frame handles one frame from the peer, and returns the reply.
func (p *party) frame(typ frameType, body []byte) (reply []byte, err error) {
	switch {
	case typ == alert:
		return nil, alertError(body)
	case p.server != nil && typ == clientInit && p.result == nil:
		return p.serverInit(body, p.server, ServerAccount)
	case p.server != nil && typ == clientFinished && p.result != nil:
		p.done = true
		return nil, p.finish(body)
	case p.server == nil && typ == serverInit:
		p.done = true
		return p.clientFinished(body)
	}
	return nil, status.Errorf(codes.InvalidArgument, "an unexpected frame of type %d", typ)
}

// failed returns a response that tells the party that the handshake has failed, with a frame
// that tells the peer.
func failed(consumed int, err error) *altspb.HandshakerResp {
	s := status.Convert(err)
	return &altspb.HandshakerResp{
		OutFrames:     alertFrame(err),
		BytesConsumed: uint32(max(consumed, 0)),
		Status:        &altspb.HandshakerStatus{Code: uint32(s.Code()), Details: s.Message()},
	}
}
