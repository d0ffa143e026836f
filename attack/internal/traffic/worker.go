// SPDX-License-Identifier: Apache-2.0

package stress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
)

// worker is a client: channel after channel.
type worker struct {
	*run
	link link
	name string
	addr string
	cut  *sockets // nil: nobody touches its sockets
}

// life is that of a channel: some calls at once, a pause in which it parks, again.
func (w worker) life(ctx context.Context) {
	cc, err := w.link.dial(w.addr, w.cut)
	if err != nil {
		w.fault("%s: %v", w.name, err)
		return
	}
	defer cc.Close()
	for range 1 + rand.N(20) {
		if ctx.Err() != nil {
			return
		}
		var calls sync.WaitGroup
		for range 1 + rand.N(8) {
			calls.Go(func() { w.judge(w.call(cc)) })
		}
		calls.Wait()
		pause(ctx, rand.N(10*time.Millisecond))
	}
}

// errWanted ends a call as it was meant to end.
var errWanted = errors.New("cancelled, as it was meant to be")

// call makes a call of one kind or another.
func (w worker) call(cc *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	options := []grpc.CallOption{grpc.WaitForReady(true)}
	if rand.N(4) == 0 {
		options = append(options, grpc.UseCompressor(gzip.Name))
	}
	w.calls.Add(1)
	hangs := time.AfterFunc(patience/2, w.stacks)
	defer hangs.Stop()
	switch rand.N(8) {
	case 0, 1:
		return w.chat(ctx, cc, options)
	case 2:
		return w.pull(ctx, cc, options)
	case 3:
		return w.hasty(ctx, cc, options)
	case 4:
		err := w.echo(ctx, cc, methodFlaky, options)
		if strings.HasSuffix(status.Convert(err).Message(), "flaky") {
			return nil // five times in a row
		}
		return err
	default:
		return w.echo(ctx, cc, methodEcho, options)
	}
}

func (w worker) echo(ctx context.Context, cc *grpc.ClientConn, method string, options []grpc.CallOption) error {
	in, out := payload(), &message{}
	if err := cc.Invoke(ctx, method, in, out, options...); err != nil {
		return err
	}
	if !bytes.Equal(in.GetValue(), out.GetValue()) {
		return errCorrupt
	}
	return nil
}

// hasty is cancelled at a random moment, or ends before that.
func (w worker) hasty(ctx context.Context, cc *grpc.ClientConn, options []grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, rand.N(5*time.Millisecond))
	defer cancel()
	err := w.echo(ctx, cc, methodEcho, options)
	if c := status.Code(err); c == codes.DeadlineExceeded || c == codes.Canceled {
		return errWanted
	}
	return err
}

var bidirectional = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

// chat sends messages and wants each of them back.
func (w worker) chat(ctx context.Context, cc *grpc.ClientConn, options []grpc.CallOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.streams.Add(1)
	stream, err := cc.NewStream(ctx, bidirectional, methodChat, options...)
	if err != nil {
		return err
	}
	leaves := rand.N(4) == 0
	for range 1 + rand.N(10) {
		in, out := payload(), &message{}
		// What a failed send has to say, the receive says.
		if err := stream.SendMsg(in); err != nil && err != io.EOF {
			return err
		}
		if err := stream.RecvMsg(out); err != nil {
			return err
		}
		if !bytes.Equal(in.GetValue(), out.GetValue()) {
			return errCorrupt
		}
		if rand.N(8) == 0 {
			pause(ctx, rand.N(5*time.Millisecond))
		}
	}
	if leaves {
		return errWanted
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if err := stream.RecvMsg(&message{}); err != io.EOF {
		return errors.Join(errors.New("no end of a stream"), err)
	}
	return nil
}

// pull reads what comes.
func (w worker) pull(ctx context.Context, cc *grpc.ClientConn, options []grpc.CallOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.streams.Add(1)
	stream, err := cc.NewStream(ctx, bidirectional, methodPull, options...)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(payload()); err != nil && err != io.EOF {
		return err
	}
	for {
		m := &message{}
		if err := stream.RecvMsg(m); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := check(m); err != nil {
			return err
		}
		if rand.N(50) == 0 {
			return errWanted
		}
	}
}

// judge notes what an error may not be: any where nobody cut, and what a cut does not
// explain.
func (w worker) judge(err error) {
	if err == nil || err == errWanted {
		return
	}
	w.failed.Add(1)
	if err == errCorrupt || w.cut == nil || !isCut(err) {
		w.fault("%s, sockets cut %t: %v", w.name, w.cut != nil, err)
	}
}

// isCut reports whether a socket that was cut explains err. Where the machine is slow none may
// last for as long as a handshake takes, until the call's time is up.
func isCut(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable:
		return true
	case codes.DeadlineExceeded:
		return strings.Contains(err.Error(), "latest balancer error: connection error")
	}
	return false
}
