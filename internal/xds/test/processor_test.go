// SPDX-License-Identifier: Apache-2.0

package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	gstats "google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// processor is a server that RPCs are shown to. What it does with them is a script.
type processor struct {
	procv3.UnimplementedExternalProcessorServer
	address string
	server  *grpc.Server

	mu     sync.Mutex
	script func(*conversation) error
	events []string
	conns  connCounter
	ends   chan error // one for each stream that has ended: that of its context
}

// connCounter is a stats handler that counts connections.
type connCounter struct{ begun, ended atomic.Int64 }

func (c *connCounter) TagRPC(ctx context.Context, _ *gstats.RPCTagInfo) context.Context   { return ctx }
func (c *connCounter) HandleRPC(context.Context, gstats.RPCStats)                         {}
func (c *connCounter) TagConn(ctx context.Context, _ *gstats.ConnTagInfo) context.Context { return ctx }

func (c *connCounter) HandleConn(_ context.Context, s gstats.ConnStats) {
	switch s.(type) {
	case *gstats.ConnBegin:
		c.begun.Add(1)
	case *gstats.ConnEnd:
		c.ended.Add(1)
	}
}

// conversation is a stream to a processor.
type conversation struct {
	procv3.ExternalProcessor_ProcessServer
	*processor
}

func newProcessor(t *testing.T) *processor {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &processor{address: lis.Addr().String(), ends: make(chan error, 1000)}
	p.server = grpc.NewServer(grpc.StatsHandler(&p.conns))
	procv3.RegisterExternalProcessorServer(p.server, p)
	go p.server.Serve(lis) // it ends with Stop
	t.Cleanup(p.server.Stop)
	return p
}

// Process implements the service.
func (p *processor) Process(st procv3.ExternalProcessor_ProcessServer) error {
	p.mu.Lock()
	script := p.script
	if md := metadata.ValueFromIncomingContext(st.Context(), "x-initial"); len(md) > 0 {
		p.events = append(p.events, "metadata "+md[0])
	}
	p.mu.Unlock()
	defer func() { p.ends <- st.Context().Err() }()
	return script(&conversation{st, p})
}

// play sets the script and forgets what was.
func (p *processor) play(script func(*conversation) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script, p.events = script, nil
}

// heard are the events since play.
func (p *processor) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.events)
}

// next receives an event.
func (c *conversation) next() (*procv3.ProcessingRequest, error) {
	r, err := c.Recv()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, describe(r))
	return r, nil
}

// describe says what an event is.
func describe(r *procv3.ProcessingRequest) string {
	var s strings.Builder
	headers := func(what string, m *corev3.HeaderMap) {
		s.WriteString(what)
		list := m.GetHeaders()
		slices.SortStableFunc(list, func(a, b *corev3.HeaderValue) int { return strings.Compare(a.GetKey(), b.GetKey()) })
		for _, h := range list {
			fmt.Fprintf(&s, " %s=%s%s", h.GetKey(), h.GetValue(), h.GetRawValue())
		}
	}
	body := func(what string, b *procv3.HttpBody) {
		var m wrapperspb.StringValue
		_ = proto.Unmarshal(b.GetBody(), &m)
		fmt.Fprintf(&s, "%s %q end=%t,%t", what, m.GetValue(), b.GetEndOfStream(), b.GetEndOfStreamWithoutMessage())
	}
	switch e := r.GetRequest().(type) {
	case *procv3.ProcessingRequest_RequestHeaders:
		headers("request headers", e.RequestHeaders.GetHeaders())
		fmt.Fprintf(&s, " end=%t", e.RequestHeaders.GetEndOfStream())
	case *procv3.ProcessingRequest_ResponseHeaders:
		headers("response headers", e.ResponseHeaders.GetHeaders())
		fmt.Fprintf(&s, " end=%t", e.ResponseHeaders.GetEndOfStream())
	case *procv3.ProcessingRequest_RequestBody:
		body("request", e.RequestBody)
	case *procv3.ProcessingRequest_ResponseBody:
		body("response", e.ResponseBody)
	case *procv3.ProcessingRequest_ResponseTrailers:
		headers("trailers", e.ResponseTrailers.GetTrailers())
	default:
		fmt.Fprintf(&s, "%T", e)
	}
	if r.GetProtocolConfig() != nil {
		fmt.Fprintf(&s, " first:%v,%v", r.GetProtocolConfig().GetRequestBodyMode(), r.GetProtocolConfig().GetResponseBodyMode())
	}
	if r.GetObservabilityMode() {
		s.WriteString(" observed")
	}
	for key, attributes := range r.GetAttributes() {
		text, _ := json.Marshal(attributes.AsMap())
		fmt.Fprintf(&s, " %s%s", key, text)
	}
	return s.String()
}

// same answers an event without a change.
func (c *conversation) same(r *procv3.ProcessingRequest) error {
	return c.Send(unchanged(r))
}

func unchanged(r *procv3.ProcessingRequest) *procv3.ProcessingResponse {
	switch e := r.GetRequest().(type) {
	case *procv3.ProcessingRequest_RequestHeaders:
		return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestHeaders{RequestHeaders: &procv3.HeadersResponse{}}}
	case *procv3.ProcessingRequest_ResponseHeaders:
		return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_ResponseHeaders{ResponseHeaders: &procv3.HeadersResponse{}}}
	case *procv3.ProcessingRequest_RequestBody:
		b := e.RequestBody
		return requestBody(&procv3.StreamedBodyResponse{Body: b.GetBody(), EndOfStream: b.GetEndOfStream(), EndOfStreamWithoutMessage: b.GetEndOfStreamWithoutMessage()})
	case *procv3.ProcessingRequest_ResponseBody:
		return responseBody(&procv3.StreamedBodyResponse{Body: e.ResponseBody.GetBody()})
	default:
		return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_ResponseTrailers{ResponseTrailers: &procv3.TrailersResponse{}}}
	}
}

func streamed(b *procv3.StreamedBodyResponse) *procv3.BodyResponse {
	return &procv3.BodyResponse{Response: &procv3.CommonResponse{BodyMutation: &procv3.BodyMutation{
		Mutation: &procv3.BodyMutation_StreamedResponse{StreamedResponse: b},
	}}}
}

func requestBody(b *procv3.StreamedBodyResponse) *procv3.ProcessingResponse {
	return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_RequestBody{RequestBody: streamed(b)}}
}

func responseBody(b *procv3.StreamedBodyResponse) *procv3.ProcessingResponse {
	return &procv3.ProcessingResponse{Response: &procv3.ProcessingResponse_ResponseBody{ResponseBody: streamed(b)}}
}

// message is the serialized form of a text.
func message(text string) []byte {
	b, _ := proto.Marshal(wrapperspb.String(text))
	return b
}

// echo is a server that answers each message, and shows what metadata it got in its headers.
// Methods that end with "Fails" end at once, with a status and a trailer.
func echo(t *testing.T) *backend {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(s)
		s.SetTrailer(metadata.Pairs("x-trailer", "t"))
		if strings.HasSuffix(method, "Fails") {
			return status.Error(codes.NotFound, "as it should")
		}
		header := metadata.Pairs("x-header", "h")
		md, _ := metadata.FromIncomingContext(s.Context())
		for name, list := range md {
			if strings.HasPrefix(name, "x-") {
				header["x-seen-"+name[2:]] = []string{strings.Join(list, "|")}
			}
		}
		if err := s.SendHeader(header); err != nil {
			return err
		}
		for {
			var m wrapperspb.StringValue
			if err := s.RecvMsg(&m); err != nil {
				return nil //nolint:nilerr // the client has finished
			}
			if err := s.SendMsg(wrapperspb.String("echo " + m.GetValue())); err != nil {
				return err
			}
			if strings.HasSuffix(method, "Unary") {
				return nil
			}
		}
	}))
	go server.Serve(lis) // it ends with Stop
	t.Cleanup(server.Stop)
	return &backend{name: "echo", port: uint32(lis.Addr().(*net.TCPAddr).Port), server: server}
}

// grpcService names a processor.
func grpcService(target string) *corev3.GrpcService {
	return &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_GoogleGrpc_{GoogleGrpc: &corev3.GrpcService_GoogleGrpc{TargetUri: target}}}
}

// processing is a filter's configuration; everything is processed.
func processing(target string, change ...func(*procfilterv3.ExternalProcessor)) *procfilterv3.ExternalProcessor {
	c := &procfilterv3.ExternalProcessor{GrpcService: grpcService(target), ProcessingMode: wholeMode()}
	for _, f := range change {
		f(c)
	}
	return c
}

func wholeMode() *procfilterv3.ProcessingMode {
	return &procfilterv3.ProcessingMode{
		RequestBodyMode: procfilterv3.ProcessingMode_GRPC, ResponseBodyMode: procfilterv3.ProcessingMode_GRPC,
		ResponseTrailerMode: procfilterv3.ProcessingMode_SEND,
	}
}

// processorText is a bootstrap configuration that allows targets, with server features.
func processorText(p *plane, features string, targets ...string) string {
	services := make(map[string]any)
	for _, target := range targets {
		services[target] = map[string]any{"channel_creds": []any{map[string]string{"type": "insecure"}}}
	}
	allowed, _ := json.Marshal(services)
	return fmt.Sprintf(`{"xds_servers":[{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}],"server_features":[%s]}],"node":{"id":%q},
		"allowed_grpc_services":%s}`, p.address, features, nodeID, allowed)
}

// processedRPC and processedOutcome are those of command processed.
type processedRPC struct {
	Target, Method string
	Headers        []string
	Unary          bool
	Send           []string
	Seconds        float64
}

type processedOutcome struct {
	Code, Message   string
	Header, Trailer metadata.MD
	Received        []string
}

func (o processedOutcome) String() string {
	return fmt.Sprintf("%s %q header %v trailer %v received %q", o.Code, o.Message, o.Header, o.Trailer, o.Received)
}

// runProcessed makes one RPC, in a process of its own with variables.
func runProcessed(t *testing.T, program string, r processedRPC, env ...string) (o processedOutcome) {
	t.Helper()
	in, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program)
	c.Env = append(os.Environ(), env...)
	c.Stdin = bytes.NewReader(in)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, errs.String())
	}
	return o
}
