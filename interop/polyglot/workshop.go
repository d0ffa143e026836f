// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"

	"google.golang.org/grpc/interop/internal/programs"
	"google.golang.org/grpc/interop/testcerts"
)

type options struct {
	run, skip *regexp.Regexp
	published bool
	dir       string
}

func (o options) wants(leg string) bool {
	return o.run.MatchString(leg) && !o.skip.MatchString(leg)
}

// workshop is where programs are built, and what all of them use.
type workshop struct {
	options
	// dir, root and source are absolute: of packages, of the module, of this command.
	dir, root, source string
	certs             testcerts.Files
	// ours is this module's programs, or the published one's in their place; published is
	// the latter's, to compare with.
	ours, published programs.Programs
}

// prepare makes certificates and our own programs.
func (w *workshop) prepare(ctx context.Context, scratch string) (err error) {
	if w.certs, err = testcerts.Write(scratch); err != nil {
		return err
	}
	for _, impl := range []string{programs.Ours, programs.Published} {
		fmt.Println("building", impl)
		p, err := programs.Build(ctx, impl, scratch, false)
		if err != nil {
			return err
		}
		if impl == programs.Published {
			w.published = p
		}
		if impl == programs.Ours || w.options.published {
			w.ours = p
		}
	}
	return nil
}
