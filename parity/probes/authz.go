// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/authz"
	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// allowed are rules that allow; each is a policy of its own.
var allowed = []string{
	`{}`, `{"name":""}`, `{"name":"r"}`, `{"name":"r","request":{}}`, `{"name":"r","source":{}}`,
	`{"name":"r","request":{"paths":[]}}`, `{"name":"r","request":{"paths":[""]}}`, `{"name":"r","request":{"paths":["*"]}}`,
	`{"name":"r","request":{"paths":["*/Unary"]}}`, `{"name":"r","request":{"paths":["/probe.Probe/*"]}}`, `{"name":"r","request":{"paths":["/*/Unary"]}}`,
	`{"name":"r","request":{"paths":["**"]}}`, `{"name":"r","request":{"paths":["/probe.Probe/Unary"]}}`, `{"name":"r","request":{"paths":["/PROBE.Probe/Unary"]}}`,
	`{"name":"r","request":{"paths":"x"}}`, `{"name":"r","request":{"paths":[5]}}`, `{"name":"r","request":{"nope":1}}`, `{"name":"r","nope":1}`,
	`{"name":"r","request":{"headers":[]}}`, `{"name":"r","request":{"headers":[{}]}}`, `{"name":"r","request":{"headers":[{"key":"k"}]}}`,
	`{"name":"r","request":{"headers":[{"key":"k","values":[]}]}}`, `{"name":"r","request":{"headers":[{"key":"k","values":["a"]}]}}`,
	`{"name":"r","request":{"headers":[{"key":"k","values":["a,b"]}]}}`, `{"name":"r","request":{"headers":[{"key":"K","values":["*b"]}]}}`,
	`{"name":"r","request":{"headers":[{"key":"k","values":["*"]}]}}`, `{"name":"r","request":{"headers":[{"key":"none","values":["*"]}]}}`,
	`{"name":"r","request":{"headers":[{"key":"none","values":[""]}]}}`, `{"name":"r","request":{"headers":[{"key":"empty","values":[""]}]}}`,
	`{"name":"r","request":{"headers":[{"key":"k-bin","values":["\u0001"]}]}}`, `{"name":"r","request":{"headers":[{"key":"","values":["a"]}]}}`,
	`{"name":"r","request":{"headers":[{"key":":path","values":["*"]}]}}`, `{"name":"r","request":{"headers":[{"key":"grpc-timeout","values":["*"]}]}}`,
	`{"name":"r","request":{"headers":[{"key":"host","values":["*"]}]}}`, `{"name":"r","request":{"headers":[{"key":"Content-Type","values":["application/grpc"]}]}}`,
	`{"name":"r","request":{"headers":[{"key":"te","values":["trailers"]}]}}`, `{"name":"r","request":{"headers":[{"key":"connection","values":["*"]}]}}`,
	`{"name":"r","request":{"headers":[{"key":"user-agent","values":["grpc-go/*"]}]}}`, `{"name":"r","request":{"headers":[{"key":"upgrade","values":["*"]}]}}`,
	`{"name":"r","source":{"principals":[]}}`, `{"name":"r","source":{"principals":["*"]}}`, `{"name":"r","source":{"principals":[""]}}`,
	`{"name":"r","source":{"principals":["probe.example"]}}`, `{"name":"r","source":{"principals":["CN=probe"]}}`, `{"name":"r","source":{"principals":["*.example"]}}`,
	`{"name":"r","source":{"principals":["nobody"]}}`,
}

// policyTexts are policies whose outer parts are of interest.
var policyTexts = []string{
	``, `{`, `[]`, `null`, `{}`, `{"name":"p"}`, `{"name":"","allow_rules":[{"name":"r"}]}`, `{"name":"p","allow_rules":[]}`, `{"name":"p","allow_rules":null}`,
	`{"name":5,"allow_rules":[{"name":"r"}]}`, `{"name":"p","allow_rules":{"name":"r"}}`, `{"name":"p","allow_rules":[{"name":"r"}],"more":1}`,
	`{"name":"p","allow_rules":[{"name":"r"}]} x`, `{"name":"p","name":"q","allow_rules":[{"name":"r"}]}`, `{"NAME":"p","Allow_Rules":[{"name":"r"}]}`,
	`{"name":"p","deny_rules":[{"name":"d"}]}`, `{"name":"p","deny_rules":[{"name":"d"}],"allow_rules":[{"name":"r"}]}`,
	`{"name":"p","deny_rules":[{"name":""}],"allow_rules":[{"name":"r"}]}`, `{"name":"p","deny_rules":[],"allow_rules":[{"name":"r"},{"name":"r"}]}`,
	`{"name":"p","deny_rules":[{"name":"d","request":{"paths":["*Bidi"]}}],"allow_rules":[{"name":"r"}]}`,
	`{"name":"p","deny_rules":[{"name":"d","source":{"principals":["*"]}}],"allow_rules":[{"name":"r"}]}`,
	`{"name":"p","deny_rules":[{"name":"d","request":{"headers":[{"key":"k","values":["a*"]}]}}],"allow_rules":[{"name":"r"}]}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"NOPE"}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"NONE","audit_loggers":[{"name":"probe_keeper"}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_ALLOW","audit_loggers":[{"name":"probe_keeper","config":{}}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_DENY","audit_loggers":[{"name":"probe_keeper","config":{}}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_DENY_AND_ALLOW","audit_loggers":[{"name":"probe_keeper","config":{"a":1}}]}}`,
	`{"name":"p","deny_rules":[{"name":"d"}],"allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_DENY","audit_loggers":[{"name":"probe_keeper"}]}}`,
	`{"name":"p","allow_rules":[{"name":"r","request":{"paths":["x"]}}],"audit_logging_options":{"audit_condition":"ON_DENY_AND_ALLOW","audit_loggers":[{"name":"probe_keeper"}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_ALLOW","audit_loggers":[{"name":"nope"}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_ALLOW","audit_loggers":[{"name":"nope","is_optional":true}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_ALLOW","audit_loggers":[{"config":{}}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_ALLOW","audit_loggers":[{"name":"probe_keeper","config":{"bad":true}}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_ALLOW","audit_loggers":[{"name":"probe_keeper","config":{"bad":true},"is_optional":true}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"audit_condition":"ON_ALLOW","audit_loggers":[{"name":"probe_keeper"},{"name":"probe_keeper"}]}}`,
	`{"name":"p","allow_rules":[{"name":"r"}],"audit_logging_options":{"nope":1}}`,
}

// keeper builds audit loggers, and is one.
type (
	keeper       struct{}
	keeperConfig struct{ audit.LoggerConfig }
)

func init() { audit.RegisterLoggerBuilder(keeper{}) }

// auditEvents are those of the probe that this process has: those that log run alone.
var auditEvents = make(chan audit.Event, 100)

func (keeper) Name() string { return "probe_keeper" }

func (keeper) ParseLoggerConfig(text json.RawMessage) (audit.LoggerConfig, error) {
	var c struct{ Bad bool }
	if err := json.Unmarshal(text, &c); err == nil && c.Bad {
		return nil, os.ErrInvalid
	}
	return keeperConfig{}, nil
}

func (keeper) Build(audit.LoggerConfig) audit.Logger { return keeper{} }
func (keeper) Log(e *audit.Event)                    { auditEvents <- *e }

// guarded prints how RPCs end that a policy decides about.
func guarded(p *probe.P, policy string, secure bool) {
	i, err := authz.NewStatic(policy)
	// Go's JSON names fields as they are written in Go, or in JSON.
	p.Printf("%s", strings.ToLower(rig.Err(err)))
	if err != nil {
		return
	}
	options := []grpc.ServerOption{grpc.UnaryInterceptor(i.UnaryInterceptor), grpc.StreamInterceptor(i.StreamInterceptor)}
	pair := rig.Pair{TCP: true, Server: options}
	if secure {
		cert, pool := rig.Certificate()
		config := &tls.Config{RootCAs: pool, ServerName: "probe.example", Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAnyClientCert}
		pair.Secure = true
		pair.Server = append(pair.Server, grpc.Creds(credentials.NewTLS(config)))
		pair.Dial = []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(config))}
	}
	s := pair.Start(p)
	ctx := metadata.AppendToOutgoingContext(p.Context(), "k", "a", "k", "b", "empty", "", "k-bin", "\x01")
	p.Printf("%s", call(ctx, s))
	p.Printf("%s", call(p.Context(), s))
	stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
	if err != nil {
		panic(err)
	}
	p.Printf("%s", rig.Err(stream.SendMsg(rig.M("q"))))
	p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	for len(auditEvents) > 0 {
		p.Printf("%+v", <-auditEvents)
	}
}

// authzProbes have policies decide.
func authzProbes() []probe.Probe {
	var out []probe.Probe
	for n, rule := range allowed {
		out = append(out, probe.Probe{Name: "authz/rule " + strconv.Itoa(n) + " " + rule, Run: func(p *probe.P) {
			guarded(p, `{"name":"p","allow_rules":[`+rule+`]}`, false)
			if strings.Contains(rule, "principals") {
				guarded(p, `{"name":"p","allow_rules":[`+rule+`]}`, true)
			}
		}})
	}
	for n, text := range policyTexts {
		// Those that log have what is logged for themselves.
		out = append(out, probe.Probe{Name: "authz/policy " + strconv.Itoa(n) + " " + cmp.Or(text, "empty"), Alone: n >= 20, Run: func(p *probe.P) {
			guarded(p, text, false)
		}})
	}
	return append(out, probe.Probe{Name: "authz/file", Run: func(p *probe.P) {
		_, err := authz.NewFileWatcher("", time.Hour)
		p.Printf("%s", rig.Err(err))
		_, err = authz.NewFileWatcher("/no/such/file", time.Hour)
		p.Printf("%s", rig.Err(err))
		dir, err := os.MkdirTemp("", "probe")
		if err != nil {
			panic(err)
		}
		p.Cleanup(func() { _ = os.RemoveAll(dir) })
		file := filepath.Join(dir, "policy")
		_ = os.WriteFile(file, []byte(policyTexts[15]), 0o600)
		_, err = authz.NewFileWatcher(file, time.Hour)
		p.Printf("%s", rig.Err(err))
		_, err = authz.NewFileWatcher(file, 0)
		p.Printf("%s", rig.Err(err))
		_ = os.WriteFile(file, []byte(`{"name":"p","allow_rules":[{"name":"r","request":{"paths":["*Bidi"]}}]}`), 0o600)
		i, err := authz.NewFileWatcher(file, 10*time.Millisecond)
		p.Printf("%s", rig.Err(err))
		p.Cleanup(i.Close)
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.UnaryInterceptor(i.UnaryInterceptor)}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		_ = os.WriteFile(file, []byte(`{"name":"p","allow_rules":[{"name":"r"}]}`), 0o600)
		want := `"q" nil`
		eventually(p, "allowed", func() bool { return call(p.Context(), s) == want })
		_ = os.WriteFile(file, []byte(`{`), 0o600)
		p.Printf("%s", call(p.Context(), s))
	}})
}
