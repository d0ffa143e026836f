// SPDX-License-Identifier: Apache-2.0

package reflection

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
)

// ServiceInfoProvider says which services a server has. *grpc.Server implements it. It is
// called for every request, so services may be added and removed. It must be safe for
// concurrent use.
//
// Experimental: this API may change in a later release.
type ServiceInfoProvider interface {
	// GetServiceInfo returns the services by their full names. Only the names are used.
	GetServiceInfo() map[string]grpc.ServiceInfo
}

// ExtensionResolver finds extensions. *protoregistry.Types implements it. For an extension
// that does not exist it returns [protoregistry.NotFound]. It must be safe for concurrent use.
//
// Experimental: this API may change in a later release.
type ExtensionResolver interface {
	protoregistry.ExtensionTypeResolver
	// RangeExtensionsByMessage calls f for all extensions of a message, until f
	// returns false.
	RangeExtensionsByMessage(message protoreflect.FullName, f func(protoreflect.ExtensionType) bool)
}

// source has what responses are made from. Only services may be nil.
type source struct {
	services   ServiceInfoProvider
	files      protodesc.Resolver
	extensions ExtensionResolver
}

// conversation answers the requests on one stream.
type conversation struct {
	source
	sent map[string]bool // the paths of the files that the client has got
}

// answer returns the response to one request. If something can't be found, the response says
// so and the error is nil. The error is for a request that asks for nothing, and ends the
// stream.
func (c *conversation) answer(req *v1.ServerReflectionRequest) (*v1.ServerReflectionResponse, error) {
	resp := &v1.ServerReflectionResponse{ValidHost: req.GetHost(), OriginalRequest: req}
	var file protoreflect.FileDescriptor
	var err error
	switch m := req.GetMessageRequest().(type) {
	case *v1.ServerReflectionRequest_FileByFilename:
		file, err = c.files.FindFileByPath(m.FileByFilename)
	case *v1.ServerReflectionRequest_FileContainingSymbol:
		file, err = c.fileOfSymbol(m.FileContainingSymbol)
	case *v1.ServerReflectionRequest_FileContainingExtension:
		file, err = c.fileOfExtension(m.FileContainingExtension)
	case *v1.ServerReflectionRequest_AllExtensionNumbersOfType:
		err = c.extensionNumbers(m.AllExtensionNumbersOfType, resp)
	case *v1.ServerReflectionRequest_ListServices:
		c.listServices(resp)
	default:
		return nil, status.Errorf(codes.InvalidArgument, "invalid MessageRequest: %v", req.MessageRequest)
	}
	if err == nil && file != nil {
		err = c.fileAnswer(file, resp)
	}
	if err != nil {
		resp.MessageResponse = &v1.ServerReflectionResponse_ErrorResponse{ErrorResponse: errorAnswer(err)}
	}
	return resp, nil
}

func errorAnswer(err error) *v1.ErrorResponse {
	code := codes.NotFound // resolvers may return other errors than protoregistry.NotFound for it
	if s, ok := status.FromError(err); ok {
		code = s.Code()
	}
	return &v1.ErrorResponse{ErrorCode: int32(code), ErrorMessage: err.Error()}
}

func (c *conversation) fileAnswer(file protoreflect.FileDescriptor, resp *v1.ServerReflectionResponse) error {
	encoded, err := c.withImports(file)
	if err != nil {
		return err
	}
	resp.MessageResponse = &v1.ServerReflectionResponse_FileDescriptorResponse{
		FileDescriptorResponse: &v1.FileDescriptorResponse{FileDescriptorProto: encoded},
	}
	return nil
}

// maxParts is how many parts, separated by dots, a name may have. A registry looks up each prefix of the
// name, and a lookup takes time proportional to the prefix's length. Without a bound the time for a request
// would be quadratic in its size.
const maxParts = 100

func (c *conversation) find(name string) (protoreflect.Descriptor, error) {
	if strings.Count(name, ".") >= maxParts {
		return nil, protoregistry.NotFound
	}
	return c.files.FindDescriptorByName(protoreflect.FullName(name))
}

func (c *conversation) fileOfSymbol(name string) (protoreflect.FileDescriptor, error) {
	d, err := c.find(name)
	if err != nil {
		return nil, fmt.Errorf("symbol %s: %w", quoted(name), err)
	}
	return parentFile(d)
}

func (c *conversation) fileOfExtension(req *v1.ExtensionRequest) (protoreflect.FileDescriptor, error) {
	x, err := c.extensions.FindExtensionByNumber(
		protoreflect.FullName(req.GetContainingType()), protoreflect.FieldNumber(req.GetExtensionNumber()))
	if err != nil {
		return nil, fmt.Errorf("extension %d of %s: %w", req.GetExtensionNumber(), quoted(req.GetContainingType()), err)
	}
	return parentFile(x.TypeDescriptor())
}

// quoted quotes a name from a request in an error: a response must not be several times as long as its request.
func quoted(name string) string { return strconv.Quote(name[:min(len(name), 256)]) }

func parentFile(d protoreflect.Descriptor) (protoreflect.FileDescriptor, error) {
	if file := d.ParentFile(); file != nil {
		return file, nil
	}
	return nil, fmt.Errorf("%q belongs to no file", d.FullName())
}

// withImports returns the encoded file, followed by all files that it imports, directly or
// indirectly, and that the client does not have.
func (c *conversation) withImports(file protoreflect.FileDescriptor) (encoded [][]byte, err error) {
	if file.IsPlaceholder() {
		return nil, fmt.Errorf("file %q: %w", file.Path(), protoregistry.NotFound)
	}
	if c.sent == nil {
		c.sent = make(map[string]bool)
	}
	delete(c.sent, file.Path()) // the requested file is sent even if the client has it
	var marked []string
	defer func() {
		if err != nil { // nothing of it is sent
			for _, path := range marked {
				delete(c.sent, path)
			}
		}
	}()
	for todo := []protoreflect.FileDescriptor{file}; len(todo) > 0; {
		file, todo = todo[0], todo[1:]
		if c.sent[file.Path()] {
			continue
		}
		c.sent[file.Path()] = true
		marked = append(marked, file.Path())
		b, err := proto.Marshal(protodesc.ToFileDescriptorProto(file))
		if err != nil {
			return nil, status.Errorf(codes.Internal, "reflection: file %q: %v", file.Path(), err)
		}
		encoded = append(encoded, b)
		for i := range file.Imports().Len() {
			if imported := c.resolved(file.Imports().Get(i)); imported != nil {
				todo = append(todo, imported)
			}
		}
	}
	return encoded, nil
}

// resolved returns an imported file. If the importing file was built before that file was
// registered, the import is a placeholder, and resolved looks the file up by its path. It
// returns nil if there is no such file. Such an import is left out, as the client may know it.
func (c *conversation) resolved(i protoreflect.FileImport) protoreflect.FileDescriptor {
	if !i.IsPlaceholder() {
		return i.FileDescriptor
	}
	file, err := c.files.FindFileByPath(i.Path())
	if err != nil || file.IsPlaceholder() {
		return nil
	}
	return file
}

func (c *conversation) extensionNumbers(name string, resp *v1.ServerReflectionResponse) error {
	var numbers []int32
	c.extensions.RangeExtensionsByMessage(protoreflect.FullName(name), func(x protoreflect.ExtensionType) bool {
		numbers = append(numbers, int32(x.TypeDescriptor().Number()))
		return true
	})
	if len(numbers) == 0 {
		if err := c.isMessage(name); err != nil {
			return err
		}
	}
	slices.Sort(numbers)
	resp.MessageResponse = &v1.ServerReflectionResponse_AllExtensionNumbersResponse{
		AllExtensionNumbersResponse: &v1.ExtensionNumberResponse{BaseTypeName: name, ExtensionNumber: numbers},
	}
	return nil
}

var errNotMessage = errors.New("not a message")

func (c *conversation) isMessage(name string) error {
	d, err := c.find(name)
	if err == nil {
		if _, ok := d.(protoreflect.MessageDescriptor); !ok {
			err = errNotMessage
		}
	}
	if err != nil {
		return fmt.Errorf("message %s: %w", quoted(name), err)
	}
	return nil
}

func (c *conversation) listServices(resp *v1.ServerReflectionResponse) {
	list := &v1.ListServiceResponse{}
	if c.services != nil {
		for _, name := range slices.Sorted(maps.Keys(c.services.GetServiceInfo())) {
			list.Service = append(list.Service, &v1.ServiceResponse{Name: name})
		}
	}
	resp.MessageResponse = &v1.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: list}
}
