// SPDX-License-Identifier: Apache-2.0

// Command restart restarts a server again and again while clients follow its events and publish
// some, and counts what was lost.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/examples/restart/hubpb"
)

// trial says what main does.
type trial struct {
	conns, followers, publishers int
	restarts                     int
	every                        time.Duration
	debug                        string
}

func main() {
	if len(os.Args) == 5 && os.Args[1] == "serve" {
		if err := serve(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			log.Fatal(err)
		}
		return
	}
	var t trial
	flag.IntVar(&t.conns, "conns", 10, "connections of clients")
	flag.IntVar(&t.followers, "followers", 100, "streams on each of them")
	flag.IntVar(&t.publishers, "publishers", 4, "callers that publish one event after the other")
	flag.IntVar(&t.restarts, "restarts", 3, "how often the server is restarted")
	flag.DurationVar(&t.every, "every", 2*time.Second, "how long a server serves")
	flag.StringVar(&t.debug, "debug", "", "where each server shows its debug page, such as localhost:6060 (the first that has it keeps it)")
	flag.Parse()
	if err := t.run(); err != nil {
		log.Fatal(err)
	}
}

// run restarts servers under load and compares what each follower has seen with what was accepted.
func (t *trial) run() error {
	dir, err := os.MkdirTemp("", "restart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	held, err := listen("127.0.0.1:0") // so that nobody else gets the port; nobody accepts on it
	if err != nil {
		return err
	}
	addr := held.Addr().String()
	path := filepath.Join(dir, "events")
	server, err := start(addr, path, t.debug)
	if err != nil {
		return err
	}
	held.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	load, err := begin(ctx, t, addr)
	if err != nil {
		return err
	}
	for range t.restarts {
		time.Sleep(t.every)
		next, err := start(addr, path, t.debug)
		if err != nil {
			return err
		}
		if err := stop(server); err != nil {
			return err
		}
		server = next
	}
	time.Sleep(t.every)
	err = load.end()
	return errors.Join(err, stop(server))
}

// start starts a server, and returns when it serves.
func start(addr, path, debug string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "serve", addr, path, debug)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the server does not serve: %w", errors.Join(err, cmd.Wait()))
	}
	return cmd, nil
}

// stop has a server drain, and waits for its end.
func stop(server *exec.Cmd) error {
	began := time.Now()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := server.Wait(); err != nil {
		return fmt.Errorf("a server has not ended well: %w", err)
	}
	fmt.Printf("server %d has drained in %v\n", server.Process.Pid, time.Since(began).Round(time.Millisecond))
	return nil
}

// load is the clients.
type load struct {
	ctx       context.Context
	conns     []*grpc.ClientConn
	followers []*follower
	tally     tally

	following  sync.WaitGroup
	publishing sync.WaitGroup
	stop       context.CancelFunc // of the publishers

	mu        sync.Mutex
	published int
	errs      []error
}

// begin makes the clients and starts them.
func begin(ctx context.Context, t *trial, addr string) (*load, error) {
	l := &load{ctx: ctx}
	publishing, stop := context.WithCancel(ctx)
	l.stop = stop
	for range t.conns {
		cc, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		l.conns = append(l.conns, cc)
		for range t.followers {
			f := &follower{client: hubpb.NewHubClient(cc), tally: &l.tally}
			l.followers = append(l.followers, f)
			l.following.Go(func() { l.note(0, f.follow(ctx)) })
		}
	}
	for i := range t.publishers {
		c := hubpb.NewHubClient(l.conns[i%len(l.conns)])
		l.publishing.Go(func() { l.note(publish(publishing, c, i)) })
	}
	return l, nil
}

func (l *load) note(published int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.published += published
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// end publishes the last event, waits until all have seen it, and compares.
func (l *load) end() error {
	l.stop()
	l.publishing.Wait()
	if _, err := hubpb.NewHubClient(l.conns[0]).Publish(l.ctx, &hubpb.PublishRequest{Text: endText}, grpc.WaitForReady(true)); err != nil {
		return err
	}
	l.following.Wait()
	for _, cc := range l.conns {
		cc.Close()
	}
	if err := errors.Join(l.errs...); err != nil {
		return err
	}
	for i, f := range l.followers {
		if err := f.check(l.published + 1); err != nil {
			return fmt.Errorf("follower %d: %w", i, err)
		}
	}
	fmt.Printf("%d events were published and accepted; each of %d followers has seen each once: %d messages, %d goodbyes, %d streams broken\n",
		l.published, len(l.followers), l.tally.events.Load(), l.tally.goodbyes.Load(), l.tally.broken.Load())
	return nil
}

// check compares what a follower has seen with the number of events that were accepted.
func (f *follower) check(want int) error {
	once := make(map[string]bool, len(f.seen))
	for _, text := range f.seen {
		if once[text] {
			return fmt.Errorf("%q has come twice", text)
		}
		once[text] = true
	}
	if len(f.seen) != want {
		return fmt.Errorf("%d events have come, of %d", len(f.seen), want)
	}
	return nil
}
