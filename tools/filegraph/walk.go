// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// step is a function on a path through the files of the module.
type step struct {
	depth int    // its caller is the last step before it with depth-1; at 0 a goroutine begins or takes over
	file  string // the path below the module's root
	name  string // Type.method, or function
}

// walk is such a path. It leaves out code that gets only a number of what is on the path, such as
// flow control, which gets its length.
type walk struct {
	what  string
	steps []step
}

const (
	h2Dir        = "internal/transport/h2/"
	transportDir = "internal/transport/"
)

// arrival returns the path of a DATA frame to its stream. It is that of a frame whose payload is
// in the read buffer together with the header. (The rest of a longer frame is read straight from
// the socket into the memory of its message.) receiver and typ are the file and the type that
// receive the payload.
func arrival(receiver, typ string) []step {
	return []step{
		{0, h2Dir + "reader.go", "reader.readFrame"},
		{1, h2Dir + "parking.go", "reader.awaitHeader"},
		{2, h2Dir + "parking.go", "reader.peekHeader"},
		{3, "internal/readyreader/pooled.go", "pooled.Peek"},
		{4, "internal/readyreader/raw_socket.go", "rawSocket.ReadOnReady"},
		{1, h2Dir + "frame/header.go", "ParseHeader"},
		{1, h2Dir + "data.go", "reader.onData"},
		{2, h2Dir + "data.go", "reader.receive"},
		{3, h2Dir + "protocol/recv_data.go", "Conn.OnData"},
		{4, h2Dir + "protocol/stream_table.go", "streamTable.get"},
		{2, h2Dir + "data.go", "reader.fillBody"},
		{3, "internal/readyreader/pooled.go", "pooled.Peek"},
		{3, transportDir + receiver, typ + ".Take"},
		{4, transportDir + receiver, typ + ".arrived"},
		{5, transportDir + "body.go", "body.take"},
		{6, transportDir + "grpcwire/assembler.go", "Assembler.Take"},
		{6, transportDir + "body.go", "body.arrived"},
		{7, transportDir + "inbox.go", "inbox.push"},
		{7, transportDir + "waker.go", "waker.signal"},
		{3, "internal/readyreader/pooled.go", "pooled.Discard"},
	}
}

// walks are the paths of a DATA frame, from the socket to RecvMsg.
var walks = []walk{
	{"a DATA frame, on a server", append(arrival("server_receiver.go", "serverReceiver"),
		step{0, "server_stream.go", "serverStream.RecvMsg"},
		step{1, "server_stream.go", "serverStream.receive"},
		step{2, "server_watch.go", "servedCall.Recv"},
		step{3, transportDir + "server_stream.go", "ServerStream.Recv"},
		step{4, transportDir + "inbox.go", "inbox.pop"},
		step{2, "server_stream.go", "serverStream.accept"},
		step{3, "server_stream.go", "decodeOne"},
		step{4, "message.go", "messageReader.read"},
	)},
	{"a DATA frame, on a client", append(arrival("client_receiver.go", "clientReceiver"),
		step{0, "client_stream.go", "clientStream.RecvMsg"},
		step{1, "client_stream.go", "clientStream.receiveFrom"},
		step{2, "client_call.go", "clientCall.recv"},
		step{3, transportDir + "client_stream.go", "ClientStream.Recv"},
		step{4, transportDir + "inbox.go", "inbox.pop"},
		step{2, "client_call.go", "clientCall.decode"},
		step{3, "message.go", "messageReader.read"},
	)},
}

// caller returns the index of the step that calls the step at i, or -1 if there is none.
func (w walk) caller(i int) int {
	for j := i - 1; j >= 0; j-- {
		if w.steps[j].depth == w.steps[i].depth-1 {
			return j
		}
	}
	return -1
}

// returns returns the indexes of the steps at which the path returns to a file that it has left.
// A function's return to its caller does not count.
func (w walk) returns() (back []int) {
	seen := map[string]bool{}
	for i, s := range w.steps {
		c := w.caller(i)
		if at := max(i-1, 0); seen[s.file] && w.steps[at].file != s.file && (c < 0 || w.steps[c].file != s.file) {
			back = append(back, i)
		}
		seen[s.file] = true
	}
	return back
}

// check returns an error if the path does not match the code below root: each step must be a
// function of its file, and its caller must use its name.
func (w walk) check(root string) error {
	bodies := make([]*ast.BlockStmt, len(w.steps))
	for i, s := range w.steps {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(s.file)), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if bodies[i] = function(f, s.name); bodies[i] == nil {
			return fmt.Errorf("%s has no %s", s.file, s.name)
		}
		if c := w.caller(i); c >= 0 && !names(bodies[c], s.name[strings.LastIndexByte(s.name, '.')+1:]) {
			return fmt.Errorf("%s does not call %s", w.steps[c].name, s.name)
		}
	}
	return nil
}

// function returns the body of the function with this name, which is Type.method or function. It
// returns nil if there is none.
func function(f *ast.File, name string) *ast.BlockStmt {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		full := fn.Name.Name
		if fn.Recv != nil {
			t := fn.Recv.List[0].Type
			if p, ok := t.(*ast.StarExpr); ok {
				t = p.X
			}
			if id, ok := t.(*ast.Ident); ok {
				full = id.Name + "." + full
			}
		}
		if full == name {
			return fn.Body
		}
	}
	return nil
}

func names(body *ast.BlockStmt, name string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

func (w walk) print(to io.Writer) {
	back := w.returns()
	fmt.Fprintf(to, "%s: %d returns to a file that it left\n", w.what, len(back))
	for i, s := range w.steps {
		mark := " "
		if slices.Contains(back, i) {
			mark = "<"
		}
		fmt.Fprintf(to, "%s %-40s %s%s\n", mark, s.file, strings.Repeat("  ", s.depth), s.name)
	}
}
