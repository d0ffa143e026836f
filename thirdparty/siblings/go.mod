module google.golang.org/grpc/thirdparty/siblings

go 1.26.0

require (
	go.opencensus.io v0.24.0
	google.golang.org/grpc v1.85.0
	google.golang.org/grpc/security/advancedtls v1.0.0
	google.golang.org/grpc/stats/opencensus v1.0.0
)

require (
	github.com/go-jose/go-jose/v4 v4.1.4 // indirect
	github.com/golang/groupcache v0.0.0-20241129210726-2c02b8208cf8 // indirect
	github.com/spiffe/go-spiffe/v2 v2.8.1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace google.golang.org/grpc => ../../
