// SPDX-License-Identifier: Apache-2.0

// Package httpfilter has the HTTP filters of xDS (gRFC A39). An RPC passes through them before
// it leaves a client, or after it has reached a server. Listeners list the filters, and routes
// can override their configurations.
//
// A Kind parses its messages once, when a resource arrives, into a Config, which never changes.
// A Registry finds the Kind for the type of a message.
package httpfilter

import (
	"errors"
	"fmt"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// Side is a set of the sides on which a filter works.
type Side uint8

// A filter works on clients, on servers, or on both.
const (
	Client Side = 1 << iota
	Server
)

// Config is the configuration of a filter. It never changes.
type Config any

// Kind is a kind of filter.
type Kind interface {
	// Types returns the names of the messages that the filter parses, without
	// "type.googleapis.com/".
	Types() []string
	// Sides returns the sides on which the filter works.
	Sides() Side
	// Terminal reports whether the filter must be the last one of a chain, as the router is.
	Terminal() bool
	// Parse parses the message in a Listener's list of filters.
	Parse(m Message) (Config, error)
	// ParseOverride parses the message in a virtual host, route or weighted cluster. It fails if
	// the filter has no overrides, or a message of another type for them.
	ParseOverride(m Message) (Config, error)
}

// Message is the serialized configuration of a filter.
type Message struct {
	// Type is the name of the message.
	Type string
	// Raw is the serialized message. It is nil if Struct is set.
	Raw []byte
	// Struct is the message if it came in a TypedStruct.
	Struct *structpb.Struct
	// Origin says where the message comes from.
	Origin Origin
}

// Origin says what a message may refer to, and what it is trusted with.
type Origin struct {
	// Bootstrap is the bootstrap configuration of the client that received the message. It may
	// be nil.
	Bootstrap *bootstrap.Config
	// Trusted says that the control plane may choose servers to which filters send RPCs'
	// contents (A81, A102).
	Trusted bool
}

// Unmarshal decodes the message. It fails if the message came in a TypedStruct.
func (m *Message) Unmarshal(to proto.Message) error {
	if want := string(to.ProtoReflect().Descriptor().FullName()); m.Type != want {
		return fmt.Errorf("type %q; want %s here", m.Type, want)
	}
	if m.Struct != nil {
		return fmt.Errorf("%s in a TypedStruct is not supported", m.Type)
	}
	return proto.Unmarshal(m.Raw, to)
}

// Registry finds kinds of filters by the type of their messages. It must not change once it is
// in use.
type Registry struct {
	byType map[string]Kind
	origin Origin
}

// NewRegistry returns a Registry with the kinds.
func NewRegistry(kinds ...Kind) *Registry {
	r := &Registry{byType: make(map[string]Kind)}
	for _, k := range kinds {
		for _, t := range k.Types() {
			r.byType[t] = k
		}
	}
	return r
}

// From returns a Registry with the same kinds, for messages of this origin.
func (r *Registry) From(o Origin) *Registry { return &Registry{byType: r.byType, origin: o} }

// errUnknown is the error for a message that no filter parses.
type errUnknown string

func (e errUnknown) Error() string {
	return fmt.Sprintf("no HTTP filter is known for type %q", string(e))
}

// IsUnknown reports whether an error of Find or Override means that there is no such filter.
func IsUnknown(err error) bool {
	var e errUnknown
	return errors.As(err, &e)
}

// Find returns the kind for a message, and the message, which may be in a TypedStruct.
func (r *Registry) Find(in *anypb.Any) (Kind, Message, error) {
	m := Message{Type: string(in.MessageName()), Raw: in.GetValue(), Origin: r.origin}
	switch m.Type {
	case "xds.type.v3.TypedStruct":
		var s xdsv3.TypedStruct
		if err := proto.Unmarshal(in.GetValue(), &s); err != nil {
			return nil, m, err
		}
		m.fromStruct(s.GetTypeUrl(), s.GetValue())
	case "udpa.type.v1.TypedStruct":
		var s udpav1.TypedStruct
		if err := proto.Unmarshal(in.GetValue(), &s); err != nil {
			return nil, m, err
		}
		m.fromStruct(s.GetTypeUrl(), s.GetValue())
	}
	kind, ok := r.byType[m.Type]
	if !ok {
		return nil, m, errUnknown(m.Type)
	}
	return kind, m, nil
}

func (m *Message) fromStruct(url string, value *structpb.Struct) {
	if value == nil {
		value = &structpb.Struct{}
	}
	m.Type, m.Raw, m.Struct = string((&anypb.Any{TypeUrl: url}).MessageName()), nil, value
}

// Disabled is the Config of an override that disables a filter of any kind.
type Disabled struct{}

// Override parses what a virtual host, route or weighted cluster has for one filter. The kind is
// nil if the filter is unknown and may be ignored, and if the Config is Disabled.
func (r *Registry) Override(in *anypb.Any) (Kind, Config, error) {
	optional := false
	if in.MessageName() == "envoy.config.route.v3.FilterConfig" {
		var w routev3.FilterConfig
		if err := proto.Unmarshal(in.GetValue(), &w); err != nil {
			return nil, nil, err
		}
		if w.GetDisabled() {
			return nil, Disabled{}, nil
		}
		if w.GetConfig() == nil {
			return nil, nil, errors.New("config is missing")
		}
		in, optional = w.GetConfig(), w.GetIsOptional()
	}
	kind, m, err := r.Find(in)
	if optional && IsUnknown(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	config, err := kind.ParseOverride(m)
	return kind, config, err
}
