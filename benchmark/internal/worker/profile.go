// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"os"
	"runtime/pprof"

	"google.golang.org/grpc/benchmark/internal/control"
	"google.golang.org/grpc/benchmark/internal/ops"
)

// profiles are those being made.
type profiles struct {
	cpu    *os.File
	allocs string
}

func (p *profiles) begin(_ context.Context, args ops.Profile, _ control.Progress) (ops.Nothing, error) {
	p.allocs = args.Allocs
	if args.CPU == "" {
		return ops.Nothing{}, nil
	}
	f, err := os.Create(args.CPU)
	if err != nil {
		return ops.Nothing{}, err
	}
	p.cpu = f
	return ops.Nothing{}, pprof.StartCPUProfile(f)
}

func (p *profiles) finish(context.Context, ops.Nothing, control.Progress) (_ ops.Nothing, err error) {
	if f := p.cpu; f != nil {
		pprof.StopCPUProfile()
		err = f.Close()
	}
	if name := p.allocs; name != "" {
		f, createErr := os.Create(name)
		if createErr != nil {
			return ops.Nothing{}, errors.Join(err, createErr)
		}
		err = errors.Join(err, pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
	}
	*p = profiles{}
	return ops.Nothing{}, err
}
