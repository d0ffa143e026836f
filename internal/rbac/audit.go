// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/authz/audit"
)

// LoggerConfig is a logger and its configuration, as a policy specifies them.
type LoggerConfig struct {
	Name   string
	Config json.RawMessage // a JSON object
	// Optional says to skip a logger that this program does not have. If the program has
	// the logger, a wrong configuration is an error even so (A59).
	Optional bool
}

// Loggers is a list of loggers that are not built yet but whose configurations have been
// checked.
type Loggers []checkedLogger

type checkedLogger struct {
	builder audit.LoggerBuilder
	config  audit.LoggerConfig
}

// ParseLoggers checks the configurations. It builds no loggers.
func ParseLoggers(configs []LoggerConfig) (Loggers, error) {
	var ls Loggers
	for _, c := range configs {
		b := audit.GetLoggerBuilder(c.Name)
		if b == nil && c.Optional {
			continue
		}
		if b == nil {
			return nil, fmt.Errorf("no builder registered for %v", c.Name)
		}
		parsed, err := b.ParseLoggerConfig(c.Config)
		if err != nil {
			return nil, fmt.Errorf("custom config could not be parsed by registered factory. error: %w", err)
		}
		ls = append(ls, checkedLogger{b, parsed})
	}
	return ls, nil
}

// Build makes the loggers.
func (ls Loggers) Build() []audit.Logger {
	built := make([]audit.Logger, len(ls))
	for i, l := range ls {
		built[i] = l.builder.Build(l.config)
	}
	return built
}
