// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/examples/restart/hubpb"
	"google.golang.org/grpc/experimental/debugpage"
	"google.golang.org/grpc/experimental/drain"
	"google.golang.org/grpc/experimental/limits"
	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/status"
)

// hub serves the log.
type hub struct {
	hubpb.UnimplementedHubServer
	log *eventLog
}

// Publish implements hubpb.HubServer.
func (h *hub) Publish(_ context.Context, req *hubpb.PublishRequest) (*hubpb.PublishResponse, error) {
	if len(req.GetText()) > maxText {
		return nil, status.Errorf(codes.InvalidArgument, "the text has %d bytes, at most %d may be", len(req.GetText()), maxText)
	}
	n, err := h.log.append(req.GetText())
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &hubpb.PublishResponse{Number: n}, nil
}

// Follow implements hubpb.HubServer. When the connection drains it says goodbye, so that the client
// comes again at once, on another connection, with the number of the event that it lacks.
func (h *hub) Follow(req *hubpb.FollowRequest, stream grpc.ServerStreamingServer[hubpb.FollowResponse]) error {
	draining := drain.Done(stream.Context())
	for n := req.GetNext(); ; n++ {
		text, err := h.log.read(stream.Context(), draining, n)
		if err == errStopped {
			return stream.Send(&hubpb.FollowResponse{Goodbye: true})
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&hubpb.FollowResponse{Text: text}); err != nil {
			return err
		}
	}
}

// patience is how long a server that is told to stop waits for its RPCs.
const patience = 10 * time.Second

// serve runs one server until SIGTERM. Others may listen on the same address meanwhile.
func serve(addr, path, debugAddr string) error {
	events, err := openLog(path)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	go events.watch(watching)

	// Take no more than this machine can serve. What exceeds a limit is refused before a handler starts.
	limiter := limits.New(limits.Limits{Connections: 10_000, RPCs: 50_000, BytesHeld: 256 << 20})
	var control servercontrol.Control
	server := grpc.NewServer(control.Option(), limiter.Option())
	hubpb.RegisterHubServer(server, &hub{log: events})
	if debugAddr != "" {
		// Only for who looks after the process.
		http.Handle("/debug/grpc", &debugpage.Page{Servers: []*servercontrol.Control{&control}})
		go func() { log.Print(http.ListenAndServe(debugAddr, nil)) }()
	}

	lis, err := listen(addr)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(lis) }()
	fmt.Println("ready") // for who has started this process
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = control.GracefulStop(end)
	if left, ok := errors.AsType[*servercontrol.UnfinishedError](err); ok {
		log.Printf("breaking off: %v", left)
	}
	server.Stop()
	return err
}
