// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	gcpauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/gcp_authn/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Metadata has values that resources carry for filters and policies (A83, A86), by key. A value
// is a Struct, an Audience or a ProxyAddress.
type Metadata map[string]any

// Struct is a google.protobuf.Struct, encoded as JSON.
type Struct json.RawMessage

// Audience is the audience of tokens for GCP authentication (A83).
type Audience string

// ProxyAddress is the address and port of an HTTP CONNECT proxy (A86).
type ProxyAddress string

// proxyKey is the key of the proxy's address.
const proxyKey = "envoy.http11_proxy_transport_socket.proxy_address"

// proxy returns the address of the proxy, or "" if there is none.
func (m Metadata) proxy() string {
	a, _ := m[proxyKey].(ProxyAddress)
	return string(a)
}

// parseMetadata parses both maps. A key in typed_filter_metadata whose type is known takes
// precedence over the same key in filter_metadata. A Struct that JSON can't express (NaN, a value
// without a kind) is null: A83 rejects a resource only for typed_filter_metadata, and who wants another
// type is to see that there is a value.
func parseMetadata(c *Context, in *corev3.Metadata) (Metadata, error) {
	if len(in.GetTypedFilterMetadata())+len(in.GetFilterMetadata()) == 0 {
		return nil, nil
	}
	m := make(Metadata)
	for key, value := range in.GetTypedFilterMetadata() {
		v, err := parseTyped(c, value)
		if err != nil {
			return nil, atIndex("typed_filter_metadata", key, err)
		}
		if v != nil {
			m[key] = v
		}
	}
	for key, value := range in.GetFilterMetadata() {
		if _, ok := m[key]; ok {
			continue
		}
		js, err := protojson.Marshal(value)
		if err != nil {
			js = []byte("null")
		}
		m[key] = Struct(js)
	}
	return m, nil
}

// parseTyped returns nil for a type that is not known or not enabled.
func parseTyped(c *Context, in *anypb.Any) (any, error) {
	switch in.MessageName() {
	case "envoy.extensions.filters.http.gcp_authn.v3.Audience":
		if !c.Features.GCPAuthn {
			return nil, nil
		}
		var a gcpauthnv3.Audience
		if err := proto.Unmarshal(in.GetValue(), &a); err != nil {
			return nil, err
		}
		if a.GetUrl() == "" {
			return nil, at("url", errors.New("empty"))
		}
		return Audience(a.GetUrl()), nil
	case "envoy.config.core.v3.Address":
		if !c.Features.HTTPConnect {
			return nil, nil
		}
		var a corev3.Address
		if err := proto.Unmarshal(in.GetValue(), &a); err != nil {
			return nil, err
		}
		return proxyAddress(&a)
	default:
		return nil, nil
	}
}

func proxyAddress(a *corev3.Address) (any, error) {
	address, err := socketAddress(a)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddrPort(address); err != nil {
		return nil, at("socket_address.address", fmt.Errorf("not an IP address: %w", err))
	}
	return ProxyAddress(address), nil
}
