// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"fmt"
)

// maxNest is how deep streams to external processors may be nested: the stream to a processor is an
// RPC, too, and may have its own processor.
const maxNest = 4

// nest is in the context of a stream to an external processor, and so in the contexts of all RPCs
// that are made for that stream.
type nest struct {
	service string // the key of the processor
	depth   int
	outer   *nest // nil if the stream is for an RPC of the application
}

type nestKey struct{}

func nestOf(ctx context.Context) *nest {
	n, _ := ctx.Value(nestKey{}).(*nest)
	return n
}

// nest returns the context for p's stream.
func (p *process) nest(ctx context.Context) context.Context {
	n := &nest{service: p.config.Service.Key(), depth: 1, outer: nestOf(ctx)}
	if n.outer != nil {
		n.depth += n.outer.depth
	}
	return context.WithValue(ctx, nestKey{}, n)
}

// nested returns an error if the stream to the processor would be for an RPC that is itself, by
// way of others or not, for a stream to the same processor, or if it would be too deep. Such RPCs
// would go on to make others until the stack overflows.
func (p *process) nested() error {
	inner := nestOf(p.ctx)
	for n := inner; n != nil; n = n.outer {
		if n.service == p.config.Service.Key() {
			return fmt.Errorf("the stream to the external processor %q would be processed by that processor itself", p.config.Service.Target)
		}
	}
	if inner != nil && inner.depth >= maxNest {
		return fmt.Errorf("the stream to the external processor %q would be nested in %d others", p.config.Service.Target, inner.depth)
	}
	return nil
}
