// SPDX-License-Identifier: Apache-2.0

package pemfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
)

// PluginName is the name that the builder is registered by.
const PluginName = "file_watcher"

// configRefresh is the refresh interval if a configuration has none (gRFC A29).
const configRefresh = 10 * time.Minute

func init() { certprovider.Register(builder{}) }

type builder struct{}

func (builder) Name() string { return PluginName }

// ParseConfig parses the JSON of gRFC A29; config must be a json.RawMessage. It ignores the
// field that gRFC A87 adds unless GRPC_EXPERIMENTAL_XDS_MTLS_SPIFFE is "true".
func (builder) ParseConfig(config any) (*certprovider.BuildableConfig, error) {
	text, ok := config.(json.RawMessage)
	if !ok {
		return nil, fmt.Errorf("pemfile: want a json.RawMessage, got %T", config)
	}
	opts, err := parse(text, envconfig.XDSSPIFFE)
	if err != nil {
		return nil, err
	}
	return certprovider.NewBuildableConfig(PluginName, []byte(canonical(opts)), func(certprovider.BuildOptions) certprovider.Provider {
		p, err := NewProvider(opts)
		if err != nil { // parse has checked the options
			logger.Errorf("%v", err)
			return nil
		}
		return p
	}), nil
}

// canonical returns a text that is the same for two configurations only if they mean the same.
func canonical(o Options) string {
	paths := []string{o.CertFile, o.KeyFile, o.RootFile, o.SPIFFEBundleMapFile}
	if slices.ContainsFunc(paths, func(p string) bool { return strings.ContainsAny(p, ":\"") }) {
		for i, p := range paths {
			paths[i] = strconv.Quote(p)
		}
	}
	return strings.Join(append(paths, o.RefreshDuration.String()), ":")
}

// parse parses a configuration. It ignores the SPIFFE bundle map unless spiffe is true.
func parse(text []byte, spiffe bool) (Options, error) {
	var in struct {
		CertificateFile          string          `json:"certificate_file"`
		PrivateKeyFile           string          `json:"private_key_file"`
		CACertificateFile        string          `json:"ca_certificate_file"`
		SPIFFETrustBundleMapFile string          `json:"spiffe_trust_bundle_map_file"`
		RefreshInterval          json.RawMessage `json:"refresh_interval"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return Options{}, fmt.Errorf("pemfile: %w", err)
	}
	opts := Options{
		CertFile:        in.CertificateFile,
		KeyFile:         in.PrivateKeyFile,
		RootFile:        in.CACertificateFile,
		RefreshDuration: configRefresh,
	}
	if spiffe {
		opts.SPIFFEBundleMapFile = in.SPIFFETrustBundleMapFile
	}
	if in.RefreshInterval != nil {
		var d durationpb.Duration
		if err := protojson.Unmarshal(in.RefreshInterval, &d); err != nil {
			return Options{}, fmt.Errorf("pemfile: refresh_interval: %w", err)
		}
		opts.RefreshDuration = d.AsDuration()
	}
	return opts, opts.check()
}
