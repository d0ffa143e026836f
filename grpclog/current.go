// SPDX-License-Identifier: Apache-2.0

package grpclog

import (
	"sync/atomic"
)

// SetLoggerV2 makes l the logger of the library and of all components. Call it before other
// functions of the library, which may log to the previous logger. It panics if l is what Component returns, which itself
// logs to the logger that is set.
func SetLoggerV2(l LoggerV2) {
	if _, ok := l.(*component); ok {
		panic("cannot use component logger as grpclog logger")
	}
	d, ok := l.(DepthLoggerV2)
	if !ok {
		d = noDepth{l}
	}
	set.Store(&d)
}

var set atomic.Pointer[DepthLoggerV2]

func init() {
	SetLoggerV2(newFromEnvironment())
}

func current() DepthLoggerV2 { return *set.Load() }

// SetLogger makes l the logger for all severities and verbosities.
//
// Deprecated: use SetLoggerV2.
func SetLogger(l Logger) { SetLoggerV2(oneLevel{l}) }
