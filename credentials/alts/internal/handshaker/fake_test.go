// SPDX-License-Identifier: Apache-2.0

package handshaker

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
	"google.golang.org/grpc/internal/altsconn"
	"google.golang.org/protobuf/proto"
)

// fakeService is a handshaker service without a network: answer is called for each
// request, and the stream ends when it returns an error.
type fakeService struct {
	grpc.ClientConnInterface
	answer func(*altspb.HandshakerReq) (*altspb.HandshakerResp, error)
	ctx    context.Context // of the last stream
}

func (s *fakeService) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if s.answer == nil {
		return nil, errors.New("no stream")
	}
	s.ctx = ctx
	return &fakeStream{ctx: ctx, answer: s.answer}, nil
}

type fakeStream struct {
	grpc.ClientStream
	ctx    context.Context
	answer func(*altspb.HandshakerReq) (*altspb.HandshakerResp, error)
	req    *altspb.HandshakerReq
}

func (s *fakeStream) SendMsg(m any) error {
	s.req = proto.Clone(m.(proto.Message)).(*altspb.HandshakerReq)
	return nil
}

func (s *fakeStream) RecvMsg(m any) error {
	resp, err := s.answer(s.req)
	if err == nil {
		proto.Merge(m.(proto.Message), resp)
	}
	return err
}

// feed is the peer: it plays back chunks, then the end.
type feed struct {
	net.Conn
	chunks  [][]byte
	written []byte
	last    error // comes with the last chunk, once
}

func (f *feed) Read(p []byte) (int, error) {
	if len(f.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.chunks[0])
	if f.chunks[0] = f.chunks[0][n:]; len(f.chunks[0]) == 0 {
		f.chunks = f.chunks[1:]
	}
	if len(f.chunks) == 0 {
		return n, f.last
	}
	return n, nil
}

func (f *feed) Write(p []byte) (int, error) {
	f.written = append(f.written, p...)
	return len(p), nil
}
func (f *feed) Close() error                { return nil }
func (f *feed) SetDeadline(time.Time) error { return nil }

// result returns a good one.
func result() *altspb.HandshakerResult {
	id := &altspb.Identity{IdentityOneof: &altspb.Identity_ServiceAccount{ServiceAccount: "a"}}
	key := make([]byte, 128)
	for i := range key {
		key[i] = byte(i)
	}
	return &altspb.HandshakerResult{
		ApplicationProtocol: "grpc",
		RecordProtocol:      altsconn.AES128GCMRekey,
		KeyData:             key,
		PeerIdentity:        id,
		LocalIdentity:       id,
		PeerRpcVersions:     rpcVersions(),
		MaxFrameSize:        1 << 20,
	}
}
