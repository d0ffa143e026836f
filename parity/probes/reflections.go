// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/admin"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/reflection"
	refpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	alphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// ofExtension asks for an extension.
func ofExtension(of string, n int32) *refpb.ServerReflectionRequest {
	return &refpb.ServerReflectionRequest{MessageRequest: &refpb.ServerReflectionRequest_FileContainingExtension{
		FileContainingExtension: &refpb.ExtensionRequest{ContainingType: of, ExtensionNumber: n},
	}}
}

func ofSymbol(name string) *refpb.ServerReflectionRequest {
	return &refpb.ServerReflectionRequest{MessageRequest: &refpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}}
}

func ofFile(name string) *refpb.ServerReflectionRequest {
	return &refpb.ServerReflectionRequest{MessageRequest: &refpb.ServerReflectionRequest_FileByFilename{FileByFilename: name}}
}

func ofNumbers(name string) *refpb.ServerReflectionRequest {
	return &refpb.ServerReflectionRequest{MessageRequest: &refpb.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: name}}
}

// reflected are requests, by name.
var reflected = []struct {
	name string
	req  *refpb.ServerReflectionRequest
}{
	{"services", &refpb.ServerReflectionRequest{Host: "h", MessageRequest: &refpb.ServerReflectionRequest_ListServices{ListServices: "*"}}},
	{"a file", ofFile("grpc/health/v1/health.proto")},
	{"a file with dependencies", ofFile("google/protobuf/api.proto")},
	{"a file without a name", ofFile("")},
	{"a message", ofSymbol("grpc.health.v1.HealthCheckRequest")},
	{"a message with a dot first", ofSymbol(".grpc.health.v1.HealthCheckRequest")},
	{"a nested enum", ofSymbol("grpc.health.v1.HealthCheckResponse.ServingStatus")},
	{"an enum value", ofSymbol("grpc.health.v1.HealthCheckResponse.SERVING")},
	{"a field", ofSymbol("grpc.health.v1.HealthCheckRequest.service")},
	{"a service", ofSymbol("grpc.health.v1.Health")},
	{"a method", ofSymbol("grpc.health.v1.Health.Watch")},
	{"no symbol", ofSymbol("")},
	{"a package", ofSymbol("grpc.health.v1")},
	{"an extension of nothing", ofExtension("no.Such", 1)},
	{"an extension that is not there", ofExtension("google.protobuf.FieldOptions", 77777)},
	{"an extension without numbers", ofExtension("", 0)},
	{"numbers of a message without", ofNumbers("grpc.health.v1.HealthCheckRequest")},
	{"numbers of a message that may have some", ofNumbers("google.protobuf.FieldOptions")},
	{"numbers of a service", ofNumbers("grpc.health.v1.Health")},
	{"numbers of nothing", ofNumbers("")},
}

// reflectionText formats a response without its messages.
func reflectionText(r *refpb.ServerReflectionResponse) string {
	out := fmt.Sprintf("%T host=%q original=%v", r.GetMessageResponse(), r.GetValidHost(), r.GetOriginalRequest())
	if e := r.GetErrorResponse(); e != nil {
		out += fmt.Sprintf(" error=%d", e.GetErrorCode())
	}
	for _, s := range r.GetListServicesResponse().GetService() {
		out += " " + s.GetName()
	}
	if n := r.GetAllExtensionNumbersResponse(); n != nil {
		numbers := slices.Clone(n.GetExtensionNumber())
		slices.Sort(numbers)
		out += fmt.Sprintf(" %s %v", n.GetBaseTypeName(), numbers)
	}
	for _, b := range r.GetFileDescriptorResponse().GetFileDescriptorProto() {
		fd := new(descriptorpb.FileDescriptorProto)
		out += fmt.Sprintf(" file=%v", proto.Unmarshal(b, fd) == nil)
		out += " " + fd.GetName()
	}
	return out
}

// reflecting is a server and a channel to it.
func reflecting(p *probe.P, register func(*grpc.Server)) *grpc.ClientConn {
	gs := grpc.NewServer()
	healthpb.RegisterHealthServer(gs, health.NewServer())
	register(gs)
	l := rig.Listen()
	go func() { _ = gs.Serve(l) }()
	p.Cleanup(gs.Stop)
	return channelTo(p, l.Addr().String())
}

func reflectionProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range reflected {
		out = append(out, probe.Probe{Name: "reflection/" + c.name, Run: func(p *probe.P) {
			cc := reflecting(p, func(s *grpc.Server) { reflection.Register(s) })
			s, err := refpb.NewServerReflectionClient(cc).ServerReflectionInfo(p.Context())
			if err != nil {
				p.Printf("%s", rig.Err(err))
				return
			}
			for range 2 { // what was sent once is left out
				_ = s.Send(c.req)
				r, err := s.Recv()
				p.Printf("%s %s", reflectionText(r), rig.Err(err))
			}
		}})
		out = append(out, probe.Probe{Name: "reflection/v1alpha, " + c.name, Run: func(p *probe.P) {
			cc := reflecting(p, func(s *grpc.Server) { reflection.Register(s) })
			s, err := alphapb.NewServerReflectionClient(cc).ServerReflectionInfo(p.Context())
			if err != nil {
				p.Printf("%s", rig.Err(err))
				return
			}
			b, _ := proto.Marshal(c.req)
			req := new(alphapb.ServerReflectionRequest)
			_ = proto.Unmarshal(b, req)
			_ = s.Send(req)
			answer, err := s.Recv()
			b, _ = proto.Marshal(answer)
			r := new(refpb.ServerReflectionResponse)
			_ = proto.Unmarshal(b, r)
			p.Printf("%s %s", reflectionText(r), rig.Err(err))
		}})
	}
	return append(out, otherReflectionProbes...)
}

// someServices tells of services that are nowhere.
type someServices map[string]grpc.ServiceInfo

func (s someServices) GetServiceInfo() map[string]grpc.ServiceInfo { return s }

// noDescriptors finds nothing.
type noDescriptors struct{}

func (noDescriptors) FindFileByPath(string) (protoreflect.FileDescriptor, error) {
	return nil, protoregistry.NotFound
}

func (noDescriptors) FindDescriptorByName(protoreflect.FullName) (protoreflect.Descriptor, error) {
	return nil, protoregistry.NotFound
}

var _ protodesc.Resolver = noDescriptors{}

var otherReflectionProbes = []probe.Probe{
	{Name: "reflection/services that are registered", Run: func(p *probe.P) {
		for _, register := range []func(reflection.GRPCServer){reflection.Register, reflection.RegisterV1} {
			gs := grpc.NewServer()
			register(gs)
			var names []string
			for n, info := range gs.GetServiceInfo() {
				names = append(names, fmt.Sprintf("%s %v %d", n, info.Metadata, len(info.Methods)))
			}
			slices.Sort(names)
			p.Printf("%q", names)
		}
	}},
	{Name: "reflection/services of one's own", Alone: true, Run: func(p *probe.P) {
		for _, opts := range []reflection.ServerOptions{
			{},
			{Services: someServices{"b.B": {}, "a.A": {}}},
			{Services: someServices{"grpc.health.v1.Health": {}}, DescriptorResolver: noDescriptors{}},
		} {
			cc := reflecting(p, func(s *grpc.Server) { refpb.RegisterServerReflectionServer(s, reflection.NewServerV1(opts)) })
			s, err := refpb.NewServerReflectionClient(cc).ServerReflectionInfo(p.Context())
			p.Printf("%s", rig.Err(err))
			for _, req := range []*refpb.ServerReflectionRequest{reflected[0].req, ofSymbol("grpc.health.v1.Health"), ofFile("grpc/health/v1/health.proto")} {
				_ = s.Send(req)
				r, err := s.Recv()
				p.Printf("%s %s", reflectionText(r), rig.Err(err))
			}
		}
	}},
	{Name: "reflection/v1alpha server alone", Run: func(p *probe.P) {
		cc := reflecting(p, func(s *grpc.Server) {
			alphapb.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s}))
		})
		s, err := refpb.NewServerReflectionClient(cc).ServerReflectionInfo(p.Context())
		p.Printf("%s", rig.Err(err))
		_ = s.Send(reflected[0].req)
		_, err = s.Recv()
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "reflection/end of the stream", Run: func(p *probe.P) {
		cc := reflecting(p, func(s *grpc.Server) { reflection.Register(s) })
		s, err := refpb.NewServerReflectionClient(cc).ServerReflectionInfo(p.Context())
		p.Printf("%s", rig.Err(err))
		_ = s.CloseSend()
		_, err = s.Recv()
		p.Printf("%v", err == io.EOF)
		s, _ = refpb.NewServerReflectionClient(cc).ServerReflectionInfo(p.Context())
		_ = s.Send(&refpb.ServerReflectionRequest{})
		_, err = s.Recv()
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "admin/services", Alone: true, Run: func(p *probe.P) {
		gs := grpc.NewServer()
		stop, err := admin.Register(gs)
		p.Printf("%s", rig.Err(err))
		var names []string
		for n, info := range gs.GetServiceInfo() {
			names = append(names, fmt.Sprintf("%s %v %d", n, info.Metadata, len(info.Methods)))
		}
		slices.Sort(names)
		p.Printf("%q", names)
		stop()
		stop()
	}},
	{Name: "admin/twice", Alone: true, Run: func(p *probe.P) {
		for range 2 {
			stop, err := admin.Register(grpc.NewServer())
			p.Printf("%s", rig.Err(err))
			defer stop()
		}
	}},
}
