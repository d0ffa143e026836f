// SPDX-License-Identifier: Apache-2.0

package pemfile

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
)

// PluginName is what the builder is registered by.
const PluginName = "file_watcher"

// configRefresh holds where a configuration says nothing (gRFC A29).
const configRefresh = 10 * time.Minute

func init() { certprovider.Register(builder{}) }

type builder struct{}

func (builder) Name() string { return PluginName }

// ParseConfig takes the JSON of gRFC A29 as a json.RawMessage.
func (builder) ParseConfig(config any) (*certprovider.BuildableConfig, error) {
	text, ok := config.(json.RawMessage)
	if !ok {
		return nil, fmt.Errorf("pemfile: want a json.RawMessage, got %T", config)
	}
	opts, err := parse(text)
	if err != nil {
		return nil, err
	}
	canonical := fmt.Sprintf("%q:%q:%q:%v", opts.CertFile, opts.KeyFile, opts.RootFile, opts.RefreshDuration)
	return certprovider.NewBuildableConfig(PluginName, []byte(canonical), func(certprovider.BuildOptions) certprovider.Provider {
		p, err := NewProvider(opts)
		if err != nil { // parse has checked the options
			logger.Errorf("%v", err)
			return nil
		}
		return p
	}), nil
}

func parse(text []byte) (Options, error) {
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
		CertFile:            in.CertificateFile,
		KeyFile:             in.PrivateKeyFile,
		RootFile:            in.CACertificateFile,
		SPIFFEBundleMapFile: in.SPIFFETrustBundleMapFile,
		RefreshDuration:     configRefresh,
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
