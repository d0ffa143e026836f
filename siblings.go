// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"slices"
	"sync"

	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/binarylog"
)

// Only the modules beside this one use this file; see internal/siblings.go.

func init() {
	internal.JoinDialOptions = joinDialOptions
	internal.ParseServiceConfig = parseServiceConfig
	internal.AddGlobalDialOptions = func(opts ...DialOption) { globalOptions.addDial(opts) }
	internal.ClearGlobalDialOptions = func() { globalOptions.clearDial() }
	internal.DisableGlobalDialOptions = func() DialOption { return noGlobalOptions{} }
	internal.AddGlobalServerOptions = func(opts ...ServerOption) { globalOptions.addServer(opts) }
	internal.ClearGlobalServerOptions = func() { globalOptions.clearServer() }
	internal.WithBinaryLogger = withBinaryLogger
	internal.BinaryLogger = binaryLogger
}

// joinDialOptions combines options into one.
func joinDialOptions(opts ...DialOption) DialOption {
	return dialOption(func(o *dialOptions) {
		for _, opt := range opts {
			o.take(opt)
		}
	})
}

// withBinaryLogger makes l log the channel's RPCs, in addition to the log that the environment configures.
func withBinaryLogger(l binarylog.Logger) DialOption {
	return dialOption(func(o *dialOptions) { o.binaryLogger = l })
}

// binaryLogger does for a server what withBinaryLogger does for a channel.
func binaryLogger(l binarylog.Logger) ServerOption {
	return serverOption(func(o *serverOptions) { o.binaryLogger = l })
}

// globalOptions are put before the options of every channel and server that is made from now on.
var globalOptions optionLists

type optionLists struct {
	mu     sync.Mutex
	dial   []DialOption
	server []ServerOption
}

func (l *optionLists) addDial(opts []DialOption) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dial = append(slices.Clip(l.dial), opts...)
}

func (l *optionLists) clearDial() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dial = nil
}

func (l *optionLists) addServer(opts []ServerOption) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = append(slices.Clip(l.server), opts...)
}

func (l *optionLists) clearServer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = nil
}

// noGlobalOptions is an option that keeps a channel from having global options.
type noGlobalOptions struct{ EmptyDialOption }

// withGlobalOptions returns opts with the global options before them, unless opts has noGlobalOptions.
func withGlobalOptions(opts []DialOption) []DialOption {
	for _, opt := range opts {
		if _, none := opt.(noGlobalOptions); none {
			return opts
		}
	}
	globalOptions.mu.Lock()
	defer globalOptions.mu.Unlock()
	if len(globalOptions.dial) == 0 {
		return opts
	}
	return slices.Concat(globalOptions.dial, opts)
}

func globalServerOptions() []ServerOption {
	globalOptions.mu.Lock()
	defer globalOptions.mu.Unlock()
	return globalOptions.server
}
