// SPDX-License-Identifier: Apache-2.0

// Package glogger makes github.com/golang/glog the logger of package grpclog, by being
// imported:
//
//	import _ "google.golang.org/grpc/grpclog/glogger"
//
// glog's flags then say what is logged, and where; grpclog's environment variables no longer
// do. Lines name the file and line that logged.
package glogger

import (
	"fmt"

	"github.com/golang/glog"

	"google.golang.org/grpc/grpclog"
)

func init() { grpclog.SetLoggerV2(logger{}) }

// logger hands everything to glog. Its methods are called by package grpclog's functions of
// the same names, and those by who logs: two frames that are not to be shown.
type logger struct{}

const frames = 2

func (logger) Info(args ...any)                    { glog.InfoDepth(frames, args...) }
func (logger) Infoln(args ...any)                  { glog.InfoDepth(frames, spaced(args)) }
func (logger) Infof(format string, args ...any)    { glog.InfoDepthf(frames, format, args...) }
func (logger) Warning(args ...any)                 { glog.WarningDepth(frames, args...) }
func (logger) Warningln(args ...any)               { glog.WarningDepth(frames, spaced(args)) }
func (logger) Warningf(format string, args ...any) { glog.WarningDepthf(frames, format, args...) }
func (logger) Error(args ...any)                   { glog.ErrorDepth(frames, args...) }
func (logger) Errorln(args ...any)                 { glog.ErrorDepth(frames, spaced(args)) }
func (logger) Errorf(format string, args ...any)   { glog.ErrorDepthf(frames, format, args...) }
func (logger) Fatal(args ...any)                   { glog.FatalDepth(frames, args...) }
func (logger) Fatalln(args ...any)                 { glog.FatalDepth(frames, spaced(args)) }
func (logger) Fatalf(format string, args ...any)   { glog.FatalDepthf(frames, format, args...) }

// V reports whether glog's flag -v is at least l.
func (logger) V(l int) bool { return bool(glog.V(glog.Level(l))) }

// The depths that arrive here leave out package grpclog's own frames already.

func (logger) InfoDepth(depth int, args ...any)    { glog.InfoDepth(depth+1, args...) }
func (logger) WarningDepth(depth int, args ...any) { glog.WarningDepth(depth+1, args...) }
func (logger) ErrorDepth(depth int, args ...any)   { glog.ErrorDepth(depth+1, args...) }
func (logger) FatalDepth(depth int, args ...any)   { glog.FatalDepth(depth+1, args...) }

// spaced puts a space between all operands, as Println does. glog ends the line itself.
func spaced(args []any) string {
	line := fmt.Sprintln(args...)
	return line[:len(line)-1]
}
