// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/internal/xds/bootstrap"
)

// Client is an xDS client. Its methods are safe for concurrent use.
type Client struct {
	config    Config
	node      *corev3.Node
	callbacks serializer.Serializer

	mu          sync.Mutex
	closed      bool
	authorities map[authorityKey]*authority
	servers     map[string]*server // by bootstrap.Server.Key
	running     sync.WaitGroup     // counts the goroutines of servers
}

// watch is a Watcher without its type parameter.
type watch struct {
	changed func(any, error)
	ambient func(error)
	gone    atomic.Bool
}

// tell queues f, which calls a Watcher. Queued functions run in order; f does not run if the watch has been
// cancelled by then.
func (c *Client) tell(w *watch, f func()) {
	c.callbacks.Go(func() {
		if !w.gone.Load() {
			f()
		}
	})
}

// logf logs what operators want to know. format must name the server, authority or resource. The program's
// logger, which may do anything, is called where watchers are, without a lock.
func (c *Client) logf(format string, args ...any) {
	c.log(grpclog.DepthLoggerV2.InfoDepth, format, args)
}

func (c *Client) warnf(format string, args ...any) {
	c.log(grpclog.DepthLoggerV2.WarningDepth, format, args)
}

func (c *Client) log(write func(l grpclog.DepthLoggerV2, depth int, args ...any), format string, args []any) {
	if l := c.config.Logger; l != nil {
		text := fmt.Sprintf(format, args...)
		c.callbacks.Go(func() { write(l, 0, text) })
	}
}

// kind is a Type without its type parameter.
type kind interface {
	url() string
	name() string
	whole() bool
	decode(from *bootstrap.Server, raw []byte) (any, error)
	alike(a, b *bootstrap.Server) bool
}

// authority has the watched resources of one authority, and the control planes from which they are requested.
// Client.mu guards it.
type authority struct {
	client *Client
	key    authorityKey
	list   []*bootstrap.Server
	// open has the servers in use, which are the first ones of list. The last one in use provides the
	// resources. Those before it have failed; when one of them sends a resource, it takes over.
	open      []*server
	resources map[string]map[string]*entry // by type URL and name
}

// State is the state of a resource, with the names of CSDS and A88.
type State uint8

// A resource is in one of these states.
const (
	// Requested means that the resource has not come yet.
	Requested State = iota
	// DoesNotExist means that the resource did not come in time, or has been deleted.
	DoesNotExist
	// ACKed means that the resource is there and valid.
	ACKed
	// NACKed means that the last version is not valid. The version before it may be in use.
	NACKed
	// ReceivedError means that the control plane sent an error instead of the resource.
	ReceivedError
	// TimedOut means that the resource did not come in time, and that this is a transient error (A88).
	TimedOut
)

// entry is one watched resource. Client.mu guards it.
type entry struct {
	client  *Client
	user    user // the authority that the resource belongs to
	kind    kind
	name    string
	watches map[*watch]struct{}

	state   State
	value   any    // nil if no version is in use
	raw     []byte // value, serialized
	version string
	updated time.Time
	from    *server // the server that sent value last

	// err says why the state is neither Requested nor ACKed.
	err        error
	errVersion string
	errTime    time.Time
	// ambient is the last error that watchers got while a value was in use. transient is the last error that
	// they got because no control plane could be reached. told is the last error that they got of any kind.
	ambient, transient, told error
	// untold says that a watch that began since has not got transient: there was a stream again.
	untold bool
	// ignored says that the value has been deleted but stays in use (A53).
	ignored bool

	timer     *time.Timer
	timerFrom *server
}

// user is an authority as seen by the servers that it uses. Client.mu is held during calls.
type user interface {
	// failedLocked is called when a server can't be reached.
	failedLocked()
	// backLocked is called when a server answers again.
	backLocked()
	// answeredLocked is called when a server has sent a resource.
	answeredLocked(*server)
	// awaitLocked is called when a server's timers have ended.
	awaitLocked()
	// usesLocked reports whether the server is in use.
	usesLocked(*server) bool
}

// server is a control plane in use. Client.mu guards its fields, except those whose comments say otherwise.
type server struct {
	client *Client
	config *bootstrap.Server
	ctx    context.Context // ends when the server is no longer used
	stop   context.CancelFunc
	dial   func() (Transport, error) // connects on the first call; safe for concurrent use

	users   map[user]struct{} // the authorities that use the server
	loads   *loadReporter     // nil if there are no load reports for the server
	subs    map[string]*subscription
	failure error // why the last stream without a response failed; nil after a response
	worked  bool  // true from the first stream on, and after a failure from the next response on

	// These fields are about the current stream.
	stream  Stream             // nil if there is no stream
	cancel  context.CancelFunc // ends it
	sending bool               // a goroutine is sending
}

// subscription has the resources of one type that are requested.
type subscription struct {
	kind    kind
	entries map[string]*entry
	version string  // of the last valid response; it is kept when the stream ends, while all resources are this server's
	nonce   string  // of the last response on this stream
	nack    error   // why that response is invalid; nil if it is valid
	refused *string // the last version that was refused; nil after a valid one
	dirty   bool    // a request is to be sent
	asked   bool    // a request has been sent on this stream
	reading bool    // a response is being processed
	owed    bool    // the last response has been neither acknowledged nor refused yet
	pace    answerPace
	// late has the names that were added while a response is being processed or not acknowledged yet. The
	// response may have contained these resources, but the client did not take them from it. A server that
	// sees the names in the acknowledgement would assume that the client has the resources. So the
	// acknowledgement leaves the names out, and the request after it has them.
	late map[string]struct{}
	// last has the names of the last request on this stream, sorted. dropped has those of them that were
	// dropped since. If such a name is added again, the value is gone, but the server would see no change in
	// a request that has the name, and so would not send the resource again. So the next request leaves the
	// name out, and the request after it has it.
	last    []string
	dropped map[string]struct{}
	// fresh has the names that were added while the current response is being processed. The response does
	// not count for them.
	fresh map[string]struct{}
}

// answerPace limits the rate of answers to a control plane that sends its next response as soon as it gets
// our answer to the last one.
type answerPace struct {
	since   time.Time // when the second began in which answers are counted
	answers int
	waits   bool // a timer will make the client answer the last response
}

// loadReporter sends load reports to one server.
type loadReporter struct {
	server *server
	loads  Loads
	users  int // guarded by Client.mu
	cancel context.CancelFunc
}
