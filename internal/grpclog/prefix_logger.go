// SPDX-License-Identifier: Apache-2.0

// Package grpclog puts a prefix before the lines of one object among many.
package grpclog

import (
	"fmt"

	"google.golang.org/grpc/grpclog"
)

// PrefixLogger logs to another logger with a prefix. nil logs to grpclog without
// one. The arguments are only formatted; ask V before making expensive ones.
type PrefixLogger struct {
	to     grpclog.DepthLoggerV2
	prefix string
}

// NewPrefixLogger returns a PrefixLogger. The prefix stands directly before the text.
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
