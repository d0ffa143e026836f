// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"errors"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/grpc/internal/scaling"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/protobuf/proto"
)

// ClusterType says where the endpoints of a cluster come from.
type ClusterType uint8

// A cluster has one of these types.
const (
	EDS        ClusterType = iota // from an EDS resource (A27)
	LogicalDNS                    // from a DNS name (A37)
	Aggregate                     // from other clusters (A37, A75)
)

// Cluster says how to talk to a set of servers.
type Cluster struct {
	// Name is the name of the resource.
	Name string
	Type ClusterType

	// EDSServiceName is the name in the resource, which may be empty; see EDSName.
	EDSServiceName string
	// DNSHostname is the host name and port of a LogicalDNS cluster.
	DNSHostname string
	// Children are the clusters of an Aggregate in order of preference, without duplicates.
	Children []string

	Derived Derived

	// LRS is the server that gets load reports, or nil if there are none.
	LRS *bootstrap.Server
	// LoadMetrics says which backend metrics go into load reports (A85).
	LoadMetrics LoadMetrics
	// MaxRequests limits the number of concurrent RPCs (A32).
	MaxRequests uint32
	// MaxConnections limits the number of connections of a subchannel (A105). It is 1 if the
	// resource sets no limit, and 0 without Features.Scaling.
	MaxConnections uint32
	// LBPolicy is a list of one policy with its configuration, in the form of a service config
	// (A52). It is the child of xds_cluster_impl. An Aggregate with the policy CLUSTER_PROVIDED, which
	// Envoy wants there (A75), has none. If an Aggregate has one, it replaces those of its clusters,
	// as in A37, and so has to be valid.
	LBPolicy json.RawMessage
	// Outlier is nil if there is no outlier detection.
	Outlier *OutlierDetection
	// TLS is nil if the resource configures no security; the fallback credentials are used then
	// (A29).
	TLS *ClientTLS
	// HTTPConnect says to connect to endpoints that have a proxy through that proxy (A86).
	HTTPConnect bool
	// OverrideHealth has the health states in which an endpoint keeps its sessions (A55).
	OverrideHealth []Health
	// SessionIdleTimeout is how long to keep a session's endpoint that no RPC uses (A75).
	SessionIdleTimeout time.Duration
	// Metadata is for filters (A83).
	Metadata Metadata
}

// defaultMaxRequests is the value of Cluster.MaxRequests if the resource sets none (A32).
const defaultMaxRequests = 1024

// defaultIdleTimeout is Envoy's default for upstream connections.
const defaultIdleTimeout = time.Hour

// EDSName returns the name of the EDS resource of an EDS cluster.
func (cl *Cluster) EDSName() string {
	if cl.EDSServiceName != "" {
		return cl.EDSServiceName
	}
	return cl.Name
}

// ParseCluster parses a serialized Cluster.
func ParseCluster(c *Context, raw []byte) (*Cluster, error) {
	return parse(c, raw, &clusterv3.Cluster{}, readCluster)
}

func readCluster(c *Context, in *clusterv3.Cluster) (*Cluster, error) {
	out := &Cluster{Name: in.GetName()}
	steps := []func(*Context, *clusterv3.Cluster) error{
		out.readType, out.readCircuitBreakers, out.readLRS, out.readLBPolicy, out.readOutlier, out.readSecurity, out.readSession, out.readMetadata,
	}
	for _, step := range steps {
		if err := step(c, in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (cl *Cluster) readCircuitBreakers(c *Context, cluster *clusterv3.Cluster) error {
	in := cluster.GetCircuitBreakers()
	cl.MaxRequests = defaultMaxRequests
	if n := ofDefaultPriority(in.GetThresholds()).GetMaxRequests(); n != nil {
		cl.MaxRequests = n.GetValue()
	}
	if !c.Features.Scaling {
		return nil
	}
	cl.MaxConnections = scaling.Default
	if n := ofDefaultPriority(in.GetPerHostThresholds()).GetMaxConnections(); n != nil {
		if cl.MaxConnections = n.GetValue(); cl.MaxConnections == 0 {
			return wrong("circuit_breakers.per_host_thresholds.max_connections", "0")
		}
	}
	return nil
}

// ofDefaultPriority returns the first thresholds for the default priority, the only ones that
// count (A32). It returns nil if there are none.
func ofDefaultPriority(in []*clusterv3.CircuitBreakers_Thresholds) *clusterv3.CircuitBreakers_Thresholds {
	for _, t := range in {
		if t.GetPriority() == corev3.RoutingPriority_DEFAULT {
			return t
		}
	}
	return nil
}

func (cl *Cluster) readType(_ *Context, in *clusterv3.Cluster) error {
	switch t := in.GetClusterDiscoveryType().(type) {
	case *clusterv3.Cluster_ClusterType:
		return at("cluster_type", cl.readCustomType(t.ClusterType))
	case *clusterv3.Cluster_Type:
		switch t.Type {
		case clusterv3.Cluster_EDS:
			return at("eds_cluster_config", cl.readEDS(in.GetEdsClusterConfig()))
		case clusterv3.Cluster_LOGICAL_DNS:
			return at("load_assignment", cl.readDNS(in))
		default:
			return wrong("type", "%v is not supported", t.Type)
		}
	default:
		return wrong("type", "missing")
	}
}

func (cl *Cluster) readEDS(in *clusterv3.Cluster_EdsClusterConfig) error {
	cl.Type = EDS
	if err := checkADS(in.GetEdsConfig()); err != nil {
		return at("eds_config", err)
	}
	cl.EDSServiceName = in.GetServiceName()
	if newStyle(cl.Name) && cl.EDSServiceName == "" { // A47
		return wrong("service_name", "missing, in a cluster whose name begins with xdstp:")
	}
	return nil
}

// checkADS fails unless the source is the stream from which the current resource came.
func checkADS(in *corev3.ConfigSource) error {
	switch in.GetConfigSourceSpecifier().(type) {
	case *corev3.ConfigSource_Ads, *corev3.ConfigSource_Self:
		return nil
	default:
		return errors.New("neither ads nor self")
	}
}

func (cl *Cluster) readDNS(in *clusterv3.Cluster) (err error) {
	cl.Type = LogicalDNS
	localities := in.GetLoadAssignment().GetEndpoints()
	if len(localities) != 1 {
		return wrong("endpoints", "%d localities; a LOGICAL_DNS cluster has one", len(localities))
	}
	endpoints := localities[0].GetLbEndpoints()
	if len(endpoints) != 1 {
		return wrong("endpoints[0].lb_endpoints", "%d endpoints; a LOGICAL_DNS cluster has one", len(endpoints))
	}
	const field = "endpoints[0].lb_endpoints[0].endpoint.address"
	address := endpoints[0].GetEndpoint().GetAddress()
	if name := address.GetSocketAddress().GetResolverName(); name != "" {
		return wrong(field+".socket_address.resolver_name", "%q; custom resolvers are not supported", name)
	}
	cl.DNSHostname, err = socketAddress(address)
	return at(field, err)
}

func (cl *Cluster) readCustomType(in *clusterv3.Cluster_CustomClusterType) error {
	if in.GetTypedConfig().MessageName() != "envoy.extensions.clusters.aggregate.v3.ClusterConfig" {
		return wrong("typed_config", "type %q is not supported", in.GetTypedConfig().GetTypeUrl())
	}
	cl.Type = Aggregate
	var list aggregatev3.ClusterConfig
	if err := proto.Unmarshal(in.GetTypedConfig().GetValue(), &list); err != nil {
		return at("typed_config", err)
	}
	if len(list.GetClusters()) == 0 {
		return wrong("typed_config.clusters", "empty")
	}
	seen := make(map[string]bool, len(list.GetClusters()))
	for _, name := range list.GetClusters() {
		if !seen[name] {
			seen[name] = true
			cl.Children = append(cl.Children, name)
		}
	}
	return nil
}

func (cl *Cluster) readLRS(c *Context, in *clusterv3.Cluster) error {
	cl.LoadMetrics = parseLoadMetrics(in.GetLrsReportEndpointMetrics(), c.Features.ORCAToLRS)
	if in.GetLrsServer() == nil {
		return nil
	}
	if in.GetLrsServer().GetSelf() == nil {
		return wrong("lrs_server", "not self")
	}
	cl.LRS = c.Server
	return nil
}

// readSession reads the fields that only stateful session affinity uses.
func (cl *Cluster) readSession(c *Context, in *clusterv3.Cluster) error {
	if !c.Features.StatefulSession {
		return nil
	}
	cl.OverrideHealth = overrideHealth(in.GetCommonLbConfig().GetOverrideHostStatus())
	cl.SessionIdleTimeout = defaultIdleTimeout
	config := in.GetUpstreamConfig().GetTypedConfig()
	if in.GetUpstreamConfig() == nil {
		return nil
	}
	if config.MessageName() != "envoy.extensions.upstreams.http.v3.HttpProtocolOptions" {
		return wrong("upstream_config.typed_config", "type %q is not supported", config.GetTypeUrl())
	}
	var options upstreamsv3.HttpProtocolOptions
	if err := proto.Unmarshal(config.GetValue(), &options); err != nil {
		return at("upstream_config.typed_config", err)
	}
	idle := options.GetCommonHttpProtocolOptions().GetIdleTimeout()
	if idle == nil {
		return nil
	}
	d, err := duration(idle)
	cl.SessionIdleTimeout = d
	return at("upstream_config.typed_config.common_http_protocol_options.idle_timeout", err)
}

// overrideHealth returns the health states in the set that gRPC knows (A55), and Unknown and
// Healthy if there is no set.
func overrideHealth(in *corev3.HealthStatusSet) []Health {
	if in == nil {
		return []Health{Unknown, Healthy}
	}
	out := []Health{}
	for _, s := range in.GetStatuses() {
		switch s {
		case corev3.HealthStatus_UNKNOWN:
			out = append(out, Unknown)
		case corev3.HealthStatus_HEALTHY:
			out = append(out, Healthy)
		case corev3.HealthStatus_DRAINING:
			out = append(out, Draining)
		}
	}
	return out
}

func (cl *Cluster) readMetadata(c *Context, in *clusterv3.Cluster) (err error) {
	cl.Metadata, err = parseMetadata(c, in.GetMetadata())
	return at("metadata", err)
}

// TelemetryLabels returns the metric labels with the names that the control plane gives the
// service in the metadata. A missing name is "unknown". The caller owns the map.
func (cl *Cluster) TelemetryLabels() map[string]string {
	var in map[string]any
	if text, ok := cl.Metadata["com.google.csm.telemetry_labels"].(Struct); ok {
		_ = json.Unmarshal(text, &in) // if text is not valid, the labels stay unknown
	}
	labels := map[string]string{"csm.service_name": "unknown", "csm.service_namespace_name": "unknown"}
	for key, label := range map[string]string{"service_name": "csm.service_name", "service_namespace": "csm.service_namespace_name"} {
		if v, ok := in[key].(string); ok && v != "" {
			labels[label] = v
		}
	}
	return labels
}

func (cl *Cluster) readOutlier(_ *Context, in *clusterv3.Cluster) error {
	if in.GetOutlierDetection() == nil {
		return nil
	}
	o := in.GetOutlierDetection()
	r := outlierReader{}
	d := &OutlierDetection{
		Interval:           r.duration("interval", o.GetInterval(), 10*time.Second),
		BaseEjectionTime:   r.duration("base_ejection_time", o.GetBaseEjectionTime(), 30*time.Second),
		MaxEjectionTime:    r.duration("max_ejection_time", o.GetMaxEjectionTime(), 300*time.Second),
		MaxEjectionPercent: r.percent("max_ejection_percent", o.GetMaxEjectionPercent(), 10),
	}
	if enforce := r.percent("enforcing_success_rate", o.GetEnforcingSuccessRate(), 100); enforce > 0 {
		d.SuccessRate = &SuccessRate{
			StdevFactor:           number(o.GetSuccessRateStdevFactor(), 1900),
			EnforcementPercentage: enforce,
			MinimumHosts:          number(o.GetSuccessRateMinimumHosts(), 5),
			RequestVolume:         number(o.GetSuccessRateRequestVolume(), 100),
		}
	}
	threshold := r.percent("failure_percentage_threshold", o.GetFailurePercentageThreshold(), 85)
	if enforce := r.percent("enforcing_failure_percentage", o.GetEnforcingFailurePercentage(), 0); enforce > 0 {
		d.FailurePercentage = &FailurePercentage{
			Threshold:             threshold,
			EnforcementPercentage: enforce,
			MinimumHosts:          number(o.GetFailurePercentageMinimumHosts(), 5),
			RequestVolume:         number(o.GetFailurePercentageRequestVolume(), 50),
		}
	}
	cl.Outlier = d
	return at("outlier_detection", r.err)
}

func (cl *Cluster) readSecurity(c *Context, in *clusterv3.Cluster) (err error) {
	if len(in.GetTransportSocketMatches()) > 0 { // if ignored, connections would use the fallback credentials
		return wrong("transport_socket_matches", "not supported; use transport_socket")
	}
	socket, field := in.GetTransportSocket(), "transport_socket"
	if c.Features.HTTPConnect && socket.GetTypedConfig().MessageName() == proxySocket {
		var p proxyv3.Http11ProxyUpstreamTransport
		if err := proto.Unmarshal(socket.GetTypedConfig().GetValue(), &p); err != nil {
			return at(field+".typed_config", err)
		}
		cl.HTTPConnect, socket, field = true, p.GetTransportSocket(), field+".typed_config.transport_socket"
	}
	if socket == nil {
		return nil
	}
	var m tlsv3.UpstreamTlsContext
	if err := unwrapTLS(socket, upstreamTLS, &m); err != nil {
		return at(field, err)
	}
	cl.TLS, err = readClientTLS(c, &m)
	return at(field+".typed_config", err)
}

func (cl *Cluster) readLBPolicy(_ *Context, in *clusterv3.Cluster) error {
	if cl.Type == Aggregate && isProvided(in) {
		return nil // the clusters that the aggregate consists of have policies (A75)
	}
	return cl.readPolicy(in)
}

// isProvided reports whether the policy is the one with which a cluster says that it needs none.
func isProvided(in *clusterv3.Cluster) bool {
	if in.GetLoadBalancingPolicy() == nil {
		return in.GetLbPolicy() == clusterv3.Cluster_CLUSTER_PROVIDED
	}
	for _, p := range in.GetLoadBalancingPolicy().GetPolicies() {
		typed := p.GetTypedExtensionConfig().GetTypedConfig()
		if typed.MessageName() == "envoy.extensions.load_balancing_policies.cluster_provided.v3.ClusterProvided" {
			return true
		}
		if name, _, err := policy(typed, 1); name != "" || err != nil {
			return false // readPolicy takes this one, or returns its error
		}
	}
	return false
}

func (cl *Cluster) readPolicy(in *clusterv3.Cluster) error {
	if in.GetLoadBalancingPolicy() != nil { // takes precedence over the older fields
		policy, err := policyList(in.GetLoadBalancingPolicy(), 1)
		if err != nil {
			return at("load_balancing_policy", err)
		}
		return cl.setPolicy(policy)
	}
	switch in.GetLbPolicy() {
	case clusterv3.Cluster_ROUND_ROBIN:
		return cl.setPolicy(object{"xds_wrr_locality_experimental": object{"childPolicy": []object{{"round_robin": object{}}}}})
	case clusterv3.Cluster_RING_HASH:
		c := in.GetRingHashLbConfig()
		if c.GetHashFunction() != clusterv3.Cluster_RingHashLbConfig_XX_HASH {
			return wrong("ring_hash_lb_config.hash_function", "%v is not supported", c.GetHashFunction())
		}
		config := ringSizes(c.GetMinimumRingSize(), c.GetMaximumRingSize())
		return at("ring_hash_lb_config", cl.setChecked("ring_hash_experimental", config))
	case clusterv3.Cluster_LEAST_REQUEST: // A48
		config := object{"choiceCount": number(in.GetLeastRequestLbConfig().GetChoiceCount(), 2)}
		return at("least_request_lb_config", cl.setChecked("least_request_experimental", config))
	default:
		return wrong("lb_policy", "%v is not supported", in.GetLbPolicy())
	}
}

func (cl *Cluster) setChecked(name string, config object) error {
	if err := check(name, config); err != nil {
		return err
	}
	return cl.setPolicy(object{name: config})
}

func (cl *Cluster) setPolicy(policy object) (err error) {
	cl.LBPolicy, err = json.Marshal([]object{policy})
	return err
}
