// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/grpc/authz/audit"
)

type builder struct{ name string }

func (b *builder) Name() string { return b.name }

func (b *builder) ParseLoggerConfig(json.RawMessage) (audit.LoggerConfig, error) { return nil, nil }

func (b *builder) Build(audit.LoggerConfig) audit.Logger { return nil }

func TestRegistry(t *testing.T) {
	if b := audit.GetLoggerBuilder("nobody"); b != nil {
		t.Errorf("GetLoggerBuilder of an unknown name = %v, want nil", b)
	}
	first, second := &builder{"twice"}, &builder{"twice"}
	audit.RegisterLoggerBuilder(first)
	if b := audit.GetLoggerBuilder("twice"); b != first {
		t.Errorf("GetLoggerBuilder = %v, want the one registered", b)
	}
	audit.RegisterLoggerBuilder(second)
	if b := audit.GetLoggerBuilder("twice"); b != second {
		t.Errorf("GetLoggerBuilder = %v, want the later one", b)
	}
}

// asking is a builder whose Name looks at the registry.
type asking struct{ builder }

func (a *asking) Name() string {
	audit.GetLoggerBuilder(a.name)
	return a.name
}

func TestNameAsksRegistry(t *testing.T) {
	b := &asking{builder{"asking"}}
	audit.RegisterLoggerBuilder(b)
	if got := audit.GetLoggerBuilder("asking"); got != b {
		t.Errorf("GetLoggerBuilder = %v", got)
	}
}
