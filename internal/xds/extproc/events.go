// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"
)

// attributesKey is the only key under which attributes are sent.
const attributesKey = "envoy.filters.http.ext_proc"

func (p *process) headersEvent(md metadata.MD) *procv3.ProcessingRequest {
	return p.requestEvent(&procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_RequestHeaders{
		RequestHeaders: &procv3.HttpHeaders{Headers: p.headers(md)},
	}})
}

func (p *process) messageEvent(body []byte) *procv3.ProcessingRequest {
	return p.requestEvent(&procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_RequestBody{
		RequestBody: &procv3.HttpBody{Body: body},
	}})
}

func (p *process) halfCloseEvent() *procv3.ProcessingRequest {
	return p.requestEvent(&procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_RequestBody{
		RequestBody: &procv3.HttpBody{EndOfStream: true, EndOfStreamWithoutMessage: true},
	}})
}

func (p *process) responseHeadersEvent(md metadata.MD, last bool) *procv3.ProcessingRequest {
	return p.responseEvent(&procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_ResponseHeaders{
		ResponseHeaders: &procv3.HttpHeaders{Headers: p.headers(md), EndOfStream: last},
	}})
}

func (p *process) responseMessageEvent(body []byte) *procv3.ProcessingRequest {
	return p.responseEvent(&procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_ResponseBody{
		ResponseBody: &procv3.HttpBody{Body: body},
	}})
}

func (p *process) trailersEvent(md metadata.MD) *procv3.ProcessingRequest {
	return p.responseEvent(&procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_ResponseTrailers{
		ResponseTrailers: &procv3.HttpTrailers{Trailers: p.headers(md)},
	}})
}

func (p *process) requestEvent(r *procv3.ProcessingRequest) *procv3.ProcessingRequest {
	r.Attributes = p.attributes(p.config.RequestAttributes)
	return r
}

func (p *process) responseEvent(r *procv3.ProcessingRequest) *procv3.ProcessingRequest {
	r.Attributes = p.attributes(p.config.ResponseAttributes)
	return r
}

// headers returns the headers that p.config.Forward selects, sorted by name.
func (p *process) headers(md metadata.MD) *corev3.HeaderMap {
	out := &corev3.HeaderMap{}
	for _, name := range slices.Sorted(maps.Keys(md)) {
		if !p.config.Forward.shows(name) {
			continue
		}
		for _, value := range md[name] {
			if strings.HasSuffix(name, "-bin") { // in the form that they have on the wire
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			out.Headers = append(out.Headers, &corev3.HeaderValue{Key: name, RawValue: []byte(value)})
		}
	}
	return out
}

// attributes returns the wanted attributes of the request (A106). It leaves out those that it
// does not know.
func (p *process) attributes(wanted []string) map[string]*structpb.Struct {
	if len(wanted) == 0 {
		return nil
	}
	fields := make(map[string]*structpb.Value, len(wanted))
	for _, name := range wanted {
		if v := p.attribute(name); v != nil {
			fields[name] = v
		}
	}
	return map[string]*structpb.Struct{attributesKey: {Fields: fields}}
}

// attribute returns nil for an attribute that is not known.
func (p *process) attribute(name string) *structpb.Value {
	switch name {
	case "request.path", "request.url_path":
		return structpb.NewStringValue(strings.ToValidUTF8(p.rpc.Method, "\ufffd")) // a proxy's client may have chosen it
	case "request.host":
		return structpb.NewStringValue(p.filter.channel.Authority)
	case "request.method":
		return structpb.NewStringValue("POST")
	case "request.query":
		return structpb.NewStringValue("")
	case "request.referer":
		return p.header("referer")
	case "request.useragent":
		return p.header("user-agent")
	case "request.id":
		return p.header("x-request-id")
	case "request.headers":
		md, _ := metadata.FromOutgoingContext(p.ctx)
		fields := make(map[string]*structpb.Value, len(md))
		for name := range md {
			if v := p.header(name); v != nil {
				fields[name] = v
			}
		}
		return structpb.NewStructValue(&structpb.Struct{Fields: fields})
	default:
		return nil
	}
}

// header returns a header of the request. Several values are joined with commas. It returns nil
// if there is no such header, or if it is binary.
func (p *process) header(name string) *structpb.Value {
	md, _ := metadata.FromOutgoingContext(p.ctx)
	list := md.Get(name)
	if len(list) == 0 || strings.HasSuffix(name, "-bin") {
		return nil
	}
	return structpb.NewStringValue(strings.ToValidUTF8(strings.Join(list, ","), "\ufffd"))
}
