// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/protobuf/encoding/protojson"
)

// Options say where the configuration is, and which features it may use.
type Options struct {
	// File is the path of a file with the configuration. If it is set, Text is ignored.
	File string
	// Text is the configuration itself.
	Text string
	// CallCreds permits call credentials (A97).
	CallCreds bool
	// Services permits filters to call other servers (A102).
	Services bool
}

// ErrNone means that neither File nor Text is set.
var ErrNone = errors.New(`failed to read xDS bootstrap config from env vars: bootstrap environment variables ("GRPC_XDS_BOOTSTRAP" or "GRPC_XDS_BOOTSTRAP_CONFIG") not defined and fallback config not set`)

// Read reads the configuration that the options name.
func Read(o Options) (*Config, error) {
	switch {
	case o.File != "":
		text, err := os.ReadFile(o.File)
		if err != nil {
			return nil, unreadable(err)
		}
		return parseNamed(text, o)
	case o.Text != "":
		return parseNamed([]byte(o.Text), o)
	default:
		return nil, ErrNone
	}
}

func parseNamed(text []byte, o Options) (*Config, error) {
	c, err := Parse(text, o)
	if err != nil {
		return nil, unreadable(err)
	}
	return c, nil
}

// unreadable adds the prefix that programs know from the published module.
func unreadable(err error) error {
	return fmt.Errorf("xds: failed to read xDS bootstrap config from env vars: %w", err)
}

// configJSON is the JSON form of the configuration. Unknown fields are ignored (A27).
type configJSON struct {
	Servers        []json.RawMessage           `json:"xds_servers"`
	Node           json.RawMessage             `json:"node"`
	CertProviders  map[string]certProviderJSON `json:"certificate_providers"`
	Authorities    map[string]authorityJSON    `json:"authorities"`
	ClientTemplate string                      `json:"client_default_listener_resource_name_template"`
	ServerTemplate string                      `json:"server_listener_resource_name_template"`
	Services       map[string]*serviceJSON     `json:"allowed_grpc_services"`
}

type certProviderJSON struct {
	Plugin string          `json:"plugin_name"`
	Config json.RawMessage `json:"config"`
}

type authorityJSON struct {
	ClientTemplate string            `json:"client_listener_resource_name_template"`
	Servers        []json.RawMessage `json:"xds_servers"`
}

// Parse parses a configuration. The error names the field that is wrong.
func Parse(text []byte, o Options) (*Config, error) {
	var in configJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("xds: bootstrap configuration: %w", err)
	}
	c := &Config{ServerTemplate: in.ServerTemplate, ClientTemplate: in.ClientTemplate}
	if c.ClientTemplate == "" {
		c.ClientTemplate = "%s"
	}
	steps := []func(*configJSON, Options) error{c.readServers, c.readNode, c.readCertProviders, c.readAuthorities, c.readServices}
	for _, step := range steps {
		if err := step(&in, o); err != nil {
			return nil, fmt.Errorf("xds: bootstrap configuration: %w", err)
		}
	}
	return c, nil
}

func (c *Config) readServers(in *configJSON, o Options) (err error) {
	if len(in.Servers) == 0 {
		return errors.New("field xds_servers is missing or empty")
	}
	c.Servers, err = parseServers(in.Servers, o)
	return err
}

// parseServers leaves out servers that are listed already: nobody can fall back to the server that has failed.
func parseServers(list []json.RawMessage, o Options) ([]*Server, error) {
	servers := make([]*Server, 0, len(list))
	known := make(map[string]bool, len(list))
	for i, text := range list {
		s, err := parseServer(text, o.CallCreds)
		if err != nil {
			return nil, fmt.Errorf("xds_servers[%d]: %w", i, err)
		}
		if !known[s.Key()] {
			known[s.Key()] = true
			servers = append(servers, s)
		}
	}
	return servers, nil
}

// readNode takes over what the configuration says about the node, and adds what identifies
// this client's implementation.
func (c *Config) readNode(in *configJSON, _ Options) error {
	c.node = new(corev3.Node)
	if len(in.Node) > 0 && string(in.Node) != "null" {
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in.Node, c.node); err != nil {
			return fmt.Errorf("field node: %w", err)
		}
	}
	c.node.UserAgentName = "gRPC Go"
	c.node.UserAgentVersionType = &corev3.Node_UserAgentVersion{UserAgentVersion: grpc.Version}
	c.node.ClientFeatures = []string{
		"envoy.lb.does_not_support_overprovisioning", // A27
		"xds.config.resource-in-sotw",
	}
	return nil
}

// readCertProviders ignores plugins that are not registered. A resource that names such an
// instance will be rejected.
func (c *Config) readCertProviders(in *configJSON, _ Options) error {
	for name, p := range in.CertProviders {
		config, err := certprovider.ParseConfig(p.Plugin, p.Config)
		if unknown := (interface{ NotRegistered() bool })(nil); errors.As(err, &unknown) {
			continue
		}
		if err != nil {
			return fmt.Errorf("certificate_providers[%q]: %w", name, err)
		}
		if c.CertProviders == nil {
			c.CertProviders = make(map[string]*certprovider.BuildableConfig)
		}
		c.CertProviders[name] = config
	}
	return nil
}

func (c *Config) readServices(in *configJSON, o Options) error {
	if !o.Services {
		return nil
	}
	for target, s := range in.Services {
		if s == nil {
			return fmt.Errorf("allowed_grpc_services[%q]: no configuration", target)
		}
		out, err := s.parse()
		if err != nil {
			return fmt.Errorf("allowed_grpc_services[%q]: %w", target, err)
		}
		if c.Services == nil {
			c.Services = make(map[string]*Service)
		}
		c.Services[target] = out
	}
	return nil
}

func (c *Config) readAuthorities(in *configJSON, o Options) error {
	for name, a := range in.Authorities {
		prefix := "xdstp://" + escapeAuthority(name) + "/"
		out := &Authority{ClientTemplate: a.ClientTemplate, Servers: c.Servers}
		if out.ClientTemplate == "" {
			out.ClientTemplate = prefix + listenerType + "/%s"
		}
		if !strings.HasPrefix(out.ClientTemplate, prefix) {
			return fmt.Errorf("authorities[%q]: client_listener_resource_name_template is %q and does not begin with %q", name, a.ClientTemplate, prefix)
		}
		if len(a.Servers) > 0 {
			servers, err := parseServers(a.Servers, o)
			if err != nil {
				return fmt.Errorf("authorities[%q]: %w", name, err)
			}
			out.Servers = servers
		}
		if c.Authorities == nil {
			c.Authorities = make(map[string]*Authority)
		}
		c.Authorities[name] = out
	}
	return nil
}
