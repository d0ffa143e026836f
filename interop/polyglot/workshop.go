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

// workshop has the folders in which programs are built, and what all legs use.
type workshop struct {
	options
	// dir, root and source are absolute paths: of the folder of packages and programs, of the
	// root of the module, and of this command's folder.
	dir, root, source string
	certs             testcerts.Files
	// ours has this module's programs, or with the flag -published the published module's.
	// published has the published module's, to compare with.
	ours, published programs.Programs
}

// prepare makes certificates, and builds the programs of this module and of the published one.
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
