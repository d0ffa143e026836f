// SPDX-License-Identifier: Apache-2.0

// Package glogger makes github.com/golang/glog the logger of package grpclog. A program only
// has to import it:
//
//	import _ "google.golang.org/grpc/grpclog/glogger"
//
// glog's flags then say what is logged, and where; grpclog's environment variables have no
// effect. Each log line has the source position of the call that logged it.
package glogger

import (
	"fmt"

	"github.com/golang/glog"

	"google.golang.org/grpc/grpclog"
)

func init() { grpclog.SetLoggerV2(logger{}) }

// logger passes everything on to glog. Package grpclog's functions call its methods of the same
// names, so there are two frames between glog and the code that logs. glog must skip them.
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

// The depths that these methods get already count package grpclog's own frames.

func (logger) InfoDepth(depth int, args ...any)    { glog.InfoDepth(depth+1, args...) }
func (logger) WarningDepth(depth int, args ...any) { glog.WarningDepth(depth+1, args...) }
func (logger) ErrorDepth(depth int, args ...any)   { glog.ErrorDepth(depth+1, args...) }
func (logger) FatalDepth(depth int, args ...any)   { glog.FatalDepth(depth+1, args...) }

// spaced formats args as Println does, with a space between all of them, but without a newline
// at the end, which glog adds.
func spaced(args []any) string {
	line := fmt.Sprintln(args...)
	return line[:len(line)-1]
}
