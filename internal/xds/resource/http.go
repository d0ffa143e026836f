// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// HTTP is an HttpConnectionManager: it says how RPCs are routed and filtered.
type HTTP struct {
	// RouteName is the name of the RouteConfiguration if Routes is nil.
	RouteName string
	// Routes are the routes that the listener contains itself, or nil.
	Routes *RouteConfig
	// MaxDuration limits the duration of RPCs whose routes set no limit (A31); 0 means no
	// limit.
	MaxDuration time.Duration
	// Filters ends with a terminal filter.
	Filters []Filter
}

const hcmType = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

// readHTTP parses an HttpConnectionManager.
func readHTTP(c *Context, in *anypb.Any, side httpfilter.Side) (*HTTP, error) {
	if in.MessageName() != hcmType {
		return nil, fmt.Errorf("type %q is not supported; want %s", in.GetTypeUrl(), hcmType)
	}
	var m hcmv3.HttpConnectionManager
	if err := proto.Unmarshal(in.GetValue(), &m); err != nil {
		return nil, err
	}
	if n := m.GetXffNumTrustedHops(); n != 0 { // A41
		return nil, wrong("xff_num_trusted_hops", "%d is not supported", n)
	}
	if len(m.GetOriginalIpDetectionExtensions()) > 0 {
		return nil, wrong("original_ip_detection_extensions", "not supported")
	}
	out := &HTTP{}
	if err := out.readRoutes(c, &m); err != nil {
		return nil, err
	}
	if d := m.GetCommonHttpProtocolOptions().GetMaxStreamDuration(); d != nil {
		v, err := duration(d)
		if err != nil {
			return nil, at("common_http_protocol_options.max_stream_duration", err)
		}
		out.MaxDuration = v
	}
	var err error
	out.Filters, err = readFilters(c, m.GetHttpFilters(), side)
	return out, err
}

func (out *HTTP) readRoutes(c *Context, in *hcmv3.HttpConnectionManager) (err error) {
	switch s := in.GetRouteSpecifier().(type) {
	case *hcmv3.HttpConnectionManager_Rds:
		if err := checkADS(s.Rds.GetConfigSource()); err != nil {
			return at("rds.config_source", err)
		}
		if out.RouteName = s.Rds.GetRouteConfigName(); out.RouteName == "" {
			return wrong("rds.route_config_name", "empty")
		}
		return nil
	case *hcmv3.HttpConnectionManager_RouteConfig:
		out.Routes, err = readRouteConfig(c, s.RouteConfig)
		return at("route_config", err)
	case nil:
		return wrong("route_specifier", "missing")
	default:
		return wrong("route_specifier", "type %T is not supported", s)
	}
}
