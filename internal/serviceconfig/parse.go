// SPDX-License-Identifier: Apache-2.0

package serviceconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Parsed is a parsed service config.
type Parsed struct {
	// Methods has the keys "/service/method", "/service/" for all other methods of the service, and
	// "" for all other methods. See Method.
	Methods map[string]MethodConfig
	// Throttling is nil if retries are not throttled.
	Throttling *RetryThrottling
	// HealthCheckService is the service whose health the channel watches (gRFC A17), or nil if it
	// watches none.
	HealthCheckService *string
	// LoadBalancingConfig is the list for SelectBalancer, or nil if the config has none. In that
	// case LoadBalancingPolicy counts, the older form: it is a name, or "" if the config has none.
	LoadBalancingConfig json.RawMessage
	LoadBalancingPolicy string
	// ConnectionScaling is not parsed: see MaxConnectionsPerSubchannel.
	ConnectionScaling json.RawMessage
}

// RetryThrottling is the retry throttling of gRFC A6.
type RetryThrottling struct {
	MaxTokens  float64 // above 0, at most 1000
	TokenRatio float64 // above 0
}

// check returns an error if a value is out of range. t may be nil.
func (t *RetryThrottling) check() error {
	switch {
	case t == nil:
		return nil
	case t.MaxTokens <= 0 || t.MaxTokens > 1000:
		return fmt.Errorf("invalid retry throttling config: maxTokens (%v) out of range (0, 1000]", t.MaxTokens)
	case t.TokenRatio <= 0:
		return fmt.Errorf("invalid retry throttling config: tokenRatio (%v) may not be negative, nor 0", t.TokenRatio)
	}
	return nil
}

// Parse parses a service config in JSON. It returns an error if the specification calls the config invalid;
// programs depend on the texts of the errors. It ignores fields that it doesn't know. It also ignores the retry
// throttling if the config has no methods.
func Parse(js []byte) (*Parsed, error) {
	if len(js) == 0 {
		return nil, errors.New("no JSON service config provided")
	}
	var in struct {
		LoadBalancingPolicy string
		LoadBalancingConfig json.RawMessage
		MethodConfig        []methodJSON
		RetryThrottling     *RetryThrottling
		HealthCheckConfig   *struct{ ServiceName *string }
		ConnectionScaling   json.RawMessage
	}
	if err := json.Unmarshal(js, &in); err != nil {
		return nil, err
	}
	out := &Parsed{
		Methods:             make(map[string]MethodConfig),
		Throttling:          in.RetryThrottling,
		LoadBalancingConfig: in.LoadBalancingConfig,
		LoadBalancingPolicy: in.LoadBalancingPolicy,
		ConnectionScaling:   in.ConnectionScaling,
	}
	if string(out.LoadBalancingConfig) == "null" {
		out.LoadBalancingConfig = nil
	}
	if in.HealthCheckConfig != nil {
		out.HealthCheckService = in.HealthCheckConfig.ServiceName
	}
	if in.MethodConfig == nil {
		out.Throttling = nil // without methods there are no retries, so the throttling is not even checked
	}
	if err := out.Throttling.check(); err != nil {
		return nil, err
	}
	for i := range in.MethodConfig {
		if err := out.addMethods(&in.MethodConfig[i]); err != nil {
			return nil, fmt.Errorf("%w: methodConfig[%d]", err, i)
		}
	}
	return out, nil
}

// MaxConnectionsPerSubchannel returns the limit of gRFC A105, or 0 if the config has none. Channels that do not obey
// it do not call this: a limit that can't be read is no error for them.
func (p *Parsed) MaxConnectionsPerSubchannel() (int, error) {
	if p.ConnectionScaling == nil {
		return 0, nil
	}
	var in struct{ MaxConnectionsPerSubchannel uint32 }
	if err := json.Unmarshal(p.ConnectionScaling, &in); err != nil {
		return 0, fmt.Errorf("connectionScaling: %w", err)
	}
	return int(min(in.MaxConnectionsPerSubchannel, math.MaxInt32)), nil
}

func (p *Parsed) addMethods(m *methodJSON) error {
	c, err := m.parse()
	if err != nil {
		return err
	}
	for _, name := range m.Name {
		path, err := name.path()
		if err != nil {
			return err
		}
		if _, twice := p.Methods[path]; twice {
			return fmt.Errorf("duplicated name %q", path)
		}
		p.Methods[path] = c
	}
	return nil
}

// Method returns the config for the path "/service/method" from the map of Parsed or
// grpc.ServiceConfig: the method's config, or else its service's, or else the one for all methods.
func Method(methods map[string]MethodConfig, path string) MethodConfig {
	if c, ok := methods[path]; ok {
		return c
	}
	if slash := strings.LastIndexByte(path, '/'); slash >= 0 {
		if c, ok := methods[path[:slash+1]]; ok {
			return c
		}
	}
	return methods[""]
}
