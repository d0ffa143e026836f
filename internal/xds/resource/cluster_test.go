// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/cluster_provided/v3" // for text
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	"google.golang.org/grpc/balancer"
	"google.golang.org/protobuf/proto"
)

func newCluster() proto.Message { return &clusterv3.Cluster{} }

// eds is a cluster with its endpoints from EDS, and more fields.
func eds(fields string) string {
	return `name: "c" type: EDS eds_cluster_config { eds_config { ads {} } } ` + fields
}

func parseCluster(t *testing.T, c *Context, text string) *Cluster {
	t.Helper()
	out, err := ParseCluster(c, raw(t, newCluster(), text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func TestA27Cluster(t *testing.T) {
	c := parseCluster(t, plain(t), eds(""))
	if c.Name != "c" || c.Type != EDS || c.EDSName() != "c" || c.LRS != nil || c.MaxRequests != 1024 || c.TLS != nil || c.Outlier != nil {
		t.Errorf("%+v", c)
	}
	sameJSON(t, c.LBPolicy, `[{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}]`)
	ctx := plain(t)
	c = parseCluster(t, ctx, `name: "c" type: EDS eds_cluster_config { eds_config { self {} } service_name: "s" } lrs_server { self {} }`)
	if c.EDSName() != "s" || c.LRS != ctx.Server {
		t.Errorf("%+v", c)
	}
	checkBad(t, newCluster, ParseCluster, []bad{
		{`name: "c"`, "type: missing"},
		{`type: STATIC`, "type: STATIC"},
		{`type: EDS`, "eds_cluster_config.eds_config: neither ads nor self"},
		{`type: EDS eds_cluster_config { eds_config { path: "x" } }`, "eds_cluster_config.eds_config"},
		{eds(`lrs_server { ads {} }`), "lrs_server: not self"},
		{eds(`lb_policy: RANDOM`), "lb_policy: RANDOM"},
	})
}

func TestA47ServiceName(t *testing.T) {
	checkBad(t, newCluster, ParseCluster, []bad{
		{`name: "xdstp:x" type: EDS eds_cluster_config { eds_config { ads {} } }`, "eds_cluster_config.service_name: missing"},
	})
}

func TestA32CircuitBreaking(t *testing.T) {
	for text, want := range map[string]uint32{
		``: 1024,
		`circuit_breakers { thresholds { max_requests { value: 5 } } }`:                                                                                                  5,
		`circuit_breakers { thresholds { max_requests { value: 0 } } }`:                                                                                                  0,
		`circuit_breakers { thresholds { priority: HIGH max_requests { value: 5 } } }`:                                                                                   1024,
		`circuit_breakers { thresholds { priority: HIGH max_requests { value: 5 } } thresholds { max_requests { value: 6 } } thresholds { max_requests { value: 7 } } }`: 6,
		`circuit_breakers { thresholds { } thresholds { max_requests { value: 7 } } }`:                                                                                   1024,
	} {
		if got := parseCluster(t, plain(t), eds(text)).MaxRequests; got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}

func TestA105Scaling(t *testing.T) {
	const five = `circuit_breakers { per_host_thresholds { priority: HIGH max_connections { value: 3 } } per_host_thresholds { max_connections { value: 5 } } per_host_thresholds { max_connections { value: 7 } } }`
	for text, want := range map[string]uint32{
		``:   1,
		five: 5,
		`circuit_breakers { thresholds { max_connections { value: 5 } } }`:                         1,
		`circuit_breakers { per_host_thresholds { priority: HIGH max_connections { value: 3 } } }`: 1,
	} {
		if got := parseCluster(t, context(t), eds(text)).MaxConnections; got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
	const none = `circuit_breakers { per_host_thresholds { max_connections { value: 0 } } }`
	for _, text := range []string{five, none} {
		if got := parseCluster(t, plain(t), eds(text)).MaxConnections; got != 0 {
			t.Errorf("without its variable: %d", got)
		}
	}
	checkBad(t, newCluster, ParseCluster, []bad{{eds(none), "circuit_breakers.per_host_thresholds.max_connections: 0"}})
}

const dnsEndpoint = `type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints { endpoint { address { socket_address { address: "dns.example" port_value: 8080 } } } } } }`

func TestA37Clusters(t *testing.T) {
	c := parseCluster(t, plain(t), `name: "c" `+dnsEndpoint)
	if c.Type != LogicalDNS || c.DNSHostname != "dns.example:8080" {
		t.Errorf("%+v", c)
	}
	c = parseCluster(t, plain(t), `name: "c" cluster_type { typed_config { [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: "a" clusters: "b" clusters: "a" } } }`)
	if c.Type != Aggregate || !reflect.DeepEqual(c.Children, []string{"a", "b"}) {
		t.Errorf("%+v", c)
	}
	checkBad(t, newCluster, ParseCluster, []bad{
		{`type: LOGICAL_DNS`, "load_assignment.endpoints: 0 localities"},
		{`type: LOGICAL_DNS load_assignment { endpoints {} endpoints {} }`, "2 localities"},
		{`type: LOGICAL_DNS load_assignment { endpoints {} }`, "lb_endpoints: 0 endpoints"},
		{`type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints {} } }`, "address.socket_address: missing"},
		{`type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints { endpoint { address { socket_address { address: "a" resolver_name: "x" port_value: 1 } } } } } }`, "resolver_name"},
		{`type: LOGICAL_DNS load_assignment { endpoints { lb_endpoints { endpoint { address { socket_address { address: "a" } } } } } }`, "port_value: missing"},
		{`cluster_type {}`, "cluster_type.typed_config"},
		{`cluster_type { typed_config { [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] {} } }`, "cluster_type.typed_config.clusters: empty"},
		{`cluster_type { typed_config { [type.googleapis.com/envoy.config.cluster.v3.Cluster] {} } }`, "cluster_type.typed_config: type"},
	})
}

// TestA75PolicyOfAnAggregate: an aggregate may do without a policy if it says so. Any other policy is used, so an
// error in it is one of the resource.
func TestA75PolicyOfAnAggregate(t *testing.T) {
	aggregate := func(more string) string {
		return `name: "c" cluster_type { typed_config { [type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig] { clusters: "a" } } } ` + more
	}
	const (
		base     = "envoy.extensions.load_balancing_policies."
		provided = base + `cluster_provided.v3.ClusterProvided] {`
		unknown  = "envoy.config.cluster.v3.Cluster] {"
		robin    = base + `round_robin.v3.RoundRobin] {`
	)
	list := func(messages ...string) string { return `load_balancing_policy { ` + policies(messages...) + ` }` }
	for text, want := range map[string]string{
		`lb_policy: CLUSTER_PROVIDED`:                "",
		list(provided):                               "",
		list(unknown, provided, robin):               "",
		list(unknown, robin, provided):               `[{"round_robin":{}}]`,
		`lb_policy: CLUSTER_PROVIDED ` + list(robin): `[{"round_robin":{}}]`,
		`lb_policy: LEAST_REQUEST`:                   `[{"least_request_experimental":{"choiceCount":2}}]`,
	} {
		if got := parseCluster(t, plain(t), aggregate(text)).LBPolicy; want != "" {
			sameJSON(t, got, want)
		} else if got != nil {
			t.Errorf("%s: policy %s", text, got)
		}
	}
	checkBad(t, newCluster, ParseCluster, []bad{
		{aggregate(`lb_policy: MAGLEV`), "lb_policy: MAGLEV is not supported"},
		{aggregate(`lb_policy: RING_HASH ring_hash_lb_config { hash_function: MURMUR_HASH_2 }`), "ring_hash_lb_config.hash_function"},
		{aggregate(`lb_policy: LEAST_REQUEST least_request_lb_config { choice_count { value: 1 } }`), "least_request_lb_config"},
		{aggregate(`load_balancing_policy {}`), "load_balancing_policy.policies: none of 0"},
		{aggregate(list(unknown)), "load_balancing_policy.policies: none of 1"},
		{aggregate(list(base+`least_request.v3.LeastRequest] { choice_count { value: 1 }`, provided)), "policies[0]"},
		{eds(`lb_policy: CLUSTER_PROVIDED`), "lb_policy: CLUSTER_PROVIDED is not supported"},
		{eds(list(provided)), "load_balancing_policy.policies: none of 1"},
	})
}

func TestA42RingHash(t *testing.T) {
	for text, want := range map[string]string{
		`lb_policy: RING_HASH`: `[{"ring_hash_experimental":{"minRingSize":1024,"maxRingSize":8388608}}]`,
		`lb_policy: RING_HASH ring_hash_lb_config { minimum_ring_size { value: 7 } maximum_ring_size { value: 9 } }`: `[{"ring_hash_experimental":{"minRingSize":7,"maxRingSize":9}}]`,
	} {
		sameJSON(t, parseCluster(t, plain(t), eds(text)).LBPolicy, want)
	}
	checkBad(t, newCluster, ParseCluster, []bad{
		{eds(`lb_policy: RING_HASH ring_hash_lb_config { hash_function: MURMUR_HASH_2 }`), "ring_hash_lb_config.hash_function"},
		{eds(`lb_policy: RING_HASH ring_hash_lb_config { minimum_ring_size { value: 9000000 } }`), "ring_hash_lb_config"},
		{eds(`lb_policy: RING_HASH ring_hash_lb_config { minimum_ring_size { value: 10 } maximum_ring_size { value: 9 } }`), "ring_hash_lb_config"},
	})
}

func TestA48LeastRequest(t *testing.T) {
	sameJSON(t, parseCluster(t, plain(t), eds(`lb_policy: LEAST_REQUEST`)).LBPolicy, `[{"least_request_experimental":{"choiceCount":2}}]`)
	sameJSON(t, parseCluster(t, plain(t), eds(`lb_policy: LEAST_REQUEST least_request_lb_config { choice_count { value: 5 } }`)).LBPolicy, `[{"least_request_experimental":{"choiceCount":5}}]`)
	checkBad(t, newCluster, ParseCluster, []bad{
		{eds(`lb_policy: LEAST_REQUEST least_request_lb_config { choice_count { value: 1 } }`), "least_request_lb_config"},
	})
}

// custom is a policy that a program brings.
type custom struct{ balancer.Builder }

func (custom) Name() string { return "myorg.Custom" }

func init() { balancer.Register(custom{}) }

// policies is a list of policies in text form, each the message with its fields but for the
// last brace.
func policies(list ...string) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(`policies { typed_extension_config { name: "x" typed_config { [type.googleapis.com/` + p + ` } } } } `)
	}
	return b.String()
}

func TestA52Policies(t *testing.T) {
	const base = "envoy.extensions.load_balancing_policies."
	for _, tt := range []struct{ list, want string }{
		{policies(base + `round_robin.v3.RoundRobin] {`), `{"round_robin":{}}`},
		{policies("envoy.config.cluster.v3.Cluster] {", base+`round_robin.v3.RoundRobin] {`), `{"round_robin":{}}`},
		{policies(base + `pick_first.v3.PickFirst] { shuffle_address_list: true`), `{"pick_first":{"shuffleAddressList":true}}`},
		{policies(base + `least_request.v3.LeastRequest] { choice_count { value: 3 }`), `{"least_request_experimental":{"choiceCount":3}}`},
		{policies(base + `ring_hash.v3.RingHash] { hash_function: XX_HASH`), `{"ring_hash_experimental":{"minRingSize":1024,"maxRingSize":8388608}}`},
		{policies(base + `ring_hash.v3.RingHash] { hash_function: XX_HASH minimum_ring_size { value: 3 } maximum_ring_size { value: 4 }`), `{"ring_hash_experimental":{"minRingSize":3,"maxRingSize":4}}`},
		{policies(base + `wrr_locality.v3.WrrLocality] { endpoint_picking_policy { ` + policies(base+`round_robin.v3.RoundRobin] {`) + `}`), `{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}`},
		{
			policies(base + `client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin] { enable_oob_load_report { value: true } oob_reporting_period { seconds: 5 } blackout_period { seconds: 1 nanos: 118000000 } weight_expiration_period { seconds: 60 } weight_update_period { seconds: 1 } error_utilization_penalty { value: 0.5 }`),
			`{"weighted_round_robin":{"enableOobLoadReport":true,"oobReportingPeriod":"5s","blackoutPeriod":"1.118s","weightExpirationPeriod":"60s","weightUpdatePeriod":"1s","errorUtilizationPenalty":0.5}}`,
		},
		{policies(base + `random_subsetting.v3.RandomSubsetting] { subset_size { value: 3 } child_policy { ` + policies(base+`round_robin.v3.RoundRobin] {`) + `}`), `{"random_subsetting_experimental":{"subsetSize":3,"childPolicy":[{"round_robin":{}}]}}`},
		{policies(`xds.type.v3.TypedStruct] { type_url: "type.googleapis.com/myorg.Unknown"`, `xds.type.v3.TypedStruct] { type_url: "type.googleapis.com/myorg.Custom" value { fields { key: "choiceCount" value { number_value: 2 } } }`), `{"myorg.Custom":{"choiceCount":2}}`},
		{policies(`udpa.type.v1.TypedStruct] { type_url: "myorg.Custom"`), `{"myorg.Custom":{}}`},
	} {
		c := parseCluster(t, plain(t), eds(`lb_policy: RANDOM load_balancing_policy { `+tt.list+` }`))
		sameJSON(t, c.LBPolicy, "["+tt.want+"]")
	}
	deep := func(n int) string {
		text := base + `round_robin.v3.RoundRobin] {}`
		for range n {
			text = base + `wrr_locality.v3.WrrLocality] { endpoint_picking_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/` + text + ` } } } } }`
		}
		return eds(`load_balancing_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/` + text + ` } } } }`)
	}
	parseCluster(t, plain(t), deep(maxPolicies-1))
	one := func(p string) string {
		return eds(`load_balancing_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/` + p + ` } } } }`)
	}
	checkBad(t, newCluster, ParseCluster, []bad{
		{deep(maxPolicies), "policies lie more than 16 deep"},
		{eds(`load_balancing_policy {}`), "load_balancing_policy.policies: none of 0"},
		{one(`envoy.config.cluster.v3.Cluster] {}`), "load_balancing_policy.policies: none of 1"},
		{one(`xds.type.v3.TypedStruct] { type_url: "type.googleapis.com/myorg.Unknown" }`), "none of 1"},
		{one(base + `ring_hash.v3.RingHash] { hash_function: MURMUR_HASH_2 }`), "load_balancing_policy.policies[0].typed_extension_config.typed_config.hash_function"},
		{one(base + `ring_hash.v3.RingHash] { hash_function: XX_HASH minimum_ring_size { value: 8388609 } }`), "policies[0].typed_extension_config.typed_config"},
		{one(base + `least_request.v3.LeastRequest] { choice_count { value: 1 } }`), "policies[0]"},
		{one(base + `wrr_locality.v3.WrrLocality] {}`), "endpoint_picking_policy: missing"},
		{one(base + `client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin] { blackout_period { seconds: -1 } }`), "blackout_period"},
		{one(base + `client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin] { error_utilization_penalty { value: -1 } }`), "error_utilization_penalty"},
	})
}

func TestA50OutlierDetection(t *testing.T) {
	js := func(text string) []byte {
		b, err := json.Marshal(parseCluster(t, plain(t), eds(text)).Outlier)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	sameJSON(t, js(""), "null")
	sameJSON(t, js("outlier_detection {}"), `{"interval":"10s","baseEjectionTime":"30s","maxEjectionTime":"300s","maxEjectionPercent":10,
		"successRateEjection":{"stdevFactor":1900,"enforcementPercentage":100,"minimumHosts":5,"requestVolume":100}}`)
	sameJSON(t, js(`outlier_detection { interval { nanos: 500000000 } base_ejection_time { seconds: 2 } max_ejection_time { seconds: 3 } max_ejection_percent { value: 4 }
		enforcing_success_rate {} enforcing_failure_percentage { value: 5 } failure_percentage_threshold { value: 6 } failure_percentage_minimum_hosts { value: 7 } failure_percentage_request_volume { value: 8 } }`),
		`{"interval":"0.5s","baseEjectionTime":"2s","maxEjectionTime":"3s","maxEjectionPercent":4,
		"failurePercentageEjection":{"threshold":6,"enforcementPercentage":5,"minimumHosts":7,"requestVolume":8}}`)
	checkBad(t, newCluster, ParseCluster, []bad{
		{eds(`outlier_detection { interval { seconds: -1 } }`), "outlier_detection.interval"},
		{eds(`outlier_detection { base_ejection_time { seconds: 1 nanos: -1 } }`), "outlier_detection.base_ejection_time"},
		{eds(`outlier_detection { max_ejection_time { seconds: 315576000001 } }`), "outlier_detection.max_ejection_time"},
		{eds(`outlier_detection { max_ejection_percent { value: 101 } }`), "outlier_detection.max_ejection_percent"},
		{eds(`outlier_detection { enforcing_success_rate { value: 101 } }`), "outlier_detection.enforcing_success_rate"},
		{eds(`outlier_detection { failure_percentage_threshold { value: 101 } }`), "outlier_detection.failure_percentage_threshold"},
		{eds(`outlier_detection { enforcing_failure_percentage { value: 101 } }`), "outlier_detection.enforcing_failure_percentage"},
	})
}

func TestA55AndA75Sessions(t *testing.T) {
	c := parseCluster(t, context(t), eds(""))
	if !reflect.DeepEqual(c.OverrideHealth, []Health{Unknown, Healthy}) || c.SessionIdleTimeout != time.Hour {
		t.Errorf("%+v", c)
	}
	c = parseCluster(t, context(t), eds(`common_lb_config { override_host_status { statuses: DRAINING statuses: UNHEALTHY } }
		upstream_config { typed_config { [type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions] { common_http_protocol_options { idle_timeout { seconds: 9 } } } } }`))
	if !reflect.DeepEqual(c.OverrideHealth, []Health{Draining}) || c.SessionIdleTimeout != 9*time.Second {
		t.Errorf("%+v", c)
	}
	parseCluster(t, plain(t), eds(`upstream_config { typed_config { [type.googleapis.com/envoy.config.cluster.v3.Cluster] {} } }`))
	checkBad(t, newCluster, ParseCluster, []bad{
		{eds(`upstream_config { typed_config { [type.googleapis.com/envoy.config.cluster.v3.Cluster] {} } }`), "upstream_config.typed_config"},
	})
}

func TestA83Metadata(t *testing.T) {
	text := eds(`metadata {
		filter_metadata { key: "a" value { fields { key: "x" value { number_value: 1 } } } }
		filter_metadata { key: "b" value {} }
		filter_metadata { key: "com.google.csm.telemetry_labels" value { fields { key: "service_name" value { string_value: "s" } } } }
		typed_filter_metadata { key: "b" value { [type.googleapis.com/envoy.extensions.filters.http.gcp_authn.v3.Audience] { url: "u" } } }
		typed_filter_metadata { key: "c" value { [type.googleapis.com/envoy.config.cluster.v3.Cluster] {} } } }`)
	if off := parseCluster(t, plain(t), text).Metadata; off["b"] == Audience("u") {
		t.Errorf("an audience is read that nobody uses: %v", off)
	}
	c := parseCluster(t, context(t), text)
	if c.Metadata["b"] != Audience("u") || c.Metadata["c"] != nil {
		t.Errorf("%v", c.Metadata)
	}
	sameJSON(t, c.Metadata["a"].(Struct), `{"x":1}`)
	if got := c.TelemetryLabels(); !reflect.DeepEqual(got, map[string]string{"csm.service_name": "s", "csm.service_namespace_name": "unknown"}) {
		t.Error(got)
	}
	for text, want := range map[string]map[string]string{
		`value { fields { key: "service_namespace" value { string_value: "n" } } }`: {"csm.service_name": "unknown", "csm.service_namespace_name": "n"},
		`value { fields { key: "service_name" value { number_value: 1 } } }`:        {"csm.service_name": "unknown", "csm.service_namespace_name": "unknown"},
	} {
		c := parseCluster(t, plain(t), eds(`metadata { filter_metadata { key: "com.google.csm.telemetry_labels" `+text+` } }`))
		if got := c.TelemetryLabels(); !reflect.DeepEqual(got, want) {
			t.Error(got)
		}
	}
	checkBad(t, newCluster, ParseCluster, []bad{
		{eds(`metadata { typed_filter_metadata { key: "b" value { [type.googleapis.com/envoy.extensions.filters.http.gcp_authn.v3.Audience] {} } } }`), "metadata.typed_filter_metadata[b].url: empty"},
	})
}

// TestA83MetadataNotJSON: filter_metadata that JSON can't express is no reason to reject a cluster.
func TestA83MetadataNotJSON(t *testing.T) {
	for _, value := range []string{`{}`, `{ number_value: nan }`} {
		c := parseCluster(t, context(t), eds(`metadata {
			filter_metadata { key: "a" value { fields { key: "x" value `+value+` } } }
			filter_metadata { key: "b" value { fields { key: "x" value { bool_value: true } } } } }`))
		sameJSON(t, c.Metadata["a"].(Struct), "null")
		sameJSON(t, c.Metadata["b"].(Struct), `{"x":true}`)
	}
}

// TestA86ClusterMetadata: without HTTP CONNECT, an address in metadata is a value of unknown type.
func TestA86ClusterMetadata(t *testing.T) {
	text := eds(`metadata {
		typed_filter_metadata { key: "a" value { [type.googleapis.com/envoy.config.core.v3.Address] { pipe { path: "/p" } } } }
		filter_metadata { key: "a" value { fields { key: "x" value { bool_value: true } } } } }`)
	js, _ := parseCluster(t, plain(t), text).Metadata["a"].(Struct)
	sameJSON(t, js, `{"x":true}`)
	checkBad(t, newCluster, ParseCluster, []bad{{text, "metadata.typed_filter_metadata[a].socket_address: missing"}})
}

func TestA85LoadMetrics(t *testing.T) {
	text := eds(`lrs_report_endpoint_metrics: "cpu_utilization" lrs_report_endpoint_metrics: "named_metrics.b" lrs_report_endpoint_metrics: "named_metrics.a" lrs_report_endpoint_metrics: "what"`)
	got := parseCluster(t, plain(t), text).LoadMetrics
	if !reflect.DeepEqual(got, LoadMetrics{CPU: true, Prefixed: true, Named: []string{"a", "b"}}) {
		t.Errorf("%+v", got)
	}
	got = parseCluster(t, plain(t), eds(`lrs_report_endpoint_metrics: "named_metrics.*" lrs_report_endpoint_metrics: "named_metrics.b" lrs_report_endpoint_metrics: "mem_utilization" lrs_report_endpoint_metrics: "application_utilization"`)).LoadMetrics
	if !reflect.DeepEqual(got, LoadMetrics{Memory: true, Application: true, AllNamed: true, Prefixed: true}) {
		t.Errorf("%+v", got)
	}
	off := plain(t)
	off.Features.ORCAToLRS = false
	if got := parseCluster(t, off, text).LoadMetrics; !reflect.DeepEqual(got, LoadMetrics{AllNamed: true}) { // A64
		t.Errorf("%+v", got)
	}
}

func FuzzCluster(f *testing.F) {
	for _, text := range []string{
		eds(`lb_policy: RING_HASH outlier_detection {}`),
		dnsEndpoint,
		eds(security(`validation_context { ca_certificate_provider_instance { instance_name: "cert" } }`)),
		eds(`load_balancing_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality] { endpoint_picking_policy { policies { typed_extension_config { typed_config { [type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin] {} } } } } } } } } }`),
	} {
		f.Add(raw(f, newCluster(), text))
	}
	c := context(f)
	c.Features.PanicRecovery = false
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := ParseCluster(c, b)
		if err == nil && !json.Valid(out.LBPolicy) {
			t.Errorf("policy %s", out.LBPolicy)
		}
	})
}
