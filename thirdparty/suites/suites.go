// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path"
)

// suite is another project's tests, or tests here that drive another project's code.
type suite struct {
	name string
	// module is fetched at the version that it names, or is a folder of this module if it
	// begins with a dot.
	module   string
	packages []string
	// require raises requirements, drop takes them away, and remove takes files away. Versions
	// that the suite's go.mod names and that the module proxy does not serve are the only
	// reason.
	require, drop, remove []string
	// builds are packages that only have to compile, beside those that are tested; skip are
	// elements of paths of those that do not.
	builds, skip []string
	// script tests pairs of programs; see testPairs. It is a path in the module.
	script string
	// mesh is one more pair, of an xDS server and its client; see runMesh.
	mesh string
	// tags are those that the project builds with, with commas.
	tags string
	// run is the pattern for the names of tests; all, if it is empty.
	run string
	// short leaves the long tests out.
	short bool
	// long suites run only if asked for.
	long bool
}

// The versions are the newest of the day on which they were written here, in October 2026.
var suites = []suite{
	{
		name:     "go-grpc-middleware",
		module:   "github.com/grpc-ecosystem/go-grpc-middleware/v2@v2.3.4",
		packages: []string{"./..."},
	},
	{
		name:     "otelgrpc",
		module:   "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc@v0.72.0",
		packages: []string{"./..."},
	},
	{
		// One whose stats handler looks for the peer in its context.
		name:     "otelgrpc 0.67",
		module:   "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc@v0.67.0",
		packages: []string{"./..."},
	},
	{
		name:     "spanner",
		module:   "cloud.google.com/go/spanner@v1.96.1",
		packages: []string{"."},
		short:    true,
	},
	{
		name:     "grpc-gateway",
		module:   "github.com/grpc-ecosystem/grpc-gateway/v2@v2.32.0",
		packages: []string{"./runtime/...", "./examples/internal/integration/..."},
		require:  []string{"google.golang.org/genproto/googleapis/api@v0.0.0-20261019180522-ce908d29299b"},
	},
	{
		name:     "cmux",
		module:   "github.com/soheilhy/cmux@v0.1.5",
		packages: []string{"./..."},
	},
	{
		// v0.16.0 asks for a newer Go than this module does.
		name:     "go-proxyproto",
		module:   "github.com/pires/go-proxyproto@v0.15.0",
		packages: []string{"./..."},
	},
	{
		name:     "grpc-web",
		module:   "github.com/improbable-eng/grpc-web@v0.15.0",
		packages: []string{"./go/grpcweb/..."},
	},
	{
		name:     "grpchan",
		module:   "github.com/fullstorydev/grpchan@v1.1.2",
		packages: []string{"./..."},
	},
	{
		name:     "protoreflect",
		module:   "github.com/jhump/protoreflect@v1.19.0",
		packages: []string{"./dynamic/grpcdynamic/...", "./grpcreflect/..."},
	},
	{
		name:     "protoreflect 2",
		module:   "github.com/jhump/protoreflect/v2@v2.0.0-beta.2",
		packages: []string{"./grpcdynamic/...", "./grpcreflect/..."},
	},
	{
		name:     "go-spiffe",
		module:   "github.com/spiffe/go-spiffe/v2@v2.9.0",
		packages: []string{"./..."},
	},
	{
		name:     "go-zero",
		module:   "github.com/zeromicro/go-zero@v1.10.3",
		packages: []string{"./zrpc/...", "./gateway/...", "./core/trace/..."},
	},
	{
		name:     "kratos",
		module:   "github.com/go-kratos/kratos/v2@v2.8.3",
		packages: []string{"./transport/grpc/...", "./errors/...", "./middleware/..."},
	},
	{
		name:     "go-kit",
		module:   "github.com/go-kit/kit@v0.13.0",
		packages: []string{"./transport/grpc/...", "./auth/jwt/...", "./tracing/..."},
	},
	{
		name:     "configgrpc",
		module:   "go.opentelemetry.io/collector/config/configgrpc@v1.70.0",
		packages: []string{"./..."},
	},
	{
		name:     "etcd client",
		module:   "go.etcd.io/etcd/client/v3@v3.7.3",
		packages: []string{"./..."},
	},
	{
		name:     "advancedtls",
		module:   "google.golang.org/grpc/security/advancedtls@v1.0.0",
		packages: []string{"./..."},
	},
	{
		name:     "opencensus",
		module:   "google.golang.org/grpc/stats/opencensus@v1.0.0",
		packages: []string{"./..."},
	},
	{
		name:     "observability",
		module:   "google.golang.org/grpc/gcp/observability@v1.0.1",
		packages: []string{"./..."},
	},
	{
		// Its own list of tests is pairs of programs.
		name:     "examples",
		module:   "google.golang.org/grpc/examples@v0.0.0-20260825154716-030ee8becb20",
		packages: []string{"./..."},
		builds:   []string{"./..."},
		script:   "examples_test.sh",
	},
	{
		name:     "examples, xds",
		module:   "google.golang.org/grpc/examples@v0.0.0-20260825154716-030ee8becb20",
		packages: []string{"./features/xds/..."},
		mesh:     "features/xds",
	},
	{
		name:     "google api",
		module:   "google.golang.org/api@v0.311.0",
		packages: []string{"./transport/grpc/..."},
	},
	{
		name:     "pubsub",
		module:   "cloud.google.com/go/pubsub@v1.52.0",
		packages: []string{".", "./pstest/..."},
	},
	{
		name:     "pubsub 2",
		module:   "cloud.google.com/go/pubsub/v2@v2.8.1",
		packages: []string{".", "./pstest/..."},
	},
	{
		// The client over gRPC; its writers have a fake of the service. The long tests ask
		// Google's cloud.
		name:     "storage",
		short:    true,
		module:   "cloud.google.com/go/storage@v1.70.0",
		packages: []string{"."},
		run:      "GRPCWriter|GRPCResumable|GRPCStorageClient|BytesCodec|RoutingInterceptors|PrepareDirectPath|ListObjects_UserProject|Checksums|RangeReader|ChunkRetry|StallTimeout|WriteStall",
	},
	{
		name:     "vanguard",
		module:   "connectrpc.com/vanguard@v0.4.0",
		packages: []string{"./..."},
	},
	{
		name:     "arrow flight",
		module:   "github.com/apache/arrow-go/v18@v18.8.0",
		packages: []string{"./arrow/flight/..."},
	},
	{
		name:     "dskit",
		module:   "github.com/grafana/dskit@v0.0.0-20260703122047-de1ec7541c44",
		packages: []string{"./server/...", "./middleware/...", "./grpcclient/...", "./grpcutil/...", "./httpgrpc/...", "./clusterutil/..."},
	},
	{
		name:     "fabric",
		module:   "github.com/hyperledger/fabric@v1.4.0-rc1.0.20260423151550-2190a1c8e067",
		packages: []string{"./internal/pkg/comm/..."},
	},
	{
		// Later ones ask for a newer Go than this module does.
		name:     "boulder",
		module:   "github.com/letsencrypt/boulder@v0.20260901.0",
		packages: []string{"./grpc/..."},
	},
	{
		// The server, whose services call one another over gRPC, in one process with SQLite
		// in memory, and what is about gRPC alone.
		name:   "temporal",
		module: "go.temporal.io/server@v1.32.1",
		packages: []string{
			"./temporaltest/...", "./common/rpc/...", "./common/headers/...", "./common/membership/...",
			"./common/authorization/...", "./common/testing/nettest/...", "./client/history/...",
		},
		builds: []string{"./cmd/server"},
	},
	{
		// Its receiver and its querier, which ask others over gRPC.
		name:   "thanos",
		module: "github.com/thanos-io/thanos@v0.42.4",
		tags:   "slicelabels",
		packages: []string{
			"./pkg/extgrpc", "./pkg/exemplars", "./pkg/tenancy", "./pkg/tracing/tracing_middleware", "./pkg/tracing/util/...",
			"./pkg/query", "./pkg/receive",
		},
		builds: []string{"./cmd/thanos"},
	},
	{
		// Its stores, and the proxy before them. The other tests want buckets in clouds, or start
		// Prometheus.
		name:     "thanos stores",
		module:   "github.com/thanos-io/thanos@v0.42.4",
		tags:     "slicelabels",
		packages: []string{"./pkg/store"},
		run:      "Test(Proxy|TSDB|Recoverable|RateLimited|Limiter|LazyRespSet|DedupRespHeap|QueryStats|StoreMatches|Series|BucketStore(StreamingSeries|Metadata)Limit)",
	},
	{
		name:     "siblings",
		module:   "./thirdparty/siblings",
		packages: []string{"./..."},
	},
	{
		name:     "transports",
		module:   "./thirdparty/transports",
		packages: []string{"./..."},
	},
	{
		name:     "etcd",
		module:   "./thirdparty/etcd",
		packages: []string{"./..."},
	},
	etcdTests("etcd integration", "clientv3", "clientv3/concurrency", "clientv3/naming", "proxy/grpcproxy"),
	etcdTests("etcd integration, long", ".", "clientv3/connectivity", "clientv3/lease", "clientv3/watch",
		"embed", "snapshot").afterAsking(),
}

// etcdTests has etcd's own tests of clients and clusters within one process.
func etcdTests(name string, packages ...string) suite {
	s := suite{
		name:   name,
		module: "go.etcd.io/etcd/tests/v3@v3.7.3",
		drop:   []string{"go.etcd.io/etcd/cache/v3"},
		remove: []string{"integration/cache_test.go"},
	}
	for _, p := range packages {
		s.packages = append(s.packages, "./"+path.Join("integration", p))
	}
	return s
}

func (s suite) afterAsking() suite {
	s.long = true
	return s
}

// workshop is where suites are copied to and run.
type workshop struct {
	dir string
	// grpc is the folder of the module that takes the place of the published one, or empty
	// if the published one is to be tested.
	grpc string
	// root is the folder that paths of suites begin at.
	root string
	args []string
}
