// SPDX-License-Identifier: Apache-2.0

// Command processed is a client that is built with this module and with the published one: it
// makes the RPCs that it is told to, one after the other, and says all that it sees of each. The
// bootstrap configuration comes from the environment.
//
// Each line of its input is a JSON object, and so is each line of its output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// rpc is an RPC to make: a unary one if Unary is set, else a stream both ways.
type rpc struct {
	Target, Method string
	Headers        []string // names and values in turn
	Unary          bool
	Send           []string
	Seconds        float64 // 0: five
}

// outcome is what was seen.
type outcome struct {
	Code, Message   string
	Header, Trailer metadata.MD
	Received        []string
}

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
		o := &outcome{}
		err := o.do(&r, cc)
		o.Code, o.Message = status.Code(err).String(), status.Convert(err).Message()
		if err := out.Encode(o); err != nil {
			log.Fatal(err)
		}
	}
	for _, cc := range channels {
		cc.Close()
	}
}

func (o *outcome) do(r *rpc, cc *grpc.ClientConn) error {
	limit := 5 * time.Second
	if r.Seconds > 0 {
		limit = time.Duration(r.Seconds * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, r.Headers...)
	if r.Unary {
		var m wrapperspb.StringValue
		err := cc.Invoke(ctx, r.Method, wrapperspb.String(r.Send[0]), &m, grpc.Header(&o.Header), grpc.Trailer(&o.Trailer))
		if err == nil {
			o.Received = append(o.Received, m.GetValue())
		}
		return err
	}
	st, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, r.Method)
	if err != nil {
		return err
	}
	for _, text := range r.Send {
		if err := st.SendMsg(wrapperspb.String(text)); err != nil {
			break // what is received says why
		}
	}
	if err := st.CloseSend(); err != nil {
		return err
	}
	for {
		var m wrapperspb.StringValue
		if err = st.RecvMsg(&m); err != nil {
			break
		}
		o.Received = append(o.Received, m.GetValue())
	}
	o.Header, _ = st.Header()
	o.Trailer = st.Trailer()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
