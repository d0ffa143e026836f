// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"context"
	"runtime"
	"time"

	"google.golang.org/grpc"

	"google.golang.org/grpc/attack/internal/orders"
)

// work lets callers call a server that attacks, over and over, until the process ends.
func work(o orders.Work) error {
	for range max(o.Channels, 1) {
		cc, err := dial(o.Addr, o.Security, o.Handshaker)
		if err != nil {
			return err
		}
		cc.Connect()
		for range o.Callers {
			go func() {
				for {
					// What goes wrong is the attacker's doing. A program backs off.
					if err := once(cc, o); err != nil {
						time.Sleep(5 * time.Millisecond)
					}
				}
			}()
		}
	}
	return nil
}

func once(cc *grpc.ClientConn, o orders.Work) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.Deadline)
	defer cancel()
	if o.Method == orders.Echo {
		return cc.Invoke(ctx, o.Method, &message{Value: make([]byte, 128)}, &message{}, grpc.WaitForReady(o.Wait))
	}
	stream, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, o.Method, grpc.WaitForReady(o.Wait))
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
	case orders.Sink:
		out := &message{Value: make([]byte, 64<<10)}
		for err == nil {
			err = stream.SendMsg(out)
		}
	default:
		for err == nil {
			err = stream.RecvMsg(&message{})
		}
	}
	return err
}
