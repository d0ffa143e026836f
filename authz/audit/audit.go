// SPDX-License-Identifier: Apache-2.0

// Package audit has the interfaces of loggers that record authorization decisions
// (gRFC A59), and the registry in which a policy finds them by name. Package stdout,
// below, has one.
//
// Experimental: this API may change in a later release.
package audit

import (
	"encoding/json"
	"sync"
)

var registry struct {
	sync.RWMutex
	builders map[string]LoggerBuilder
}

// RegisterLoggerBuilder makes a builder known under b.Name(). Of two with one name the
// later one counts. It is meant for init functions: a policy that was loaded before knows
// nothing of it.
func RegisterLoggerBuilder(b LoggerBuilder) {
	registry.Lock()
	defer registry.Unlock()
	if registry.builders == nil {
		registry.builders = make(map[string]LoggerBuilder)
	}
	registry.builders[b.Name()] = b
}

// GetLoggerBuilder returns the builder of that name, nil if there is none.
func GetLoggerBuilder(name string) LoggerBuilder {
	registry.RLock()
	defer registry.RUnlock()
	return registry.builders[name]
}

// Event is one decision.
type Event struct {
	// FullMethodName is the RPC's method: "/pkg.Service/Method".
	FullMethodName string
	// Principal is the SPIFFE ID in the client's certificate, empty if it has none.
	Principal string
	// PolicyName is the name of the authorization policy or of xDS's RBAC filter.
	PolicyName string
	// MatchedRule is the rule that decided: the policy's name, an underscore and the
	// rule's name; with xDS the name in the RBAC message. It is empty if no rule matched.
	MatchedRule string
	// Authorized says whether the RPC went on.
	Authorized bool
}

// LoggerConfig is what a builder has made of a logger's configuration. A type becomes one
// by embedding this interface.
type LoggerConfig interface {
	loggerConfig()
}

// Logger writes decisions down.
type Logger interface {
	// Log is called in the course of the RPC, from many goroutines at once, and must not
	// block. It may keep the event.
	Log(*Event)
}

// LoggerBuilder makes loggers of a kind.
type LoggerBuilder interface {
	// ParseLoggerConfig checks a logger's configuration, a JSON object: "{}" where the
	// policy has none. If it fails the policy is refused.
	ParseLoggerConfig(config json.RawMessage) (LoggerConfig, error)
	// Build makes a logger from what ParseLoggerConfig returned. It can't fail: what goes
	// wrong with a file, say, is the logger's affair. A logger is never closed.
	Build(LoggerConfig) Logger
	// Name is what policies call this kind of logger.
	Name() string
}
