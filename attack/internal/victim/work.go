// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"google.golang.org/grpc/attack/internal/orders"
)

// worker is what calls a server that attacks.
type worker struct {
	cancel   context.CancelFunc
	channels []*grpc.ClientConn
	callers  sync.WaitGroup
}

// start lets callers call, over and over, until the work is stopped.
func (w *worker) start(o orders.Work) error {
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	for range max(o.Channels, 1) {
		cc, err := dialWork(o)
		if err != nil {
			return err
		}
		w.channels = append(w.channels, cc)
		cc.Connect()
		for range o.Callers {
			w.callers.Go(func() {
				for ctx.Err() == nil {
					// What goes wrong is the attacker's doing. A program backs off.
					if err := once(ctx, cc, o); err != nil {
						time.Sleep(5 * time.Millisecond)
					}
				}
			})
		}
	}
	return nil
}

// stop cancels the calls, closes the channels, and waits for the callers.
func (w *worker) stop() error {
	if w.cancel == nil {
		return nil
	}
	w.cancel()
	for _, cc := range w.channels {
		_ = cc.Close() // it was not closed before
	}
	w.channels = nil
	done := make(chan struct{})
	go func() {
		w.callers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(20 * time.Second):
		return errors.New("calls that were cancelled go on")
	}
}

func once(ctx context.Context, cc *grpc.ClientConn, o orders.Work) error {
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	if o.Vary {
		ctx = metadata.AppendToOutgoingContext(ctx, "k", strconv.FormatUint(rand.Uint64(), 36))
	}
	if o.HandedOver && hasHandOver {
		return onceHanded(ctx, func(options ...grpc.CallOption) (grpc.ClientStream, error) {
			return cc.NewStream(ctx, bidirectional, o.Method, append(options, grpc.WaitForReady(o.Wait))...)
		}, sends(o.Method))
	}
	if o.Method == orders.Echo {
		return cc.Invoke(ctx, o.Method, &message{Value: make([]byte, 128)}, &message{}, grpc.WaitForReady(o.Wait))
	}
	stream, err := cc.NewStream(ctx, bidirectional, o.Method, grpc.WaitForReady(o.Wait))
	if err != nil {
		return err
	}
	switch o.Method {
	case orders.Deaf:
		<-ctx.Done()
		return nil
	case orders.Asks:
		md, err := stream.Header()
		if err != nil {
			return err
		}
		<-ctx.Done()
		runtime.KeepAlive(md)
		return nil
	case orders.Keeps:
		md, err := stream.Header()
		keep(md)
		return err
	case orders.Sink, orders.Trickle:
		for out := sends(o.Method); err == nil; {
			err = stream.SendMsg(out)
		}
	default:
		for err == nil {
			err = stream.RecvMsg(&message{})
		}
	}
	return err
}

var bidirectional = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

// sends is the message that callers of a method send without end, if they do.
func sends(method string) *message {
	switch method {
	case orders.Sink:
		return large
	case orders.Trickle:
		return tiny
	}
	return nil
}
