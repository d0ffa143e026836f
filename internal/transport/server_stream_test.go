// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/warm"
)

// TestRunningHandlerCounts: a handler whose call is over counts as running until it returns, and for as
// long as programs are told of the end, so a peer can't have more of them than it may have streams.
func TestRunningHandlerCounts(t *testing.T) {
	for name, end := range map[string]func(*ServerStream){
		"watched reply": func(s *ServerStream) {
			s.Watched()
			_ = s.Reply(payload([]byte("reply")))
		},
		"end before the return": func(s *ServerStream) { _ = s.Finish(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var begun atomic.Int32
				goOn := make(chan struct{})
				s := startServer(t, "memory", ServerConfig{MaxStreams: 1}, func(s *ServerStream) {
					begun.Add(1)
					end(s)
					s.Flush()
					<-goOn
				})
				c, _ := s.dial(nil)
				call := func() *ClientStream {
					st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Any"}, nil, true)
					if err != nil {
						t.Fatal(err)
					}
					return st
				}
				call().AwaitEnd()
				second := call()
				synctest.Wait()
				if n := begun.Load(); n != 1 {
					t.Errorf("%d handlers run, and one may", n)
				}
				close(goOn)
				second.AwaitEnd()
			})
		})
	}
}

// keptTasks is a kernel that runs tasks, until it is told to keep them.
type keptTasks struct {
	park.Kernel // nil: there are no sockets
	keeps       atomic.Bool
	kept        chan warm.Task
}

func (k *keptTasks) Go(t warm.Task) {
	if k.keeps.Load() {
		k.kept <- t
		return
	}
	go t.Run()
}

// TestWatchedEndIsSentBeside: the goroutine that tells programs of the end of a call does not send the end. It has
// the time of a switch between goroutines to tell them before the client knows, and the client does not wait for them.
func TestWatchedEndIsSentBeside(t *testing.T) {
	for name, end := range map[string]func(*ServerStream) error{
		"reply": func(s *ServerStream) error { return s.Reply(payload([]byte("reply"))) },
		"end":   func(s *ServerStream) error { return s.Finish(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &keptTasks{kept: make(chan warm.Task, 1)}
				may, told := make(chan struct{}), make(chan struct{})
				cfg := ServerConfig{Tuning: Tuning{Ground: park.NewGround(k)}}
				s := startServer(t, "memory", cfg, func(s *ServerStream) {
					s.Watched()
					<-may
					if err := end(s); err != nil {
						t.Error(err)
					}
					<-told
				})
				defer close(told)
				c, _ := s.dial(nil)
				st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Any"}, nil, true)
				if err != nil {
					t.Fatal(err)
				}
				var ended atomic.Bool
				go func() { st.AwaitEnd(); ended.Store(true) }()
				synctest.Wait() // else the reader, whose batch is not over, may send the end
				k.keeps.Store(true)
				close(may)
				synctest.Wait()
				if ended.Load() || len(k.kept) == 0 {
					t.Fatal("the handler's goroutine has sent the end")
				}
				k.keeps.Store(false)
				(<-k.kept).Run()
				synctest.Wait()
				if !ended.Load() {
					t.Error("the client waits for the handler's goroutine")
				}
			})
		})
	}
}
