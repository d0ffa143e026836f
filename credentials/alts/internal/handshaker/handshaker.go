// SPDX-License-Identifier: Apache-2.0

package handshaker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/alts/internal/authinfo"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
	"google.golang.org/grpc/internal/altsconn"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

const (
	// readSize is the size in bytes of the buffer for one read from the peer.
	readSize = 4 << 10
	// maxPending bounds the bytes from the peer that the service has not yet consumed.
	// The frames of a handshake are far smaller.
	maxPending = 64 << 10
)

// Client does the client's handshake on raw, and returns the secured connection. It fails
// when ctx ends, and only then changes raw's deadlines. It never closes raw: if the error is
// nil, the returned connection owns raw.
func Client(ctx context.Context, raw net.Conn, cfg Config) (net.Conn, *authinfo.Info, error) {
	return run(ctx, raw, &cfg, altsconn.Client)
}

// Server is like Client, but does the server's handshake.
func Server(ctx context.Context, raw net.Conn, cfg Config) (net.Conn, *authinfo.Info, error) {
	return run(ctx, raw, &cfg, altsconn.Server)
}

func run(ctx context.Context, raw net.Conn, cfg *Config, side altsconn.Side) (net.Conn, *authinfo.Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream as well
	if cfg.Pool == nil {
		cfg.Pool = mem.DefaultBufferPool()
	}
	if cfg.MaxRecord == 0 {
		cfg.MaxRecord = altsconn.MaxRecord
	}
	h := &handshake{ctx: ctx, raw: readyreader.NewSocket(raw), cfg: cfg, side: side}
	result, err := h.interruptible()
	if err != nil {
		return nil, nil, err
	}
	if err := check(result); err != nil {
		return nil, nil, err
	}
	c, err := altsconn.New(h.raw, altsconn.Config{
		Side:      side,
		Protocol:  result.GetRecordProtocol(),
		Key:       result.GetKeyData()[:altsconn.KeySize(result.GetRecordProtocol())],
		MaxRecord: negotiate(cfg.MaxRecord, result.GetMaxFrameSize()),
		Leftover:  h.pending,
		Pool:      cfg.Pool,
		LowWater:  cfg.LowWater,
	})
	if err != nil {
		return nil, nil, err
	}
	return c, authinfo.New(result), nil
}

// handshake is one handshake: an exchange of frames with the peer, and of requests and
// responses about them with the service.
type handshake struct {
	ctx  context.Context
	raw  readyreader.Socket // keeps an error that comes with the peer's last bytes
	cfg  *Config
	side altsconn.Side

	stream  altspb.HandshakerService_DoHandshakeClient
	pending []byte    // bytes from the peer that the service has not yet consumed
	sentAt  time.Time // when bytes were last written to the peer
	latency time.Duration
}

// interruptible calls exchange, and interrupts its reads and writes on raw when the context
// ends.
func (h *handshake) interruptible() (*altspb.HandshakerResult, error) {
	stop := context.AfterFunc(h.ctx, func() { h.raw.Conn.SetDeadline(time.Unix(1, 0)) })
	result, err := h.exchange()
	if !stop() && h.ctx.Err() != nil {
		return nil, fmt.Errorf("alts: handshake: %w", context.Cause(h.ctx))
	}
	return result, err
}

func (h *handshake) exchange() (*altspb.HandshakerResult, error) {
	if h.side == altsconn.Server {
		// The server reads before it uses the service: many clients connect and send nothing.
		if err := h.read(); err != nil {
			return nil, err
		}
	} else {
		if err := h.cfg.Slots.take(h.ctx); err != nil {
			return nil, err
		}
		defer h.cfg.Slots.free()
	}
	for req := h.start(); ; req = h.next() {
		resp, err := h.ask(req)
		if err != nil {
			return nil, err
		}
		if err := h.answer(resp); err != nil {
			return nil, err
		}
		if resp.GetResult() != nil {
			return resp.GetResult(), nil
		}
		// The bytes that the service did not consume may hold another frame. If it
		// consumed any, it gets the rest at once, and otherwise together with more bytes.
		if len(h.pending) == 0 || resp.GetBytesConsumed() == 0 {
			if err := h.read(); err != nil {
				return nil, err
			}
		}
	}
}

// ask sends a request to the service and returns its response. A server holds a slot only
// during ask: the bound protects the service, and clients that begin a handshake and then
// stall must not keep others out.
func (h *handshake) ask(req *altspb.HandshakerReq) (*altspb.HandshakerResp, error) {
	if h.side == altsconn.Server {
		if err := h.cfg.Slots.take(h.ctx); err != nil {
			return nil, err
		}
		defer h.cfg.Slots.free()
	}
	if h.stream == nil {
		var err error
		h.stream, err = altspb.NewHandshakerServiceClient(h.cfg.Service).DoHandshake(h.ctx)
		if err != nil {
			return nil, fmt.Errorf("failed to establish stream to ALTS handshaker service: %v", err) //nolint:errorlint // no status, as in the published module
		}
	}
	// If Send fails, Recv returns the stream's error.
	_ = h.stream.Send(req)
	resp, err := h.stream.Recv()
	if err != nil {
		return nil, fmt.Errorf("alts: handshaker service: %w", err)
	}
	return resp, nil
}

// answer drops the bytes that the service has consumed, writes the response's frames to the
// peer, and returns an error if the handshake has failed. It writes the frames in that case
// too, because they may tell the peer why.
func (h *handshake) answer(resp *altspb.HandshakerResp) error {
	n := resp.GetBytesConsumed()
	if uint64(n) > uint64(len(h.pending)) { // an int may be too small for n
		return fmt.Errorf("alts: handshaker service: consumed %d bytes of %d", n, len(h.pending))
	}
	h.pending = h.pending[n:]
	if out := resp.GetOutFrames(); len(out) > 0 {
		if _, err := h.raw.Write(out); err != nil {
			return fmt.Errorf("alts: handshake: writing to the peer: %w", err)
		}
		h.sentAt = time.Now()
	}
	if s := resp.GetStatus(); s.GetCode() != uint32(codes.OK) {
		return fmt.Errorf("alts: handshake failed: %w", status.Error(codes.Code(s.GetCode()), s.GetDetails()))
	}
	return nil
}

// read appends what the peer sends next to pending. It holds a buffer while it waits.
func (h *handshake) read() error {
	if len(h.pending) >= maxPending {
		return errors.New("alts: handshake: the peer sends too much")
	}
	buf := h.cfg.Pool.Get(readSize)
	defer h.cfg.Pool.Put(buf)
	n, err := h.raw.Read(*buf)
	if n == 0 && err != nil {
		return fmt.Errorf("alts: handshake: reading from the peer: %w", err)
	}
	if !h.sentAt.IsZero() {
		h.latency = time.Since(h.sentAt)
	}
	h.pending = append(h.pending, (*buf)[:n]...)
	return nil
}

func (h *handshake) start() *altspb.HandshakerReq {
	if h.side == altsconn.Client {
		return clientStart(h.cfg)
	}
	return serverStart(h.cfg, h.pending)
}

func (h *handshake) next() *altspb.HandshakerReq {
	return &altspb.HandshakerReq{ReqOneof: &altspb.HandshakerReq_Next{Next: &altspb.NextHandshakeMessageReq{
		InBytes:          h.pending,
		NetworkLatencyMs: uint32(h.latency.Milliseconds()),
	}}}
}
