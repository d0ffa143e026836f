// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	v1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// services is a ServiceInfoProvider.
type services []string

func (s services) GetServiceInfo() map[string]grpc.ServiceInfo {
	m := make(map[string]grpc.ServiceInfo)
	for _, name := range s {
		m[name] = grpc.ServiceInfo{}
	}
	return m
}

// testOptions have four files: top imports left and right, which import base. left
// extends base.Base with 10 and 20.
func testOptions(t testing.TB) ServerOptions {
	t.Helper()
	field := func(number int32, extendee string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: proto.String("f" + string('a'+number)), Number: &number,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Type:  descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
		}
		if extendee != "" {
			f.Extendee = &extendee
		}
		return f
	}
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		{
			Name: proto.String("base.proto"), Package: proto.String("base"), Syntax: proto.String("proto2"),
			MessageType: []*descriptorpb.DescriptorProto{
				{
					Name: proto.String("Base"), Field: []*descriptorpb.FieldDescriptorProto{field(1, "")},
					ExtensionRange: []*descriptorpb.DescriptorProto_ExtensionRange{{Start: proto.Int32(10), End: proto.Int32(100)}},
				},
				{Name: proto.String("Plain")},
			},
		},
		{
			Name: proto.String("left.proto"), Package: proto.String("left"), Syntax: proto.String("proto2"),
			Dependency: []string{"base.proto"},
			Extension:  []*descriptorpb.FieldDescriptorProto{field(20, ".base.Base"), field(10, ".base.Base")},
		},
		{
			Name: proto.String("right.proto"), Package: proto.String("right"), Syntax: proto.String("proto3"),
			Dependency: []string{"base.proto"},
		},
		{
			Name: proto.String("top.proto"), Package: proto.String("top"), Syntax: proto.String("proto3"),
			Dependency: []string{"left.proto", "right.proto"},
			Service: []*descriptorpb.ServiceDescriptorProto{{
				Name: proto.String("Service"),
				Method: []*descriptorpb.MethodDescriptorProto{{
					Name: proto.String("Call"), InputType: proto.String(".base.Base"), OutputType: proto.String(".base.Base"),
				}},
			}},
		},
	}}
	// As protoc has it, top has to import what it names.
	set.File[3].Dependency = append(set.File[3].Dependency, "base.proto")
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	types := new(protoregistry.Types)
	left, err := files.FindFileByPath("left.proto")
	if err != nil {
		t.Fatal(err)
	}
	for i := range left.Extensions().Len() {
		if err := types.RegisterExtension(dynamicpb.NewExtensionType(left.Extensions().Get(i))); err != nil {
			t.Fatal(err)
		}
	}
	return ServerOptions{Services: services{"b.B", "a.A"}, DescriptorResolver: files, ExtensionResolver: types}
}

func byName(s string) *v1.ServerReflectionRequest {
	return &v1.ServerReflectionRequest{MessageRequest: &v1.ServerReflectionRequest_FileByFilename{FileByFilename: s}}
}

func bySymbol(s string) *v1.ServerReflectionRequest {
	return &v1.ServerReflectionRequest{MessageRequest: &v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: s}}
}

func byExtension(s string, n int32) *v1.ServerReflectionRequest {
	return &v1.ServerReflectionRequest{MessageRequest: &v1.ServerReflectionRequest_FileContainingExtension{
		FileContainingExtension: &v1.ExtensionRequest{ContainingType: s, ExtensionNumber: n},
	}}
}

func allExtensions(s string) *v1.ServerReflectionRequest {
	return &v1.ServerReflectionRequest{MessageRequest: &v1.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: s}}
}

func list() *v1.ServerReflectionRequest {
	return &v1.ServerReflectionRequest{Host: "h", MessageRequest: &v1.ServerReflectionRequest_ListServices{}}
}

// show returns an answer in one line.
func show(t *testing.T, resp *v1.ServerReflectionResponse) string {
	t.Helper()
	var out []string
	switch m := resp.MessageResponse.(type) {
	case *v1.ServerReflectionResponse_FileDescriptorResponse:
		for _, b := range m.FileDescriptorResponse.FileDescriptorProto {
			fd := new(descriptorpb.FileDescriptorProto)
			if err := proto.Unmarshal(b, fd); err != nil {
				t.Fatal(err)
			}
			out = append(out, fd.GetName())
		}
	case *v1.ServerReflectionResponse_AllExtensionNumbersResponse:
		out = append(out, m.AllExtensionNumbersResponse.BaseTypeName)
		for _, n := range m.AllExtensionNumbersResponse.ExtensionNumber {
			out = append(out, string('a'+n))
		}
	case *v1.ServerReflectionResponse_ListServicesResponse:
		for _, s := range m.ListServicesResponse.Service {
			out = append(out, s.Name)
		}
	case *v1.ServerReflectionResponse_ErrorResponse:
		if m.ErrorResponse.ErrorMessage == "" {
			t.Error("an error without words")
		}
		out = append(out, codes.Code(m.ErrorResponse.ErrorCode).String())
	}
	return strings.Join(out, " ")
}

// stream is the server's end of a stream of v1.
type stream struct {
	grpc.ServerStream
	in  []*v1.ServerReflectionRequest
	out []*v1.ServerReflectionResponse
}

func (s *stream) Recv() (*v1.ServerReflectionRequest, error) {
	if len(s.in) == 0 {
		return nil, io.EOF
	}
	req := s.in[0]
	s.in = s.in[1:]
	return req, nil
}

func (s *stream) Send(resp *v1.ServerReflectionResponse) error {
	s.out = append(s.out, resp)
	return nil
}

var conversations = map[string]struct {
	ask  []*v1.ServerReflectionRequest
	want []string
}{
	"list":              {[]*v1.ServerReflectionRequest{list()}, []string{"a.A b.B"}},
	"file with imports": {[]*v1.ServerReflectionRequest{byName("top.proto")}, []string{"top.proto left.proto right.proto base.proto"}},
	"what was sent is not sent again": {
		[]*v1.ServerReflectionRequest{byName("left.proto"), byName("top.proto"), byName("top.proto"), bySymbol("base.Base")},
		[]string{"left.proto base.proto", "top.proto right.proto", "top.proto", "base.proto"},
	},
	"symbols": {
		[]*v1.ServerReflectionRequest{bySymbol("base.Base"), bySymbol("base.Base.fb"), bySymbol("top.Service.Call"), bySymbol("top.Service"), bySymbol("left.fk")},
		[]string{"base.proto", "base.proto", "top.proto left.proto right.proto", "top.proto", "left.proto"},
	},
	"extensions": {
		[]*v1.ServerReflectionRequest{byExtension("base.Base", 20), allExtensions("base.Base"), allExtensions("base.Plain")},
		[]string{"left.proto base.proto", "base.Base k u", "base.Plain"},
	},
	"what is not there": {
		[]*v1.ServerReflectionRequest{
			byName("x.proto"), byName(""), bySymbol("x.X"), bySymbol(""), bySymbol("..."), bySymbol("base"), byExtension("base.Base", 11), byExtension("", 0), byExtension("base.Base", -1),
			{MessageRequest: &v1.ServerReflectionRequest_FileContainingExtension{}},
			allExtensions("x.X"), allExtensions("top.Service"), allExtensions(""),
		},
		slices.Repeat([]string{"NotFound"}, 13),
	},
}

func TestV1(t *testing.T) {
	for name, test := range conversations {
		s := &stream{in: test.ask}
		if err := NewServerV1(testOptions(t)).ServerReflectionInfo(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for i, resp := range s.out {
			got = append(got, show(t, resp))
			if resp.ValidHost != test.ask[i].Host || !proto.Equal(resp.OriginalRequest, test.ask[i]) {
				t.Errorf("%s: answer %d to another request: %v", name, i, resp)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, test.want)
		}
	}
}

// alphaStream is the server's end of a stream of v1alpha, over one of v1.
type alphaStream struct {
	grpc.ServerStream
	s *stream
}

func (s alphaStream) Recv() (*v1alpha.ServerReflectionRequest, error) {
	req, err := s.s.Recv()
	if err != nil {
		return nil, err
	}
	out := new(v1alpha.ServerReflectionRequest)
	return out, convert(req, out)
}

func (s alphaStream) Send(resp *v1alpha.ServerReflectionResponse) error {
	out := new(v1.ServerReflectionResponse)
	if err := convert(resp, out); err != nil {
		return err
	}
	return s.s.Send(out)
}

func TestV1Alpha(t *testing.T) {
	for name, test := range conversations {
		s := &stream{in: test.ask}
		if err := NewServer(testOptions(t)).ServerReflectionInfo(alphaStream{s: s}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for i, resp := range s.out {
			got = append(got, show(t, resp))
			if !proto.Equal(resp.OriginalRequest, test.ask[i]) || len(resp.ProtoReflect().GetUnknown()) > 0 {
				t.Errorf("%s: answer %d: %v", name, i, resp)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, test.want)
		}
	}
}

// seeker is a resolver that notes the longest name that it was asked for, in parts.
type seeker struct {
	protodesc.Resolver
	parts int
}

func (s *seeker) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	s.parts = max(s.parts, strings.Count(string(name), ".")+1)
	return s.Resolver.FindDescriptorByName(name)
}

// TestNamesOfManyParts: a registry takes quadratic time for a name of very many parts, and is not asked
// for it; the answer is that there is none.
func TestNamesOfManyParts(t *testing.T) {
	opts := testOptions(t)
	s := &seeker{Resolver: opts.DescriptorResolver}
	opts.DescriptorResolver = s
	long := strings.Repeat("a.", 1<<20) + "a"
	short := strings.Repeat("a.", maxParts-1) + "a"
	asked := &stream{in: []*v1.ServerReflectionRequest{bySymbol(long), allExtensions(long), bySymbol(short), allExtensions(short)}}
	if err := NewServerV1(opts).ServerReflectionInfo(asked); err != nil {
		t.Fatal(err)
	}
	for i, resp := range asked.out {
		if got := show(t, resp); got != "NotFound" {
			t.Errorf("%d: %.100s", i, got)
		}
	}
	if s.parts != maxParts {
		t.Errorf("the registry was asked for a name of %d parts, want %d at most", s.parts, maxParts)
	}
}

func TestRequestForNothing(t *testing.T) {
	err := NewServerV1(testOptions(t)).ServerReflectionInfo(&stream{in: []*v1.ServerReflectionRequest{{}}})
	if status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}

// TestDefaults: without options the types are those of generated code.
func TestDefaults(t *testing.T) {
	s := &stream{in: []*v1.ServerReflectionRequest{bySymbol("grpc.reflection.v1.ServerReflection"), list(), allExtensions("google.protobuf.MessageOptions")}}
	if err := NewServerV1(ServerOptions{}).ServerReflectionInfo(s); err != nil {
		t.Fatal(err)
	}
	if got := show(t, s.out[0]); got != "grpc/reflection/v1/reflection.proto" {
		t.Error(got)
	}
	if got := show(t, s.out[1]); got != "" {
		t.Error(got)
	}
	if got := show(t, s.out[2]); got != "google.protobuf.MessageOptions" {
		t.Error(got)
	}
}

// TestUnresolvedImport: a file may import what nobody knows.
func TestUnresolvedImport(t *testing.T) {
	fd, err := protodesc.FileOptions{AllowUnresolvable: true}.New(&descriptorpb.FileDescriptorProto{
		Name: proto.String("a.proto"), Syntax: proto.String("proto3"), Dependency: []string{"missing.proto", "base.proto"},
	}, new(protoregistry.Files))
	if err != nil {
		t.Fatal(err)
	}
	opts := testOptions(t)
	c := conversation{source: newServer(opts).source}
	encoded, err := c.withImports(fd)
	if err != nil || len(encoded) != 2 {
		t.Errorf("%d files, %v", len(encoded), err)
	}
	if _, err := c.withImports(fd.Imports().Get(0)); err == nil {
		t.Error("a placeholder is a file")
	}
}

// TestSpoiltImport: files that an error kept back count as not sent.
func TestSpoiltImport(t *testing.T) {
	opts := testOptions(t)
	base, err := opts.DescriptorResolver.FindFileByPath("base.proto")
	if err != nil {
		t.Fatal(err)
	}
	spoilt := &descriptorpb.FileOptions{UninterpretedOption: []*descriptorpb.UninterpretedOption{{Name: []*descriptorpb.UninterpretedOption_NamePart{{}}}}}
	files := new(protoregistry.Files)
	if err := files.RegisterFile(base); err != nil {
		t.Fatal(err)
	}
	make := func(name string, options *descriptorpb.FileOptions, imports ...string) protoreflect.FileDescriptor {
		fd, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
			Name: &name, Syntax: proto.String("proto3"), Dependency: imports, Options: options,
		}, files)
		if err == nil {
			err = files.RegisterFile(fd)
		}
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	make("bad.proto", spoilt)
	both, good := make("both.proto", nil, "base.proto", "bad.proto"), make("good.proto", nil, "base.proto")
	c := conversation{source: newServer(opts).source}
	if encoded, err := c.withImports(both); err == nil {
		t.Fatalf("%d files", len(encoded))
	}
	if encoded, err := c.withImports(good); err != nil || len(encoded) != 2 {
		t.Errorf("%d files, %v", len(encoded), err)
	}
}

type recorder struct {
	services
	registered []string
}

func (r *recorder) RegisterService(d *grpc.ServiceDesc, _ any) {
	r.registered = append(r.registered, d.ServiceName)
}

func TestRegister(t *testing.T) {
	r := &recorder{}
	Register(r)
	if want := []string{"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}; !slices.Equal(r.registered, want) {
		t.Errorf("%q", r.registered)
	}
	r = &recorder{}
	RegisterV1(r)
	if want := []string{"grpc.reflection.v1.ServerReflection"}; !slices.Equal(r.registered, want) {
		t.Errorf("%q", r.registered)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, c := range conversations {
		for _, req := range c.ask {
			b, err := proto.Marshal(req)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	source := newServer(testOptions(f)).source
	f.Fuzz(func(t *testing.T, b []byte) {
		req := new(v1.ServerReflectionRequest)
		if proto.Unmarshal(b, req) != nil {
			return
		}
		c := conversation{source: source}
		resp, err := c.answer(req)
		if (resp == nil) != (err != nil) {
			t.Fatalf("%v, %v", resp, err)
		}
		if resp != nil && resp.MessageResponse == nil {
			t.Fatalf("%v is no answer", resp)
		}
	})
}
