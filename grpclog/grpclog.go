// SPDX-License-Identifier: Apache-2.0

// Package grpclog is the library's logging. A program can set its own logger.
//
// If the program sets none, the library logs errors to standard error. Environment
// variables change this: GRPC_GO_LOG_SEVERITY_LEVEL is the lowest severity that is
// logged (info, warning or error), GRPC_GO_LOG_VERBOSITY_LEVEL is the verbosity that V
// compares with (0 by default), and GRPC_GO_LOG_FORMATTER=json makes each line a JSON
// object.
//
// The functions of this package log to the logger that is set. Those with severity FATAL
// end the program with exit code 1.
package grpclog

import (
	"os"
)

// V reports whether the verbosity is l or more.
func V(l int) bool { return current().V(l) }

// Info logs with severity INFO, as fmt.Print formats.
func Info(args ...any) { current().Info(args...) }

// Infof logs with severity INFO, as fmt.Printf formats.
func Infof(format string, args ...any) { current().Infof(format, args...) }

// Infoln logs with severity INFO, as fmt.Println formats.
func Infoln(args ...any) { current().Infoln(args...) }

// Warning logs with severity WARNING, as fmt.Print formats.
func Warning(args ...any) { current().Warning(args...) }

// Warningf logs with severity WARNING, as fmt.Printf formats.
func Warningf(format string, args ...any) { current().Warningf(format, args...) }

// Warningln logs with severity WARNING, as fmt.Println formats.
func Warningln(args ...any) { current().Warningln(args...) }

// Error logs with severity ERROR, as fmt.Print formats.
func Error(args ...any) { current().Error(args...) }

// Errorf logs with severity ERROR, as fmt.Printf formats.
func Errorf(format string, args ...any) { current().Errorf(format, args...) }

// Errorln logs with severity ERROR, as fmt.Println formats.
func Errorln(args ...any) { current().Errorln(args...) }

// Fatal logs with severity FATAL, as fmt.Print formats, and ends the program.
func Fatal(args ...any) {
	current().Fatal(args...)
	os.Exit(1) // for loggers that return
}

// Fatalf logs with severity FATAL, as fmt.Printf formats, and ends the program.
func Fatalf(format string, args ...any) {
	current().Fatalf(format, args...)
	os.Exit(1)
}

// Fatalln logs with severity FATAL, as fmt.Println formats, and ends the program.
func Fatalln(args ...any) {
	current().Fatalln(args...)
	os.Exit(1)
}

// Print logs as Info does.
//
// Deprecated: use Info.
func Print(args ...any) { Info(args...) }

// Printf logs as Infof does.
//
// Deprecated: use Infof.
func Printf(format string, args ...any) { Infof(format, args...) }

// Println logs as Infoln does.
//
// Deprecated: use Infoln.
func Println(args ...any) { Infoln(args...) }

// InfoDepth logs with severity INFO, as fmt.Println formats. The source position that is
// logged is depth frames above InfoDepth's caller.
//
// Experimental: this API may change in a later release.
func InfoDepth(depth int, args ...any) { current().InfoDepth(depth+1, args...) }

// WarningDepth is InfoDepth with severity WARNING.
//
// Experimental: this API may change in a later release.
func WarningDepth(depth int, args ...any) { current().WarningDepth(depth+1, args...) }

// ErrorDepth is InfoDepth with severity ERROR.
//
// Experimental: this API may change in a later release.
func ErrorDepth(depth int, args ...any) { current().ErrorDepth(depth+1, args...) }

// FatalDepth is InfoDepth with severity FATAL, and ends the program.
//
// Experimental: this API may change in a later release.
func FatalDepth(depth int, args ...any) {
	current().FatalDepth(depth+1, args...)
	os.Exit(1)
}
