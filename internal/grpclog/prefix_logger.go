// SPDX-License-Identifier: Apache-2.0

// Package grpclog has a logger that puts a prefix before each line. The prefix tells which of
// many objects has logged it.
package grpclog

import (
	"fmt"

	"google.golang.org/grpc/grpclog"
)

// PrefixLogger logs to another logger with a prefix. A nil PrefixLogger logs to grpclog
// without one. Arguments are formatted at any verbosity: check V before making expensive ones.
type PrefixLogger struct {
	to     grpclog.DepthLoggerV2
	prefix string
}

// NewPrefixLogger returns a PrefixLogger that logs to another logger. It puts nothing between
// the prefix and the text.
func NewPrefixLogger(to grpclog.DepthLoggerV2, prefix string) *PrefixLogger {
	return &PrefixLogger{to: to, prefix: prefix}
}

// Infof logs with severity INFO.
func (p *PrefixLogger) Infof(format string, args ...any) {
	if p == nil {
		grpclog.InfoDepth(1, fmt.Sprintf(format, args...))
		return
	}
	p.to.InfoDepth(1, p.prefix+fmt.Sprintf(format, args...))
}

// Warningf logs with severity WARNING.
func (p *PrefixLogger) Warningf(format string, args ...any) {
	if p == nil {
		grpclog.WarningDepth(1, fmt.Sprintf(format, args...))
		return
	}
	p.to.WarningDepth(1, p.prefix+fmt.Sprintf(format, args...))
}

// Errorf logs with severity ERROR.
func (p *PrefixLogger) Errorf(format string, args ...any) {
	if p == nil {
		grpclog.ErrorDepth(1, fmt.Sprintf(format, args...))
		return
	}
	p.to.ErrorDepth(1, p.prefix+fmt.Sprintf(format, args...))
}

// V reports whether the verbosity is l or more.
func (p *PrefixLogger) V(l int) bool {
	if p == nil {
		return grpclog.V(l)
	}
	return p.to.V(l)
}
