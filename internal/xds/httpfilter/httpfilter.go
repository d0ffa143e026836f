// SPDX-License-Identifier: Apache-2.0

// Package httpfilter holds the HTTP filters of xDS (gRFC A39): what an RPC passes through on its
// way out of a client, or into a server, as Listeners say and routes override.
//
// A Kind reads its messages once, when a resource comes, into a Config, which never changes.
// Kinds are found by the type of these messages, in a Registry.
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

// Side is a set of the places where a filter works.
type Side uint8

// A filter works in one of these, or in both.
const (
	Client Side = 1 << iota
	Server
)

// Config is what a filter is to do. It never changes.
type Config any

// Kind is a sort of filter.
type Kind interface {
	// Types returns the names of the messages that it reads, without "type.googleapis.com/".
	Types() []string
	// Sides says where it works.
	Sides() Side
	// Terminal reports whether it is the last of a chain, as the router is.
	Terminal() bool
	// Parse reads the message of a list of filters.
	Parse(m Message) (Config, error)
	// ParseOverride reads the message of a virtual host, route or weighted cluster. It fails if
	// the filter has no overrides, or has another message for them.
	ParseOverride(m Message) (Config, error)
}

// Message is the configuration of a filter as it came.
type Message struct {
	// Type is the name of the message.
	Type string
	// Raw is the message, serialized. It is nil if there is a Struct.
	Raw []byte
	// Struct is the message as TypedStruct has it.
	Struct *structpb.Struct
	// Origin is where the message comes from.
	Origin Origin
}

// Origin says what messages may refer to, and what they are trusted with.
type Origin struct {
	// Bootstrap is the configuration of the client that got them; nil: none.
	Bootstrap *bootstrap.Config
	// Trusted says that the control plane may choose servers that RPCs are shown to (A81, A102).
	Trusted bool
}

// Unmarshal reads the message. One that came as a Struct can't be read so.
func (m *Message) Unmarshal(to proto.Message) error {
	if want := string(to.ProtoReflect().Descriptor().FullName()); m.Type != want {
		return fmt.Errorf("type %q; want %s here", m.Type, want)
	}
	if m.Struct != nil {
		return fmt.Errorf("%s in a TypedStruct is not supported", m.Type)
	}
	return proto.Unmarshal(m.Raw, to)
}

// Registry finds kinds of filters by the messages they read. It must not change once it is in
// use.
type Registry struct {
	byType map[string]Kind
	origin Origin
}

// NewRegistry returns one with the kinds.
func NewRegistry(kinds ...Kind) *Registry {
	r := &Registry{byType: make(map[string]Kind)}
	for _, k := range kinds {
		for _, t := range k.Types() {
			r.byType[t] = k
		}
	}
	return r
}

// From returns a Registry with the same kinds, for messages of an origin.
func (r *Registry) From(o Origin) *Registry { return &Registry{byType: r.byType, origin: o} }

// errUnknown is about a message that no filter reads.
type errUnknown string

func (e errUnknown) Error() string {
	return fmt.Sprintf("no HTTP filter is known for type %q", string(e))
}

// IsUnknown reports whether an error of Find, Parse or ParseOverride means that there is no such
// filter.
func IsUnknown(err error) bool {
	var e errUnknown
	return errors.As(err, &e)
}

// Find returns the kind for a message, which may be in a TypedStruct.
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

// Disabled is what overrides a filter that is switched off, of whatever kind.
type Disabled struct{}

// Override reads what a virtual host, route or weighted cluster has for one filter. The kind is
// nil if the filter is not known, and may be ignored, and if the Config is Disabled.
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
