// SPDX-License-Identifier: Apache-2.0

// Package audit has the interfaces of loggers that record authorization decisions (gRFC
// A59), and the registry in which a policy finds such loggers by name. Package stdout,
// below this one, has one logger.
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

// RegisterLoggerBuilder registers a builder under b.Name(). It replaces a builder that is
// already registered under that name. Call it in an init function: policies that are
// already loaded do not use builders registered later.
func RegisterLoggerBuilder(b LoggerBuilder) {
	name := b.Name()
	registry.Lock()
	defer registry.Unlock()
	if registry.builders == nil {
		registry.builders = make(map[string]LoggerBuilder)
	}
	registry.builders[name] = b
}

// GetLoggerBuilder returns the builder registered under name, or nil if there is none.
func GetLoggerBuilder(name string) LoggerBuilder {
	registry.RLock()
	defer registry.RUnlock()
	return registry.builders[name]
}

// Event describes one authorization decision.
type Event struct {
	// FullMethodName is the RPC's method: "/pkg.Service/Method".
	FullMethodName string
	// Principal is the SPIFFE ID in the client's certificate, or empty if there is no
	// SPIFFE ID.
	Principal string
	// PolicyName is the name of the authorization policy, or of the xDS RBAC filter.
	PolicyName string
	// MatchedRule is the rule that decided: the policy's name, an underscore and the rule's
	// name, or with xDS the policy's name in the RBAC message. It is empty if no rule
	// matched.
	MatchedRule string
	// Authorized is true if the RPC was let in.
	Authorized bool
}

// LoggerConfig is a logger's configuration as its builder has parsed it. A type implements
// this interface by embedding it.
type LoggerConfig interface {
	loggerConfig()
}

// Logger records authorization decisions.
type Logger interface {
	// Log is called while an RPC is being authorized. It must be safe for concurrent calls
	// and must not block. It may keep the event.
	Log(*Event)
}

// LoggerBuilder makes loggers of one kind.
type LoggerBuilder interface {
	// ParseLoggerConfig parses a logger's configuration, a JSON object. It gets "{}" if the
	// policy has no configuration. The policy is rejected if it fails.
	ParseLoggerConfig(config json.RawMessage) (LoggerConfig, error)
	// Build returns a logger for a configuration that ParseLoggerConfig has returned. It
	// can't fail: the logger itself has to deal with errors such as a file that it can't
	// open. A logger is never closed.
	Build(LoggerConfig) Logger
	// Name returns the name by which policies refer to this kind of logger.
	Name() string
}
