// SPDX-License-Identifier: Apache-2.0

// Command filegraph shows how the files of a package refer to each other:
//
//	go run ./tools/filegraph [-v] [-fields] PACKAGE...
//	go run ./tools/filegraph -walk
//
// An arrow goes from a file to each other file of the package that declares a name that the
// file uses: a type, function, variable, constant or method, and with -fields also a field.
// The command puts the files in the order in which the fewest arrows go upward, that is, from
// a file to one that comes before it. In a package without circles no arrow goes upward. No
// rule forbids circles, as a type and its methods belong together. The command prints how many
// arrows there are, how many of them go upward, and how many files are on circles. With -v it
// also prints these arrows and files, and the names for which there are arrows on a circle.
//
// With -walk it prints the path of a DATA frame from the socket to RecvMsg, function by
// function, and marks where the path returns to a file that it has left. It must then be run
// in the module's root.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	verbose := flag.Bool("v", false, "name the arrows that go upward, and the files on circles")
	fields := flag.Bool("fields", false, "count uses of fields, too")
	walking := flag.Bool("walk", false, "show the way of a DATA frame through the files")
	flag.Parse()
	if *walking {
		for _, w := range walks {
			if err := w.check("."); err != nil {
				log.Fatal(err)
			}
			w.print(os.Stdout)
		}
		return
	}
	pkgs, exports, err := list(".", flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	var sum report
	for _, p := range pkgs {
		g, err := load(p, exports, *fields)
		if err != nil {
			log.Fatal(err)
		}
		r := g.measure()
		sum.add(r)
		r.print(os.Stdout, p.ImportPath, *verbose)
	}
	if len(pkgs) > 1 {
		sum.print(os.Stdout, "in all", false)
	}
}

// listed is a package as `go list` describes it.
type listed struct {
	ImportPath string
	Dir        string
	Export     string
	GoFiles    []string
	DepOnly    bool
}

// list returns the packages that patterns name in dir, and the paths of the files with the
// export data of all packages that they import.
func list(dir string, patterns []string) (pkgs []listed, exports map[string]string, err error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly", "--"}, patterns...)...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	exports = map[string]string{}
	for dec := json.NewDecoder(out); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, exports, cmd.Wait()
		} else if err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			pkgs = append(pkgs, p)
		}
	}
}

// graph has the files of a package, and for each the other files that it refers to.
type graph struct {
	files []string
	refs  []map[int]bool
	by    map[[2]int][]string // the names for which there is an arrow, in no order
}

// load parses and type-checks p, and returns its graph.
func load(p listed, exports map[string]string, fields bool) (*graph, error) {
	fset := token.NewFileSet()
	var parsed []*ast.File
	g := &graph{by: map[[2]int][]string{}}
	index := map[string]int{}
	for i, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
		index[filepath.Join(p.Dir, name)] = i
		g.files = append(g.files, name)
		g.refs = append(g.refs, map[int]bool{})
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	pkg, err := conf.Check(p.ImportPath, fset, parsed, info)
	if err != nil {
		return nil, err
	}
	for id, obj := range info.Uses {
		if obj.Pkg() != pkg || !counts(obj, fields) {
			continue
		}
		from, to := index[fset.Position(id.Pos()).Filename], index[fset.Position(obj.Pos()).Filename]
		if from != to {
			g.refs[from][to] = true
			if a := [2]int{from, to}; !slices.Contains(g.by[a], obj.Name()) {
				g.by[a] = append(g.by[a], obj.Name())
			}
		}
	}
	return g, nil
}

// counts reports whether a use of obj, which the package declares, makes an arrow.
func counts(obj types.Object, fields bool) bool {
	if v, ok := obj.(*types.Var); ok && v.IsField() {
		return fields
	}
	if obj.Parent() == obj.Pkg().Scope() {
		return true
	}
	f, ok := obj.(*types.Func)
	return ok && f.Signature().Recv() != nil
}

// report is what is printed of a graph.
type report struct {
	files, arrows int
	upward        [][2]string
	circles       [][]string
	ties          [][]string // for each circle, the arrows on it and their names
}

func (r *report) add(o report) {
	r.files += o.files
	r.arrows += o.arrows
	r.upward = append(r.upward, o.upward...)
	r.circles = append(r.circles, o.circles...)
}

func (r report) print(w io.Writer, name string, verbose bool) {
	on := 0
	for _, c := range r.circles {
		on += len(c)
	}
	fmt.Fprintf(w, "%-60s %3d files, %3d arrows, %3d upward, %3d files on circles\n", name, r.files, r.arrows, len(r.upward), on)
	if !verbose {
		return
	}
	for i, c := range r.circles {
		fmt.Fprintf(w, "  circle: %v\n", c)
		for _, t := range r.ties[i] {
			fmt.Fprintf(w, "    %s\n", t)
		}
	}
	for _, a := range r.upward {
		fmt.Fprintf(w, "  upward: %s -> %s\n", a[0], a[1])
	}
}

func (g *graph) measure() report {
	r := report{files: len(g.files)}
	place := g.order()
	for from, refs := range g.refs {
		for to := range refs {
			r.arrows++
			if place[to] < place[from] {
				r.upward = append(r.upward, [2]string{g.files[from], g.files[to]})
			}
		}
	}
	slices.SortFunc(r.upward, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	r.circles, r.ties = g.circles()
	return r
}

// order returns the place of each file, from the top, in an order in which few arrows go upward.
// It moves each file in turn to its best place, until moving a file no longer helps.
func (g *graph) order() []int {
	// Within a circle, the files with the most arrows to others and the fewest from others
	// start at the top. All arrows between circles go downward from the start.
	weight := make([]int, len(g.files))
	for from, refs := range g.refs {
		for to := range refs {
			weight[from]++
			weight[to]--
		}
	}
	var order []int
	for _, group := range slices.Backward(g.groups()) {
		slices.SortStableFunc(group, func(a, b int) int { return weight[b] - weight[a] })
		order = append(order, group...)
	}
	for moved := true; moved; {
		moved = false
		for _, f := range slices.Clone(order) {
			moved = g.settle(order, f) || moved
		}
	}
	place := make([]int, len(order))
	for i, f := range order {
		place[f] = i
	}
	return place
}

// settle moves f, in order, to the place where the fewest arrows from and to f go upward. It
// reports whether there are fewer than before.
func (g *graph) settle(order []int, f int) bool {
	old := slices.Index(order, f)
	rest := slices.Delete(slices.Clone(order), old, old+1)
	up := 0 // how many arrows from and to f go upward if f is at the top
	for _, o := range rest {
		if g.refs[o][f] {
			up++
		}
	}
	best, at, now := up, 0, up
	for i, o := range rest {
		if g.refs[o][f] {
			up--
		}
		if g.refs[f][o] {
			up++
		}
		if i+1 == old {
			now = up
		}
		if up < best {
			best, at = up, i+1
		}
	}
	if best >= now {
		return false
	}
	copy(order, slices.Insert(rest, at, f))
	return true
}

// circles returns the groups of files that refer to each other in circles, and the arrows within
// each group.
func (g *graph) circles() (found, ties [][]string) {
	for _, group := range g.groups() {
		if len(group) == 1 {
			continue
		}
		var names, arrows []string
		for _, from := range group {
			names = append(names, g.files[from])
			for _, to := range group {
				if by := g.by[[2]int{from, to}]; len(by) > 0 {
					slices.Sort(by)
					arrows = append(arrows, fmt.Sprintf("%s -> %s: %s", g.files[from], g.files[to], strings.Join(by, " ")))
				}
			}
		}
		slices.Sort(names)
		slices.Sort(arrows)
		found, ties = append(found, names), append(ties, arrows)
	}
	return found, ties
}

// groups returns the strongly connected components, by Tarjan's algorithm. A component comes
// after those that it refers to.
func (g *graph) groups() (found [][]int) {
	index, low := make([]int, len(g.files)), make([]int, len(g.files))
	var stack []int
	on := make([]bool, len(g.files))
	next := 1
	var visit func(v int)
	visit = func(v int) {
		index[v], low[v] = next, next
		next++
		stack, on[v] = append(stack, v), true
		for w := range g.refs[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		group := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, w := range group {
			on[w] = false
		}
		found = append(found, group)
	}
	for v := range g.files {
		if index[v] == 0 {
			visit(v)
		}
	}
	return found
}
