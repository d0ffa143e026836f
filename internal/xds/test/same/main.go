// SPDX-License-Identifier: Apache-2.0

// Command same is a client that is built with this module and with the published one: it makes
// the RPCs that it is told to, and says where they ended. The bootstrap configuration comes from
// the environment.
//
// Each line of its input is a JSON object, and so is each line of its output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// rpc is an RPC to make.
type rpc struct {
	Target, Method string
	Headers        []string // names and values in turn
	Times          int      // how often
	Fast           bool     // it does not wait for a connection
	Briefly        bool     // it waits for a short time only
	Tells          bool     // an empty outcome says that the first one is about to begin
}

// outcome is how RPCs ended: how often by which server, or with which code.
type outcome map[string]int

func main() {
	channels := make(map[string]*grpc.ClientConn)
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for in.More() {
		var r rpc
		if err := in.Decode(&r); err != nil {
			log.Fatal(err)
		}
		cc := channels[r.Target]
		if cc == nil {
			var err error
			if cc, err = grpc.NewClient(r.Target, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
				log.Fatal(err)
			}
			channels[r.Target] = cc
		}
		if r.Tells {
			if err := out.Encode(outcome{}); err != nil {
				log.Fatal(err)
			}
		}
		ends := outcome{}
		for left := r.Times; left > 0; left-- {
			end := r.do(cc)
			ends[end]++
			if end == codes.DeadlineExceeded.String() { // so do the others
				ends[end] += left - 1
				break
			}
		}
		if err := out.Encode(ends); err != nil {
			log.Fatal(err)
		}
	}
	for _, cc := range channels {
		cc.Close()
	}
}

func (r *rpc) do(cc *grpc.ClientConn) string {
	patience := 5 * time.Second
	if r.Briefly {
		patience = 200 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, r.Headers...)
	var name wrapperspb.StringValue
	if err := cc.Invoke(ctx, r.Method, &emptypb.Empty{}, &name, grpc.WaitForReady(!r.Fast)); err != nil {
		return status.Code(err).String()
	}
	return name.GetValue()
}
