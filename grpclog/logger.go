// SPDX-License-Identifier: Apache-2.0

package grpclog

// LoggerV2 is a logger for the library. Its methods must be safe for concurrent use.
// Methods whose names end in f format as fmt.Printf does, those whose names end in ln
// format as fmt.Println does, and the others format as fmt.Print does.
type LoggerV2 interface {
	Info(args ...any)
	Infoln(args ...any)
	Infof(format string, args ...any)
	Warning(args ...any)
	Warningln(args ...any)
	Warningf(format string, args ...any)
	Error(args ...any)
	Errorln(args ...any)
	Errorf(format string, args ...any)
	// Fatal, Fatalln and Fatalf should end the program. If they return, the library
	// ends it.
	Fatal(args ...any)
	Fatalln(args ...any)
	Fatalf(format string, args ...any)
	// V reports whether the verbosity is l or more.
	V(l int) bool
}

// DepthLoggerV2 is a LoggerV2 that can log source positions. depth says how many frames
// above the method's caller the position is. The methods format as fmt.Println does.
//
// Experimental: this API may change in a later release.
type DepthLoggerV2 interface {
	LoggerV2
	InfoDepth(depth int, args ...any)
	WarningDepth(depth int, args ...any)
	ErrorDepth(depth int, args ...any)
	FatalDepth(depth int, args ...any)
}

// noDepth makes a DepthLoggerV2 of a LoggerV2. It ignores depths.
type noDepth struct{ LoggerV2 }

func (l noDepth) InfoDepth(_ int, args ...any)    { l.Infoln(args...) }
func (l noDepth) WarningDepth(_ int, args ...any) { l.Warningln(args...) }
func (l noDepth) ErrorDepth(_ int, args ...any)   { l.Errorln(args...) }
func (l noDepth) FatalDepth(_ int, args ...any)   { l.Fatalln(args...) }

// Logger is the older kind of logger, without severities.
//
// Deprecated: use LoggerV2.
type Logger interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Fatalln(args ...any)
	Print(args ...any)
	Printf(format string, args ...any)
	Println(args ...any)
}

type oneLevel struct{ Logger }

func (l oneLevel) Info(args ...any)                    { l.Print(args...) }
func (l oneLevel) Infoln(args ...any)                  { l.Println(args...) }
func (l oneLevel) Infof(format string, args ...any)    { l.Printf(format, args...) }
func (l oneLevel) Warning(args ...any)                 { l.Print(args...) }
func (l oneLevel) Warningln(args ...any)               { l.Println(args...) }
func (l oneLevel) Warningf(format string, args ...any) { l.Printf(format, args...) }
func (l oneLevel) Error(args ...any)                   { l.Print(args...) }
func (l oneLevel) Errorln(args ...any)                 { l.Println(args...) }
func (l oneLevel) Errorf(format string, args ...any)   { l.Printf(format, args...) }
func (l oneLevel) V(int) bool                          { return true }
