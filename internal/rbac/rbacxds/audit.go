// SPDX-License-Identifier: Apache-2.0

package rbacxds

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	udpapb "github.com/cncf/xds/go/udpa/type/v1"
	xdspb "github.com/cncf/xds/go/xds/type/v3"
	rbacpb "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	streampb "github.com/envoyproxy/go-control-plane/envoy/extensions/rbac/audit_loggers/stream/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"google.golang.org/grpc/authz/audit/stdout"
	"google.golang.org/grpc/internal/rbac"
)

func parseAudit(m *rbacpb.RBAC_AuditLoggingOptions) (a rbac.Audit, loggers rbac.Loggers, err error) {
	switch m.GetAuditCondition() {
	case rbacpb.RBAC_AuditLoggingOptions_NONE:
	case rbacpb.RBAC_AuditLoggingOptions_ON_DENY:
		a.OnDeny = true
	case rbacpb.RBAC_AuditLoggingOptions_ON_ALLOW:
		a.OnAllow = true
	case rbacpb.RBAC_AuditLoggingOptions_ON_DENY_AND_ALLOW:
		a.OnDeny, a.OnAllow = true, true
	default:
		return a, nil, fmt.Errorf("audit_condition: %v is not supported", m.GetAuditCondition())
	}
	var configs []rbac.LoggerConfig
	for i, l := range m.GetLoggerConfigs() {
		c, err := parseLogger(l.GetAuditLogger().GetTypedConfig())
		if err != nil {
			return a, nil, fmt.Errorf("logger_configs[%d]: %w", i, err)
		}
		c.Optional = l.GetIsOptional()
		configs = append(configs, c)
	}
	loggers, err = rbac.ParseLoggers(configs)
	if err != nil {
		return a, nil, fmt.Errorf("logger_configs: %w", err)
	}
	return a, loggers, nil
}

// parseLogger returns the name and the configuration of the logger that m stands for. The
// logger on standard output has a message of its own. For all others m is a TypedStruct,
// and the last part of its type URL is the logger's name. For any other message the name is
// the type URL, under which no logger is registered.
func parseLogger(m *anypb.Any) (c rbac.LoggerConfig, err error) {
	if m == nil {
		return c, errors.New("audit_logger.typed_config is missing")
	}
	var fields *structpb.Struct
	switch {
	case m.MessageIs((*streampb.StdoutAuditLog)(nil)):
		c.Name = stdout.Name
	case m.MessageIs((*xdspb.TypedStruct)(nil)):
		s := new(xdspb.TypedStruct)
		err = m.UnmarshalTo(s)
		c.Name, fields = lastPart(s.GetTypeUrl()), s.GetValue()
	case m.MessageIs((*udpapb.TypedStruct)(nil)):
		s := new(udpapb.TypedStruct)
		err = m.UnmarshalTo(s)
		c.Name, fields = lastPart(s.GetTypeUrl()), s.GetValue()
	default:
		c.Name = m.GetTypeUrl()
	}
	if err != nil {
		return c, err
	}
	c.Config, err = json.Marshal(fields.AsMap())
	return c, err
}

func lastPart(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }
