// SPDX-License-Identifier: Apache-2.0

// Command vet does for other systems what `go vet` does for this one:
//
//	go -C tools/vet run . -C FOLDER [-tags TAGS] [-packages './a ./b/...'] windows/amd64 linux/386
//
// `go vet` has every package compiled first, the standard library too, for each system anew.
// This command checks the types of all sources instead, and analyzes those of the module in
// FOLDER, with the analyzers of `go vet`: a minute where a machine without a build cache took a
// quarter of an hour.
//
// What it found is printed, a line each, and the exit status is 1.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vet:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("vet", flag.ContinueOnError)
	folder := flags.String("C", ".", "the `folder` of the module")
	tags := flags.String("tags", "", "build `tags`, separated by commas")
	patterns := flags.String("packages", "./...", "`patterns` of packages, separated by spaces")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("say for which systems, such as windows/amd64")
	}
	faults := 0
	for _, system := range flags.Args() {
		fmt.Fprintln(out, "==", system)
		n, err := vet(out, system, *folder, *tags, strings.Fields(*patterns))
		if err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		faults += n
	}
	if faults > 0 {
		return fmt.Errorf("%d faults", faults)
	}
	return nil
}

// vet prints the faults of a module's packages and tests on a system, GOOS/GOARCH, and returns
// how many there are.
func vet(out io.Writer, system, folder, tags string, patterns []string) (int, error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, errors.New("want GOOS/GOARCH")
	}
	loaded, err := packages.Load(&packages.Config{
		Mode:       packages.LoadAllSyntax,
		Dir:        folder,
		Env:        append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		BuildFlags: []string{"-tags=" + tags},
		Tests:      true,
	}, patterns...)
	if err != nil {
		return 0, err
	}
	seen := make(map[string]bool) // a file can be in two packages: one with tests, one without
	report := func(fault string) {
		if !seen[fault] {
			seen[fault] = true
			fmt.Fprintln(out, fault)
		}
	}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, fault := range p.Errors {
			report(fault.Error())
		}
	})
	if len(seen) > 0 {
		return len(seen), nil // the analyzers need types
	}
	graph, err := checker.Analyze(analyzers, whole(loaded), nil)
	if err != nil {
		return 0, err
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return 0, action.Err
		}
		for _, d := range action.Diagnostics {
			report(fmt.Sprintf("%v: %s", action.Package.Fset.Position(d.Pos), d.Message))
		}
	}
	return len(seen), nil
}

// whole returns the packages to analyze: where one has tests inside, the variant that includes
// them; not the programs that the go command writes to run tests.
func whole(loaded []*packages.Package) []*packages.Package {
	withTests := make(map[string]bool)
	for _, p := range loaded {
		if p.ForTest == p.PkgPath {
			withTests[p.PkgPath] = true
		}
	}
	var some []*packages.Package
	for _, p := range loaded {
		main := p.Name == "main" && strings.HasSuffix(p.ID, ".test")
		if !main && (p.ForTest != "" || !withTests[p.PkgPath]) {
			some = append(some, p)
		}
	}
	return some
}
