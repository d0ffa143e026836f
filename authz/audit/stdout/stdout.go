// SPDX-License-Identifier: Apache-2.0

// Package stdout has an audit logger that writes one JSON object a line to standard output
// (gRFC A59). Importing the package registers the logger as "stdout_logger". The logger has
// no configuration.
//
// Experimental: this API may change in a later release.
package stdout

import (
	"encoding/json"
	"log"
	"os"
	"time"

	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/grpclog"
)

// Name is the name by which policies refer to this logger.
const Name = "stdout_logger"

var grpcLogger = grpclog.Component("authz-audit")

func init() {
	audit.RegisterLoggerBuilder(builder{})
}

// entry is the JSON form of one line.
type entry struct {
	Log record `json:"grpc_audit_log"`
}

type record struct {
	FullMethodName string `json:"rpc_method"`
	Principal      string `json:"principal"`
	PolicyName     string `json:"policy_name"`
	MatchedRule    string `json:"matched_rule"`
	Authorized     bool   `json:"authorized"`
	// Timestamp is the time of the call of Log: RFC 3339 in UTC, with nanoseconds.
	Timestamp string `json:"timestamp"`
}

type loggerConfig struct {
	audit.LoggerConfig
}

type builder struct{}

func (builder) Name() string { return Name }

// ParseLoggerConfig accepts any configuration, and logs a warning if there is one, because
// it is ignored.
func (builder) ParseLoggerConfig(config json.RawMessage) (audit.LoggerConfig, error) {
	if len(config) > 0 && string(config) != "{}" {
		grpcLogger.Warningf("Stdout logger doesn't support custom configs. Ignoring:\n%s", config)
	}
	return &loggerConfig{}, nil
}

func (builder) Build(audit.LoggerConfig) audit.Logger {
	// A log.Logger writes each line whole, even if several goroutines log at once.
	return &logger{out: log.New(os.Stdout, "", 0), now: time.Now}
}

type logger struct {
	out *log.Logger
	now func() time.Time
}

func (l *logger) Log(e *audit.Event) {
	line, err := json.Marshal(entry{record{
		FullMethodName: e.FullMethodName,
		Principal:      e.Principal,
		PolicyName:     e.PolicyName,
		MatchedRule:    e.MatchedRule,
		Authorized:     e.Authorized,
		Timestamp:      l.now().UTC().Format(time.RFC3339Nano),
	}})
	if err != nil {
		grpcLogger.Errorf("audit event: %v", err)
		return
	}
	l.out.Print(string(line))
}
