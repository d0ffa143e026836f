// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
)

// Worker is a client: channel after channel.
type Worker struct {
	*Tally
	Link     Link
	Name     string
	Addr     string
	Cut      *Sockets      // nil: nobody touches its sockets
	CutThere bool          // the server's end is cut
	Light    bool          // messages are small, but for a few
	Hasty    bool          // all calls are cancelled at once, or soon
	Patience time.Duration // how long a call may take; 0: as long as Patience
}

// Life is that of a channel: some calls at once, a pause in which it parks, again.
func (w *Worker) Life(ctx context.Context) {
	cc, err := w.Link.Dial(w.Addr, w.Cut)
	if err != nil {
		w.Fault("%s: %v", w.Name, err)
		return
	}
	defer cc.Close()
	rounds := 20
	if w.Light { // to open a channel costs more than a call
		rounds = 100
	}
	for range 1 + rand.N(rounds) {
		if ctx.Err() != nil {
			return
		}
		var calls sync.WaitGroup
		for range 1 + rand.N(8) {
			calls.Go(func() { w.judge(w.call(cc)) })
		}
		calls.Wait()
		Pause(ctx, rand.N(10*time.Millisecond))
	}
}

// errWanted ends a call as it was meant to end.
var errWanted = errors.New("cancelled, as it was meant to be")

// call makes a call of one kind or another.
func (w *Worker) call(cc *grpc.ClientConn) error {
	patience := w.Patience
	if patience == 0 {
		patience = Patience
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	options := []grpc.CallOption{grpc.WaitForReady(true)}
	seldom := 4
	if w.Light {
		seldom = 32
	}
	if rand.N(seldom) == 0 {
		options = append(options, grpc.UseCompressor(gzip.Name))
	}
	w.Calls.Add(1)
	began := time.Now()
	hangs := time.AfterFunc(patience/2, func() { w.Hangs(cc.Target(), time.Since(began)) })
	defer hangs.Stop()
	kind := rand.N(8)
	if w.Hasty {
		kind = 3
	}
	switch kind {
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

func (w *Worker) echo(ctx context.Context, cc *grpc.ClientConn, method string, options []grpc.CallOption) error {
	in, out := w.payload(), &message{}
	if err := cc.Invoke(ctx, method, in, out, options...); err != nil {
		return err
	}
	if !bytes.Equal(in.GetValue(), out.GetValue()) {
		return errCorrupt
	}
	return nil
}

// hasty is cancelled at a random moment, or ends before that.
func (w *Worker) hasty(ctx context.Context, cc *grpc.ClientConn, options []grpc.CallOption) error {
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
func (w *Worker) chat(ctx context.Context, cc *grpc.ClientConn, options []grpc.CallOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.Streams.Add(1)
	stream, err := cc.NewStream(ctx, bidirectional, methodChat, options...)
	if err != nil {
		return err
	}
	leaves := rand.N(4) == 0
	for range 1 + rand.N(10) {
		in, out := w.payload(), &message{}
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
			Pause(ctx, rand.N(5*time.Millisecond))
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
func (w *Worker) pull(ctx context.Context, cc *grpc.ClientConn, options []grpc.CallOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.Streams.Add(1)
	stream, err := cc.NewStream(ctx, bidirectional, methodPull, options...)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(w.payload()); err != nil && err != io.EOF {
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

// Hangs tells of a call that takes long, and prints what everyone is doing.
func (w *Worker) Hangs(target string, so time.Duration) {
	fmt.Fprintf(os.Stderr, "%s %s, sockets cut %t: a call takes %v so far\n", w.Name, target, w.isCut(), so)
	w.Stacks()
}

func (w *Worker) payload() *message {
	if w.Light && rand.N(8) > 0 {
		return small()
	}
	return payload()
}

// judge notes what an error may not be: any where nobody cut, and what a cut does not
// explain.
func (w *Worker) judge(err error) {
	if err == nil || err == errWanted {
		return
	}
	w.Failed.Add(1)
	if err == errCorrupt || !w.isCut() || !explains(err) {
		w.Fault("%s, sockets cut %t: %v", w.Name, w.isCut(), err)
	}
}

func (w *Worker) isCut() bool { return w.Cut != nil || w.CutThere }

// explains reports whether a socket that was cut explains err. Where the machine is slow none may
// last for as long as a handshake takes, until the call's time is up.
func explains(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable:
		return true
	case codes.DeadlineExceeded:
		return strings.Contains(err.Error(), "latest balancer error: connection error")
	}
	return false
}
